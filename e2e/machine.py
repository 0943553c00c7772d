"""Test fixture: a temporary home and project, and the real client with a scripted model."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

KEY = "sk-ant-e2e-000000000000000000000000"
TIMEOUT = 180


class Failed(Exception):
    """A check failed."""


class Machine:
    def __init__(self, client, program, model):
        self.client, self.model = client, model
        self.root = tempfile.mkdtemp(prefix="backstory-e2e-")
        self.home, self.project = self.path("home"), self.path("acme")
        for folder in (self.home, self.project, self.path("bin"), self.path("tmp")):
            os.makedirs(folder)
        self.variables = {}
        self.program = self.path("bin/backstory")
        os.symlink(program, self.program)
        self.run(["git", "init", "-q", self.project])
        state = {
            "hasCompletedOnboarding": True, "bypassPermissionsModeAccepted": True, "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {self.project: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        }
        self.write("home/.claude.json", json.dumps(state, indent=2) + "\n")

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def environment(self, extra=None, with_backstory=True):
        path = "/usr/local/bin:/usr/bin:/bin"
        return {
            "PATH": (self.path("bin") + ":" if with_backstory else "") + path,
            "HOME": self.home, "TMPDIR": self.path("tmp"), "TERM": "xterm-256color", "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": self.model.address, "ANTHROPIC_API_KEY": KEY, "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1", **self.variables, **(extra or {}),
        }

    def run(self, command, extra=None, with_backstory=True, expected=0):
        """Runs a command and returns its output."""
        done = subprocess.run(
            command, cwd=self.project, env=self.environment(extra, with_backstory), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
        if done.returncode != expected:
            raise Failed("%s exited %d\n%s%s" % (" ".join(command[:6]), done.returncode, done.stdout[-2000:], done.stderr[-2000:]))
        return done.stdout

    def backstory(self, *arguments, expected=0):
        return self.run([self.program, *arguments], expected=expected)

    def session(self, prompt, *turns, arguments=(), extra=None, with_backstory=True):
        """Runs a session in print mode; returns the texts of the model requests and the output."""
        self.model.expect(*turns)
        printed = self.run(
            [self.client, "-p", prompt, "--model", "haiku", "--output-format", "stream-json", "--verbose",
             "--dangerously-skip-permissions", *arguments], extra, with_backstory)
        return self.model.conversations(), printed

    def settle(self):
        """Waits until all events are distilled and indexed."""
        for _ in range(200):
            queue = json.loads(self.backstory("queue", "--json"))
            if queue["pending"] == 0 and queue["processing"] == 0:
                break
            time.sleep(0.05)
        else:
            raise Failed("events are still pending: %s" % queue)
        self.backstory("index", "--wait")

    def wait_for(self, condition, what):
        end = time.monotonic() + TIMEOUT
        while not condition():
            if time.monotonic() > end:
                raise Failed("waited in vain: " + what)
            time.sleep(0.05)

    def terminal(self, *steps):
        """Runs a session in a terminal: types each step, then waits for a model request or for some seconds. `self.screen` is
        what the terminal showed, without escape sequences."""
        self.screen = ""
        pid, screen = pty.fork()
        if pid == 0:
            os.chdir(self.project)
            os.execve(self.client, [self.client, "--model", "haiku", "--dangerously-skip-permissions"], self.environment())
        try:
            self.watch(screen, 4)
            for typed, wait in steps:
                seen = len(self.model.conversations())
                os.write(screen, typed.encode())
                self.watch(screen, 0.6)
                os.write(screen, b"\r")
                if wait == "request":
                    self.watch(screen, TIMEOUT / 2, lambda: len(self.model.conversations()) > seen)
                    self.watch(screen, 1)
                else:
                    self.watch(screen, wait)
            os.write(screen, b"/exit")
            self.watch(screen, 0.6)
            os.write(screen, b"\r")
            self.watch(screen, 3)
        finally:
            os.kill(pid, signal.SIGTERM)
            self.watch(screen, 1)
            os.close(screen)
            os.waitpid(pid, 0)
        return self.model.conversations()

    def watch(self, screen, seconds, until=lambda: False):
        """Drains the screen, so that the client does not block, until a condition is true or time is up."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            if select.select([screen], [], [], 0.05)[0]:
                try:
                    shown = os.read(screen, 65536).decode("utf-8", "replace")
                except OSError:
                    return
                # Cursor movements stand between words.
                shown = re.sub(r"\x1b\[[0-9;]*[CG]", " ", shown)
                self.screen += re.sub(r"\x1b(\[[0-9;?<>=]*[A-Za-z]|\][^\x07]*\x07|.)", "", shown)

    def close(self, keep=False):
        if os.path.exists(self.program):
            subprocess.run([self.program, "worker", "stop"], env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not keep:
            shutil.rmtree(self.root, ignore_errors=True)
