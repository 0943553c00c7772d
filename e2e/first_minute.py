#!/usr/bin/env python3
"""Tests the first minute with a real client: past sessions without backstory, then install.sh and setup, then a new session that knows
the past. Run by hand, not in CI.

    scripts/package && npm install @openai/codex@0.166.0
    e2e/first_minute.py codex node_modules/.bin/codex

Hosts: claude-code, codex, gemini-cli, opencode, copilot-cli.
"""

import json
import os
import sys
import time

from hosts import BLOCK, FAILS, HOSTS, OLD
from machine import Machine
from model import Model
from packages import DIST, serve
from test import FINAL_MESSAGE, REMEMBERED, check

LIMIT_SECONDS = 60


class ClaudeModel(Model):
    def request_bodies(self):
        return self.conversations()


class ClaudeCode:
    wire = ClaudeModel
    work = [{"text": "I read it first.", "tools": [{"name": "Read", "input": {"file_path": "{auth}"}}]},
            {"text": "Now the retry.", "tools": [{"name": "Edit", "input": {"file_path": "{auth}", "old_string": OLD, "new_string": "    retry_once(|| refresh(token))\n"}}]}]

    def run(self, command):
        return {"text": "I run it.", "tools": [{"name": "Bash", "input": {"command": command}}]}

    def prepare(self, machine):
        return {}

    def command(self, machine, prompt):
        return ["-p", prompt, "--model", "haiku", "--dangerously-skip-permissions"]


def scenario(name, host, machine):
    machine.write("acme/src/auth.rs", "fn again(token: &str) {\n%s}\n" % OLD)
    environment = host.prepare(machine)

    def session(prompt, *turns):
        machine.model.expect(*turns)
        machine.run([machine.client, *host.command(machine, prompt)], environment)
        return machine.model.request_bodies()

    work = [host.run("cargo test auth 2>/dev/null; " + FAILS), *host.work, host.run("touch fixed; cargo test auth 2>/dev/null; " + FAILS)]
    work = json.loads(json.dumps(work).replace("{auth}", machine.path("acme/src/auth.rs")))
    session("Token refresh fails with 401 after the laptop slept, fix it", *work, FINAL_MESSAGE)
    session("Which file holds the retry of the token refresh?", "The retry is in src/auth.rs, in the function again.")
    start = time.monotonic()
    bin_folder = machine.path("bin")
    os.remove(os.path.join(bin_folder, "backstory"))
    machine.run(["sh", os.path.join(DIST, "install.sh")], {"BACKSTORY_DOWNLOAD": serve(DIST), "BACKSTORY_BIN": bin_folder})
    said = machine.backstory("setup", "--yes")
    seconds = time.monotonic() - start
    check("2 sessions imported" in said, "setup imports both past sessions", said)
    check("What I know about acme" in said and REMEMBERED in said, "setup prints what is known about the project", said)
    check(seconds < LIMIT_SECONDS, "from nothing to a memory in %.1f s" % seconds)
    machine.settle()
    requests = session("Hello.", "Hi.")
    check(BLOCK in requests[0] and REMEMBERED in requests[0], "the first request of a new session contains what was imported", requests[0])
    state = json.loads(machine.backstory("doctor", "--json"))["connection"]
    check(state == "connected", "doctor says that the agent is connected", state)
    before = machine.backstory("sessions", "--json")
    check(json.loads(machine.backstory("setup", "--yes", "--json"))["imported_sessions"] == 0, "setup again imports nothing")
    check(machine.backstory("sessions", "--json") == before, "setup again changes no session")
    machine.backstory("uninstall", "--yes")


def main():
    name, client = sys.argv[1:3]
    host = {**HOSTS, "claude-code": ClaudeCode()}[name]
    machine = Machine(os.path.abspath(client), os.path.join(DIST, "bin", os.uname().machine + "-unknown-linux-musl", "backstory"), host.wire())
    try:
        scenario(name, host, machine)
    except Exception as error:  # stop the worker on any error
        print("  FAILED  %s\n  (kept: %s)" % (error, machine.root))
        machine.close(keep=True)
        sys.exit(1)
    machine.close()


if __name__ == "__main__":
    main()
