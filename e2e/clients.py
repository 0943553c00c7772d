#!/usr/bin/env python3
"""Finds the real clients, and installs them with npm once, into a cache.

    e2e/clients.py claude-code        prints the path of the client, or the reason why there is none and exits 1

    CLAUDE_CLIENT            an installed Claude Code to use
    BACKSTORY_E2E_CACHE      cache of clients (default: ~/.cache/backstory-e2e)
"""

import glob
import os
import shutil
import subprocess
import sys

# Host -> npm package, version, executable, and the executable of the platform's package, which works if install scripts are disabled.
CLIENTS = {
    "claude-code": ("@anthropic-ai/claude-code", "2.1.325", "claude", "@anthropic-ai/claude-code-*/claude"),
    "codex": ("@openai/codex", "0.166.0", "codex", None),
    "gemini-cli": ("@google/gemini-cli", "0.61.0", "gemini", None),
    "opencode": ("opencode-ai", "1.18.33", "opencode", "opencode-*/bin/opencode"),
    "copilot-cli": ("@github/copilot", "1.0.102", "copilot", None),
}


class Unavailable(Exception):
    """A client cannot be installed or does not run here."""


def works(client):
    try:
        return subprocess.run([client, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def installed(name):
    """Returns the path of a client in the cache, or None."""
    _, _, executable, platform = CLIENTS[name]
    modules = os.path.join(folder(name), "node_modules")
    candidates = [os.path.join(modules, ".bin", executable)] + (glob.glob(os.path.join(modules, platform)) if platform else [])
    return next((path for path in candidates if works(path)), None)


def folder(name):
    cache = os.environ.get("BACKSTORY_E2E_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "backstory-e2e")
    return os.path.join(cache, name, CLIENTS[name][1])


def find(name):
    """Returns the path of a client that runs."""
    given = os.environ.get("CLAUDE_CLIENT") if name == "claude-code" else None
    if given:
        if works(given):
            return given
        raise Unavailable("%s does not run" % given)
    client = installed(name)
    if client:
        return client
    if not shutil.which("npm"):
        raise Unavailable("npm is missing")
    package, version = CLIENTS[name][:2]
    os.makedirs(folder(name), exist_ok=True)
    command = ["npm", "install", "--prefix", folder(name), "--no-audit", "--no-fund", "--loglevel=error", "%s@%s" % (package, version)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired:
        raise Unavailable("npm did not install %s within 180 s" % package) from None
    if done.returncode != 0:
        raise Unavailable("npm could not install %s: %s" % (package, (done.stderr.strip() or "no reason").splitlines()[-1]))
    client = installed(name)
    if not client:
        raise Unavailable("%s does not run on this machine" % package)
    return client


if __name__ == "__main__":
    try:
        print(find(sys.argv[1]))
    except Unavailable as error:
        print(error)
        sys.exit(1)
