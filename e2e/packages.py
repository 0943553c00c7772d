#!/usr/bin/env python3
"""Tests the packages in dist/ (scripts/package) on Linux: installs each from a loopback server, upgrades with a running worker, and
uninstalls without a trace.

    scripts/package && e2e/packages.py
    cargo build && scripts/package --debug && e2e/packages.py      (faster, not the released binary)

    BACKSTORY_OLD_PROGRAM    a real older program to upgrade from; it must call itself 0.1.0, and speak the schema of its time
"""

import functools
import glob
import hashlib
import http.server
import importlib.machinery
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIST = os.path.join(ROOT, "dist")
VERSION = subprocess.check_output([os.path.join(ROOT, "scripts/package"), "--version"], text=True).strip()
# As long as the other, so that it can replace it in a program.
OLD = "0.1.0" if VERSION != "0.1.0" else "0.0.9"
OLD_DIST = os.path.join(ROOT, "dist-old")
PLATFORM, DEBIAN = ("linux-arm64", "arm64") if os.uname().machine == "aarch64" else ("linux-x64", "amd64")


def script(name):
    """Loads a script of this repository as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), os.path.join(ROOT, "scripts", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


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


class Upgrade:
    """Events of a session around an upgrade with a running worker. None may be lost, and a worker of the new version takes over."""

    def __init__(self, user, program):
        self.user, self.program, self.prompts = user, program, 0

    def prompt(self, count):
        for _ in range(count):
            self.prompts += 1
            event = {"session_id": "p1", "cwd": self.user.home, "prompt": "Archive the orders of day %d" % self.prompts}
            self.user.run(self.program, "hook", "user-prompt-submit", stdin=json.dumps(event))

    def worker(self):
        """Returns the process and the version of the running worker; empty if there is none."""
        status = json.loads(self.user.run(self.program, "worker", "status", "--json", expected=None) or "{}")
        return status.get("pid"), status.get("version")

    def check_worker(self, version, what):
        end = time.monotonic() + 60
        while self.worker()[1] != version and time.monotonic() < end:
            time.sleep(0.1)
        check(self.worker()[1] == version, what, self.worker())

    def start(self):
        self.prompt(3)
        self.user.run(self.program, "worker", "start")
        self.check_worker(OLD, "a worker of version %s runs" % OLD)
        # Events wait in the spool when the worker does not run for a moment.
        os.kill(self.worker()[0], signal.SIGSTOP)
        self.prompt(5)

    def check_difference(self, pid):
        said = self.user.run(self.program, "--version")
        check("worker: %s, not the same; `backstory worker restart`" % OLD in said, "--version tells that the worker is older", said)
        findings = json.loads(self.user.run(self.program, "doctor", "--json", expected=None))["findings"]
        told = [finding["message"] for finding in findings if finding["check"] == "worker"]
        check(told == ["process %d is version %s, this is %s" % (pid, OLD, VERSION)], "doctor tells it too", told)

    def finish(self):
        self.prompt(5)
        # An event that comes while the old worker ends starts no other; the session goes on.
        end = time.monotonic() + 60
        while self.worker()[1] != VERSION and time.monotonic() < end:
            self.prompt(1)
        self.check_worker(VERSION, "a worker of version %s takes over" % VERSION)
        sessions = json.loads(self.user.run(self.program, "sessions", "--json"))["sessions"]
        check(sessions[0]["prompts"] == self.prompts, "no event is lost by the update", sessions)


def shell_installer(older, address):
    print("install.sh")
    user, script = User(older), os.path.join(DIST, "install.sh")
    program = os.path.join(user.home, ".local/bin/backstory")
    said = user.run("sh", os.path.join(OLD_DIST, "install.sh"))
    check("Installed backstory %s" % OLD in said and "is not on your PATH" in said, "installs and explains the PATH", said)
    check("backstory setup" in said, "names the next step", said)
    said = user.run(program, "demo")
    check("backstory" in said, "the demo runs")
    user.run(program, "setup", "--yes")
    upgrade = Upgrade(user, program)
    upgrade.start()
    user.environment["BACKSTORY_DOWNLOAD"] = address
    pid = upgrade.worker()[0]
    # It ends when it runs again; the installer waits for that.
    resume = threading.Timer(1, os.kill, (pid, signal.SIGCONT))
    resume.start()
    said = user.run("sh", script)
    check("Updated backstory %s to backstory %s" % (OLD, VERSION) in said and "setup" not in said, "updates", said)
    resume.join()
    upgrade.finish()
    said = user.run("sh", script, "--uninstall")
    check(user.files() == [], "uninstalls without a trace", said + str(user.files()))
    check(gone(pid), "the old worker is gone")
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


def incomplete_script(address):
    print("an installer that arrived in part")
    user = User(address)
    with open(os.path.join(DIST, "install.sh")) as file:
        text = file.read()
    for end in [text.rindex("case ${1:-}"), text.rindex("esac")] + list(range(0, len(text), 1500)):
        user.run("sh", "-c", text[:end], expected=None)
    check(user.files() == [], "does nothing", user.files())
    user.close()


def is_running(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            # A container may have no process that collects ended ones.
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pid):
    """Waits until a process has ended."""
    end = time.monotonic() + 60
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.1)
    return not is_running(pid)


def npm(address):
    print("npm")
    user = User(address)
    prefix = os.path.join(user.root, "prefix")
    program = os.path.join(prefix, "node_modules/.bin/backstory")

    def pack(dist):
        folders = [os.path.join(dist, "npm", name) for name in (PLATFORM, "backstory")]
        names = [user.run("npm", "pack", "--silent", folder).strip().splitlines()[-1] for folder in folders]
        return [os.path.join(user.home, name) for name in names]

    def install(dist):
        user.run("npm", "install", "--prefix", prefix, "--silent", "--no-audit", "--no-fund", *pack(dist))

    install(OLD_DIST)
    check(user.run(program, "-V") == "backstory %s\n" % OLD, "the package runs the program")
    check(user.run(program, "show", "1", expected=1) != "", "exit codes pass through")
    check("backstory" in user.run(program, "demo"), "the demo runs")
    upgrade = Upgrade(user, program)
    upgrade.start()
    pid = upgrade.worker()[0]
    install(DIST)
    check(user.run(program, "-V") == "backstory %s\n" % VERSION, "updates")
    upgrade.check_difference(pid)
    os.kill(pid, signal.SIGCONT)
    upgrade.finish()
    pid = upgrade.worker()[0]
    user.run("npm", "uninstall", "--prefix", prefix, "--silent", "backstory-memory", "@backstory-memory/" + PLATFORM)
    left = [file for _, _, files in os.walk(os.path.join(prefix, "node_modules")) for file in files if "backstory" in file]
    check(left == [], "uninstalls without a trace", left)
    check(gone(pid), "the worker ends by itself")
    platform, main_package = pack(DIST)
    everywhere = os.path.join(user.root, "everywhere")
    user.run("npm", "install", "--global", "--prefix", everywhere, "--silent", "--no-audit", "--no-fund", platform, main_package)
    check(user.run(os.path.join(everywhere, "bin/backstory"), "-V") == "backstory %s\n" % VERSION, "installs for all folders")
    said = user.run("npx", "--yes", "--silent", "--package", platform, "--package", main_package, "backstory", "-V")
    check(said == "backstory %s\n" % VERSION, "runs with npx", said)
    user.close()


def debian(address):
    print(".deb")
    package = lambda dist: glob.glob(dist + "/v*/*_%s.deb" % DEBIAN)[0]
    user = User(address)
    root = os.path.join(user.root, "root")
    program = os.path.join(root, "usr/bin/backstory")
    if os.geteuid() != 0:
        user.run("dpkg-deb", "-x", package(DIST), root)
        check(user.run(program, "-V") == "backstory %s\n" % VERSION, "holds the program")
        print("  --      only root can install it")
        user.close()
        return
    # A system of its own: dpkg needs its lists, and no script of a package runs.
    os.makedirs(os.path.join(root, "var/lib/dpkg/info"))
    os.makedirs(os.path.join(root, "var/lib/dpkg/updates"))
    open(os.path.join(root, "var/lib/dpkg/status"), "w").close()
    user.environment["PATH"] += ":/usr/sbin:/sbin"
    dpkg = lambda *arguments: user.run("dpkg", "--root=" + root, *arguments)
    dpkg("--install", package(OLD_DIST))
    check(user.run(program, "-V") == "backstory %s\n" % OLD, "installs")
    check("backstory" in user.run(program, "demo"), "the demo runs")
    upgrade = Upgrade(user, program)
    upgrade.start()
    pid = upgrade.worker()[0]
    dpkg("--install", package(DIST))
    check(user.run(program, "-V") == "backstory %s\n" % VERSION, "updates")
    upgrade.check_difference(pid)
    os.kill(pid, signal.SIGCONT)
    upgrade.finish()
    pid = upgrade.worker()[0]
    dpkg("--purge", "backstory")
    left = [os.path.join(folder, file) for folder, _, files in os.walk(root) for file in files if "/var/" not in folder]
    check(left == [], "uninstalls without a trace", left)
    check(gone(pid), "the worker ends by itself")
    user.close()


def descriptions():
    """Checks the files for package managers that are not here, as far as their syntax goes."""
    print("descriptions for package managers")
    formula = os.path.join(DIST, "homebrew/backstory.rb")
    if shutil.which("ruby"):
        subprocess.run(["ruby", "-c", formula], check=True, stdout=subprocess.DEVNULL)
        check(True, "the Homebrew formula is valid Ruby")
    with open(formula) as file:
        text = file.read()
    for archive in glob.glob(DIST + "/v*/*.tar.gz"):
        with open(archive, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        check("windows" in archive or (os.path.basename(archive) in text and digest in text), "the formula has the sum of %s" % os.path.basename(archive), text)
    check_winget()
    with open(glob.glob(DIST + "/v*/*.cdx.json")[0]) as file:
        bill = json.load(file)
    names = [component["name"] for component in bill["components"]]
    check(bill["bomFormat"] == "CycloneDX" and "rusqlite" in names and "insta" not in names, "the bill of materials lists what is in the program", names)
    with open(os.path.join(DIST, "Containerfile")) as file:
        copied = [line.split()[1].replace("$TARGET", os.uname().machine + "-unknown-linux-musl") for line in file if line.startswith("COPY ")]
    check(all(os.path.exists(os.path.join(DIST, path)) for path in copied), "the container file copies files that exist", copied)


def check_winget():
    """Checks the fields that winget's schema requires. The manifest of a made-up program, as this system builds none for Windows."""
    package = script("package")
    with tempfile.TemporaryDirectory(prefix="backstory-winget-") as package.DIST:
        name, digest = package.windows_zip("x86_64-pc-windows-gnu", b"a program")
        package.winget(name, digest)
        manifest = {}
        for path in glob.glob(package.DIST + "/winget/*.yaml"):
            with open(path) as file:
                lines = [line.strip(" -\n").split(":", 1) for line in file]
            fields = {key: value.strip() for key, value in lines}
            manifest[fields["ManifestType"]] = fields
        with open(os.path.join(package.DIST, "v" + VERSION, name + ".sha256")) as file:
            check(file.read() == "%s  %s\n" % (digest, name), "the archive for Windows has a sum")
    always = {"PackageIdentifier", "PackageVersion", "ManifestType", "ManifestVersion"}
    required = {
        "version": {"DefaultLocale"},
        "installer": {"Installers", "Architecture", "InstallerType", "NestedInstallerType", "NestedInstallerFiles", "RelativeFilePath", "InstallerUrl", "InstallerSha256"},
        "defaultLocale": {"PackageLocale", "Publisher", "PackageName", "License", "ShortDescription"},
    }
    missing = {kind: (always | fields) - set(manifest.get(kind, ())) for kind, fields in required.items()}
    check(not any(missing.values()) and set(manifest) == set(required), "the winget manifest has the required fields", missing)
    check(manifest["installer"]["InstallerSha256"] == digest.upper(), "the winget manifest has the sum", manifest["installer"])


