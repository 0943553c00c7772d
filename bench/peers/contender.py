"""Base class of the measured tools, and helpers that they share.

Each contender has a folder of its own: programs in `programs` and a temporary HOME in `home`. Nothing outside it is written.
"""
import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.parse
import urllib.request


class Contender:
    """A memory tool for coding agents: how to install, feed, kill, count and search it."""

    name = ""
    # Printed below the table: what was run and with which settings.
    notes = ()
    # True if its search runs here as it does for its users.
    searches = True
    # The search method that was available here; printed next to the numbers.
    search_note = ""

    def __init__(self, folder, model):
        self.folder = pathlib.Path(folder)
        self.programs = self.folder / "programs"
        self.home = self.folder / "home"
        self.project = self.folder / "project"
        self.model = model
        self.version = ""
        for path in (self.programs, self.home, self.project):
            path.mkdir(parents=True, exist_ok=True)

    # Defined by each contender.

    def install(self):
        """Installs the tool as documented, unless an earlier run did; clears its store and sets `version`."""
        raise NotImplementedError

    def installed(self):
        """Returns the installed files and folders, without caches of package managers."""
        raise NotImplementedError

    def hook(self, event):
        """Returns the command that its installer registers with Claude Code for this hook."""
        raise NotImplementedError

    def start(self):
        """Starts the daemon and waits until it responds."""
        raise NotImplementedError

    def daemons(self):
        """Returns the process ids of the daemon and its children."""
        raise NotImplementedError

    def count(self, session):
        """Returns the number of stored tool events of a session."""
        raise NotImplementedError

    def memories(self, session):
        """Returns the number of memories of a session, or None if unknown."""
        return None

    def with_model(self):
        """Switches to the counting model; returns whether that is supported."""
        return False

    def load(self, documents):
        """Stores documents as memories; returns the ids of rejected ones."""
        raise NotImplementedError

    def search(self, project, query, limit):
        """Returns the ids of the found documents, best first."""
        raise NotImplementedError

    # Shared by all contenders.

    def env(self):
        """Returns the environment of all commands: a temporary home, no telemetry."""
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "DO_NOT_TRACK": "1",
            **{name: value for name, value in os.environ.items() if name.endswith("CA_BUNDLE") or name == "NODE_EXTRA_CA_CERTS"},
        }

    def run(self, *command, text=None, env=None, timeout=1800):
        """Runs a command and returns its output; raises with its output if it fails."""
        done = subprocess.run(
            [str(word) for word in command], input=text, text=True, capture_output=True,
            env=env or self.env(), cwd=self.project, timeout=timeout, check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{self.name}: {command[0]} failed ({done.returncode}): {(done.stderr or done.stdout)[-800:]}")
        return done.stdout

    def report(self, event, payload):
        """Runs a hook as the agent would; returns its exit status and duration."""
        return timed(self.hook(event), json.dumps(payload).encode(), self.env(), self.project)

    def kill(self):
        """Kills the daemon with SIGKILL, as the kernel does when memory is short."""
        pids = self.daemons()
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_until(lambda: not any(alive(pid) for pid in pids), 10)

    def end(self):
        """Stops all processes."""
        self.kill()

    def resident(self):
        """Returns the resident memory of all its daemons, in bytes."""
        return sum(resident(pid) for pid in self.daemons())


def timed(command, stdin, env, folder):
    """Runs a command; returns its exit status and its duration in seconds."""
    began = time.perf_counter()
    done = subprocess.run(command, input=stdin, env=env, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False)
    return done.returncode, time.perf_counter() - began


def alive(pid):
    """Returns whether a process runs; a zombie does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def resident(pid):
    """Returns VmRSS of a process."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def with_children(pid):
    """Returns a process and all its descendants."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found.extend(children.get(one, []))
    return [one for one in found if alive(one)]


def wait_until(condition, seconds):
    """Waits for a condition; returns whether it became true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def http(method, url, body=None, token=None, timeout=60):
    """Sends one request to a daemon on loopback; returns the JSON response."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return json.load(response)


def answers(url, token=None):
    """Returns whether a daemon responds."""
    try:
        http("GET", url, token=token, timeout=10)
        return True
    except (OSError, ValueError):
        return False


def query_string(**values):
    """Returns values as a query string."""
    return urllib.parse.urlencode(values)
