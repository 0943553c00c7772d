"""What every memory that is measured here can do, and what they share.

A contender lives in a folder of its own: programs in `programs`, and a throw-away HOME in `home`. Nothing outside is written.
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
    """A memory for coding agents: how it is installed, fed, killed, counted and searched."""

    name = ""
    # Said under the table: what was run and with which settings.
    notes = ()
    # Whether its search runs here as its users have it.
    searches = True
    # What its search could use here; stands beside the numbers.
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

    # What each contender says for itself.

    def install(self):
        """Installs it as its documentation says, unless an earlier run did; forgets what that run stored, and sets `version`."""
        raise NotImplementedError

    def installed(self):
        """Returns the files and folders that are there because of it; caches of package managers are not."""
        raise NotImplementedError

    def hook(self, event):
        """Returns the command that its own install registers with Claude Code for this hook."""
        raise NotImplementedError

    def start(self):
        """Starts what runs in the background, and waits until it answers."""
        raise NotImplementedError

    def daemons(self):
        """Returns the process ids of what runs in the background."""
        raise NotImplementedError

    def count(self, session):
        """Returns how many tool events of a session its store has."""
        raise NotImplementedError

    def memories(self, session):
        """Returns how many memories were made of a session, or None where nobody can tell."""
        return None

    def with_model(self):
        """Makes it ask the counting model from now on; says whether it does."""
        return False

    def load(self, documents):
        """Stores documents of a public set as memories; returns the ids of those that it refuses."""
        raise NotImplementedError

    def search(self, project, query, limit):
        """Returns the ids of the documents it finds, the best first."""
        raise NotImplementedError

    # What they share.

    def env(self):
        """The environment of everything that is run: no user's home, no telemetry."""
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "DO_NOT_TRACK": "1",
            **{name: value for name, value in os.environ.items() if name.endswith("CA_BUNDLE") or name == "NODE_EXTRA_CA_CERTS"},
        }

    def run(self, *command, text=None, env=None, timeout=1800):
        """Runs a command to its end; what it says is shown when it fails."""
        done = subprocess.run(
            [str(word) for word in command], input=text, text=True, capture_output=True,
            env=env or self.env(), cwd=self.project, timeout=timeout, check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{self.name}: {command[0]} failed ({done.returncode}): {(done.stderr or done.stdout)[-800:]}")
        return done.stdout

    def report(self, event, payload):
        """Runs a hook as the agent would; returns its exit status and how long it took."""
        return timed(self.hook(event), json.dumps(payload).encode(), self.env(), self.project)

    def kill(self):
        """Kills what runs in the background, as the system would when memory is short."""
        pids = self.daemons()
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_until(lambda: not any(alive(pid) for pid in pids), 10)

    def end(self):
        """Leaves nothing running."""
        self.kill()

    def resident(self):
        """Returns the resident memory of all its daemons, in bytes."""
        return sum(resident(pid) for pid in self.daemons())


def timed(command, given, env, folder):
    """Runs a command; returns its exit status and how long it took, in seconds."""
    began = time.perf_counter()
    done = subprocess.run(command, input=given, env=env, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False)
    return done.returncode, time.perf_counter() - began


def alive(pid):
    """Says whether a process runs; a zombie does not."""
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
    """Returns a process and all that descend from it."""
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


def wait_until(holds, seconds):
    """Waits for something; says whether it came."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return holds()


def http(method, url, body=None, token=None, timeout=60):
    """One request to a daemon on loopback; returns the JSON that it answers."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.load(answer)


def answers(url, token=None):
    """Says whether a daemon answers."""
    try:
        http("GET", url, token=token, timeout=10)
        return True
    except (OSError, ValueError):
        return False


def query_string(**values):
    """Returns values as the query of an address."""
    return urllib.parse.urlencode(values)
