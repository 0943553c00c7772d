#!/usr/bin/env python3
"""Tests that the released Claude Code plugin (dist/marketplace, written by scripts/package) downloads the program by itself, from a
loopback server, without ever delaying or failing a hook.

    cargo build && scripts/package --debug && e2e/plugin.py
"""

import concurrent.futures
import functools
import glob
import http.server
import json
import os
import shutil
import signal
import tempfile
import threading
import time

from packages import DIST, User, check

PLUGIN = os.path.join(DIST, "marketplace/plugin")
LAUNCHER = os.path.join(PLUGIN, "bin/backstory")
DEFAULT_OUTPUT = {"continue": True, "suppressOutput": True}
# The client takes the output of these as context: the program prints nothing by default.
SILENT = ("session-start", "user-prompt-submit", "pre-tool-use")


class Downloads(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, but lets a request wait until `open` is set."""

    open = threading.Event()
    requests = []

    def do_GET(self):
        self.requests.append(self.path)
        self.open.wait()
        try:
            super().do_GET()
        except (BrokenPipeError, ConnectionResetError):
            pass  # a test killed the download

    def log_message(self, *arguments):
        pass


def serve_downloads(folder):
    """Serves a folder on a free port, nothing before `Downloads.open` is set."""
    Downloads.open.clear()
    Downloads.requests.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Downloads, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d" % server.server_port


class PluginUser(User):
    """A user without the program, in whose client the plugin is installed."""

    def __init__(self, folder, shell):
        super().__init__(serve_downloads(folder))
        self.shell = shell
        self.data = os.path.join(self.home, "a client/data")
        self.environment.update({"CLAUDE_PLUGIN_ROOT": PLUGIN, "CLAUDE_PLUGIN_DATA": self.data, "BACKSTORY_NO_WORKER": "1"})

    def launch(self, *arguments, stdin="", expected=0):
        return self.run(self.shell, LAUNCHER, *arguments, stdin=stdin, expected=expected)

    def hook(self, event, **fields):
        payload = {"session_id": "s1", "cwd": self.home, **fields}
        return json.loads(self.launch("hook", event, "--plugin", stdin=json.dumps(payload)) or "{}")

    def is_default(self, event, **fields):
        return self.hook(event, **fields) == ({} if event in SILENT else DEFAULT_OUTPUT)

    def server_instructions(self):
        asked = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
        return json.loads(self.launch("mcp", stdin=asked).splitlines()[0])["result"]["instructions"]

    def has(self, name):
        return os.path.exists(os.path.join(self.data, name))

    def wait_for(self, condition, what):
        end = time.monotonic() + 60
        while not condition():
            if time.monotonic() > end:
                check(False, what, str(glob.glob(self.data + "/**", recursive=True)))
            time.sleep(0.01)

    def close(self):
        Downloads.open.set()
        super().close()


def downloads_once(shell):
    print("plugin, a download (%s)" % shell)
    user = PluginUser(DIST, shell)
    events = ["session-start"] + ["post-tool-use"] * 7
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(user.hook, events))
    announced = [answer["systemMessage"] for answer in answers if "systemMessage" in answer]
    check(announced and all("downloading version" in line for line in announced), "the session is told in one line", answers)
    check(all(answer.items() >= DEFAULT_OUTPUT.items() for answer in answers), "hooks answer before the server does", answers)
    user.wait_for(lambda: Downloads.requests, "the download begins")
    for event in ("user-prompt-submit", "pre-tool-use", "stop", "session-end"):
        check(user.is_default(event), "a hook during the download: %s" % event)
    check("is being downloaded" in user.server_instructions(), "so does the server")
    check("is being downloaded" in user.launch("search", "x", expected=1), "a command says why it cannot run")
    check(len(Downloads.requests) == 1, "eight hooks at once start one download", Downloads.requests)

    Downloads.open.set()
    user.wait_for(lambda: user.has("version") and not user.has("fetch"), "the download ends")
    prompt = "Archive the orders at night"
    check(user.is_default("user-prompt-submit", prompt=prompt), "the next hook runs the program")
    check(prompt in user.launch("sessions"), "and its prompt is recorded")
    del user.environment["CLAUDE_PLUGIN_DATA"]
    user.environment["CLAUDE_CONFIG_DIR"] = os.path.join(user.home, ".claude")
    os.makedirs(os.path.join(user.home, ".claude/plugins/data"))
    shutil.move(user.data, os.path.join(user.home, ".claude/plugins/data/backstory-backstory"))
    check(user.launch("-V").startswith("backstory "), "a command in the client's shell finds it without the client's variables")
    check(len(Downloads.requests) == 1, "nothing is downloaded again", Downloads.requests)
    user.close()


def upgrades(shell):
    print("plugin, an older program in its folder")
    user = PluginUser(DIST, shell)
    os.makedirs(user.data)
    older = os.path.join(user.data, "backstory")
    with open(older, "w") as file:
        file.write("#!/bin/sh\necho '{\"older\":true}'\n")
    os.chmod(older, 0o755)
    with open(os.path.join(user.data, "version"), "w") as file:
        file.write("0.0.1\n")
    check(user.hook("stop") == {"older": True}, "serves during the download")
    Downloads.open.set()
    user.wait_for(lambda: user.is_default("stop"), "is replaced")
    check(True, "is replaced")
    user.close()


def fails(shell):
    print("plugin, downloads that fail")
    damaged = tempfile.mkdtemp(prefix="backstory-dist-")
    for path in glob.glob(DIST + "/v*/*.tar.gz"):
        copy = os.path.join(damaged, os.path.relpath(path, DIST))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy(path, copy)
        with open(copy, "ab") as file:
            file.write(b"x")
    user = PluginUser(damaged, shell)
    Downloads.open.set()
    user.hook("session-start")
    user.wait_for(lambda: user.has("error") and not user.has("fetch"), "the error is recorded")
    check(not user.has("backstory") and not user.has("version"), "a wrong checksum installs nothing")
    count = len(Downloads.requests)
    check(user.is_default("post-tool-use") and len(Downloads.requests) == count, "the next hook does not try again")
    check("the checksum of" in user.server_instructions(), "the server tells the reason")
    shown = user.hook("session-start")["systemMessage"]
    check("again; the last attempt failed: the checksum of" in shown, "a new session tries again and tells the reason", shown)
    user.wait_for(lambda: not user.has("fetch"), "the second attempt ends")

    user.environment["BACKSTORY_DOWNLOAD"] = "http://127.0.0.1:9"
    user.hook("session-start")
    user.wait_for(lambda: not user.has("fetch"), "the attempt without a network ends")
    shown = user.hook("session-start")["systemMessage"]
    check("no answer from" in shown, "without a network hooks go on", shown)
    user.wait_for(lambda: not user.has("fetch"), "the attempt without a network ends")

    shutil.rmtree(damaged)
    user.close()


def survives_a_kill(shell):
    print("plugin, a killed download")
    user = PluginUser(DIST, shell)
    user.hook("session-start")
    user.wait_for(lambda: Downloads.requests, "the download begins")
    with open(os.path.join(user.data, "fetch/pid")) as file:
        pid = int(file.read())
    os.kill(pid, signal.SIGKILL)
    user.wait_for(lambda: not os.path.exists("/proc/%d" % pid), "the download is killed")
    Downloads.open.set()
    check("systemMessage" in user.hook("post-tool-use"), "the next hook starts another")
    user.wait_for(lambda: user.has("version") and not user.has("fetch"), "the download ends")
    check(user.launch("-V").startswith("backstory "), "the program is there")
    user.close()


def main():
    for shell in ("sh", "bash"):
        downloads_once(shell)
    upgrades("sh")
    fails("sh")
    survives_a_kill("sh")


if __name__ == "__main__":
    main()
