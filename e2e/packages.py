#!/usr/bin/env python3
"""Tests the packages in dist/ (scripts/package) on Linux: installs each from a loopback server, upgrades with a running worker, and
uninstalls without a trace.

    scripts/package && e2e/packages.py
    scripts/package x86_64-unknown-linux-musl=target/debug/backstory && e2e/packages.py      (faster, not the released binary)
"""

import functools
import glob
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIST = os.path.join(ROOT, "dist")
PLATFORM, DEBIAN = ("linux-arm64", "arm64") if os.uname().machine == "aarch64" else ("linux-x64", "amd64")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def serve(folder):
    """Serves a folder on a free port; returns its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d" % server.server_port


def check(holds, what, details=""):
    if not holds:
        sys.exit("  FAILED  %s\n%s" % (what, details))
    print("  ok      " + what)


class User:
    """A user's home without anything in it."""

    def __init__(self, address):
        self.root = tempfile.mkdtemp(prefix="backstory-packages-")
        self.home = os.path.join(self.root, "home")
        os.makedirs(os.path.join(self.home, ".codex"))
        self.environment = {"HOME": self.home, "PATH": "/usr/local/bin:/usr/bin:/bin", "BACKSTORY_DOWNLOAD": address,
                            "BACKSTORY_HTTP_PORT": "0", "npm_config_registry": address, "npm_config_update_notifier": "false"}

    def run(self, *command, stdin="", expected=0):
        done = subprocess.run(command, cwd=self.home, env=self.environment, input=stdin, capture_output=True, text=True, timeout=300)
        if expected is not None and done.returncode != expected:
            sys.exit("  FAILED  %s exited %d\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def files(self):
        found = [os.path.relpath(os.path.join(folder, file), self.home) for folder, _, files in os.walk(self.home) for file in files]
        return sorted(file for file in found if not file.startswith((".backstory/", ".npm/", ".cache/")))

    def close(self):
        shutil.rmtree(self.root, ignore_errors=True)


def shell_installer(address):
    print("install.sh")
    user, script = User(address), os.path.join(DIST, "install.sh")
    program = os.path.join(user.home, ".local/bin/backstory")
    said = user.run("sh", script)
    check("Installed backstory" in said and "is not on your PATH" in said, "installs and explains the PATH", said)
    check("backstory setup" in said, "names the next step", said)
    said = user.run(program, "demo")
    check("backstory" in said, "the demo runs")
    user.run(program, "setup", "--yes")
    event = {"session_id": "p1", "cwd": user.home, "prompt": "Archive the orders at night"}
    user.run(program, "hook", "user-prompt-submit", stdin=json.dumps(event))
    user.run(program, "worker", "start")
    check("running" in user.run(program, "worker", "status", expected=None).lower(), "a worker runs")
    said = user.run("sh", script)
    check("Updated backstory" in said and "setup" not in said, "updates", said)
    event["prompt"] = "Archive the invoices too"
    user.run(program, "hook", "user-prompt-submit", stdin=json.dumps(event))
    sessions = json.loads(user.run(program, "sessions", "--json"))["sessions"]
    check(sessions[0]["prompts"] == 2, "no event is lost by the update", sessions)
    said = user.run("sh", script, "--uninstall")
    check(user.files() == [], "uninstalls without a trace", said + str(user.files()))
    check(os.path.exists(os.path.join(user.home, ".backstory/backstory.db")), "memories stay")
    check(user.run("sh", script, "--uninstall", expected=1).startswith("error: backstory is not installed"), "reports a second uninstall")
    user.close()


def wrong_checksum():
    print("a damaged download")
    copy = tempfile.mkdtemp(prefix="backstory-dist-")
    for path in glob.glob(os.path.join(DIST, "v*")):
        shutil.copytree(path, os.path.join(copy, os.path.basename(path)))
    for archive in glob.glob(copy + "/v*/*.tar.gz"):
        with open(archive, "ab") as file:
            file.write(b"x")
    user = User(serve(copy))
    said = user.run("sh", os.path.join(DIST, "install.sh"), expected=1)
    check("the checksum of" in said and user.files() == [], "is refused, and nothing is installed", said)
    user.environment["BACKSTORY_DOWNLOAD"] += "/nowhere"
    said = user.run("sh", os.path.join(DIST, "install.sh"), expected=1)
    check("could not download" in said, "a missing file is reported", said)
    user.close()
    shutil.rmtree(copy)


def npm(address):
    print("npm")
    user = User(address)
    folders = [os.path.join(DIST, "npm", name) for name in (PLATFORM, "backstory")]
    packed = [user.run("npm", "pack", "--silent", folder).strip().splitlines()[-1] for folder in folders]
    user.run("npm", "install", "--prefix", os.path.join(user.root, "prefix"), "--silent", "--no-audit", "--no-fund", *packed)
    program = os.path.join(user.root, "prefix/node_modules/.bin/backstory")
    check(user.run(program, "-V").startswith("backstory "), "the package runs the program")
    check(user.run(program, "show", "1", expected=1) != "", "exit codes pass through")
    user.close()


def debian():
    print(".deb")
    folder = tempfile.mkdtemp(prefix="backstory-deb-")
    subprocess.run(["dpkg-deb", "-x", glob.glob(DIST + "/v*/*_%s.deb" % DEBIAN)[0], folder], check=True)
    said = subprocess.check_output([folder + "/usr/bin/backstory", "-V"], text=True)
    check(said.startswith("backstory "), "holds the program")
    shutil.rmtree(folder)


def main():
    address = serve(DIST)
    shell_installer(address)
    wrong_checksum()
    if shutil.which("npm"):
        npm(address)
    if shutil.which("dpkg-deb"):
        debian()


if __name__ == "__main__":
    main()