def older_packages(folder):
    """Packages a program that calls itself an older version: the one of dist/, with another version of the same length in it."""
    target = os.uname().machine + "-unknown-linux-musl"
    with open(os.path.join(DIST, "bin", target, "backstory"), "rb") as file:
        program = file.read()
    path = os.path.join(folder, "backstory")
    with open(path, "wb") as file:
        file.write(program.replace(VERSION.encode(), OLD.encode()))
    os.chmod(path, 0o755)
    environment = {**os.environ, "BACKSTORY_VERSION": OLD, "BACKSTORY_DIST": OLD_DIST}
    subprocess.run([os.path.join(ROOT, "scripts/package"), "%s=%s" % (target, os.environ.get("BACKSTORY_OLD_PROGRAM") or path)],
                   check=True, env=environment, stdout=subprocess.DEVNULL)


def main():
    with tempfile.TemporaryDirectory(prefix="backstory-old-") as folder:
        older_packages(folder)
    address = serve(DIST)
    shell_installer(serve(OLD_DIST), address)
    wrong_checksum()
    incomplete_script(address)
    if shutil.which("npm"):
        npm(address)
    if shutil.which("dpkg"):
        debian(address)
    descriptions()
    shutil.rmtree(OLD_DIST)


if __name__ == "__main__":
    main()
