#!/usr/bin/env python3
"""Tests the first minute with real clients in one home: past sessions without backstory, then install.sh and setup, then a new session
of each client that knows the past of all. Installs the clients with npm (clients.py); those that cannot be installed are reported and
left out.

    cargo build && scripts/package --debug && e2e/first_minute.py      Claude Code, Codex, Gemini CLI and OpenCode
    e2e/first_minute.py copilot-cli                                    only the named ones
"""

import concurrent.futures
import copy
import json
import os
import sys
import time

from clients import Unavailable, find
from hosts import BLOCK, FAILS, HOSTS, OLD
from machine import Machine
from model import Model
from packages import DIST, serve
from test import FINAL_MESSAGE, REMEMBERED, check

LIMIT_SECONDS = 60
PROGRAM = os.path.join(DIST, "bin", os.uname().machine + "-unknown-linux-musl", "backstory")


class ClaudeModel(Model):
    def request_bodies(self):
        return self.conversations()


class ClaudeCode:
    wire = ClaudeModel
    work = [{"text": "I read it first.", "tools": [{"name": "Read", "input": {"file_path": "{auth}"}}]},
            {"text": "Now the change.", "tools": [{"name": "Edit", "input": {"file_path": "{auth}", "old_string": OLD, "new_string": "    retry_once(|| refresh(token))\n"}}]}]

    def run(self, command):
        return {"text": "I run it.", "tools": [{"name": "Bash", "input": {"command": command}}]}

    def prepare(self, machine):
        return {"ANTHROPIC_BASE_URL": machine.model.address}

    def command(self, machine, prompt):
        return ["-p", prompt, "--model", "haiku", "--dangerously-skip-permissions"]


# Host -> file, task, final message, and the words of it that must be remembered.
TASKS = {
    "claude-code": ("auth", "Token refresh fails with 401 after the laptop slept, fix it", FINAL_MESSAGE, REMEMBERED),
    "codex": ("invoice", "Invoice totals are off by a cent, fix it",
              "Invoice totals are rounded once at the end now, because rounding every line lost a cent per invoice.", "rounded once at the end"),
    "gemini-cli": ("upload", "Uploads start again from zero after a lost connection, fix it",
                   "An upload resumes at the last confirmed chunk now, because the server keeps chunks for a day.", "resumes at the last confirmed chunk"),
    "opencode": ("index", "The search index misses words with accents, fix it",
                 "The search index folds accents now, because users type words without them.", "search index folds accents"),
    "copilot-cli": ("mail", "Mails are sent twice after a restart, fix it",
                    "Mails are marked as sent before the connection closes now, because a restart repeated them.", "marked as sent before the connection closes"),
}


class Agent:
    """A real client with a scripted model of its own."""

    def __init__(self, name, client, machine):
        # The same home, but another model.
        self.name, self.client, self.machine = name, client, copy.copy(machine)
        self.host = {**HOSTS, "claude-code": ClaudeCode()}[name]
        self.model = self.machine.model = self.host.wire()
        self.environment = self.host.prepare(self.machine)

    def session(self, prompt, *turns):
        """Runs a session; returns its requests to the model."""
        self.model.expect(*turns)
        self.machine.run([self.client, *self.host.command(self.machine, prompt)], self.environment)
        return self.model.request_bodies()

    def work(self):
        """Runs two sessions: one that repairs something, and one that asks about it."""
        topic, prompt, final_message, _ = TASKS[self.name]
        self.machine.write("acme/src/%s.rs" % topic, "fn again(token: &str) {\n%s}\n" % OLD)
        test = FAILS.replace("fixed", "fixed-" + topic).replace("auth.rs", topic + ".rs")
        turns = [self.host.run("cargo test %s 2>/dev/null; %s" % (topic, test)), *self.host.work,
                 self.host.run("touch fixed-%s; cargo test %s 2>/dev/null; %s" % (topic, topic, test))]
        turns = json.dumps(turns).replace("{auth}", self.machine.path("acme/src/%s.rs" % topic)).replace("src/auth.rs", "src/%s.rs" % topic)
        self.session(prompt, *json.loads(turns), final_message)
        self.session("Which file was it?", "The change is in src/%s.rs, in the function again." % topic)


def find_clients(names):
    """Installs the clients, all at once; returns the paths of those that run."""
    def find_or_report(name):
        try:
            return name, os.path.abspath(find(name))
        except Unavailable as error:
            print("  --  %s was not tested: %s" % (name, error), flush=True)
            return name, None

    with concurrent.futures.ThreadPoolExecutor() as pool:
        return [(name, client) for name, client in pool.map(find_or_report, names) if client]


def scenario(machine, clients):
    agents = [Agent(name, client, machine) for name, client in clients]
    # All at once: the clients spend much of their time waiting.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(Agent.work, agents))
    check(not os.path.exists(machine.path("home/.backstory")), "past sessions of %s" % ", ".join(agent.name for agent in agents))

    os.remove(machine.program)
    machine.variables = {"BACKSTORY_DOWNLOAD": serve(DIST), "BACKSTORY_BIN": os.path.dirname(machine.program)}
    start = time.monotonic()
    said = machine.run(["sh", "-c", 'sh "%s" && backstory setup --yes' % os.path.join(DIST, "install.sh")])
    seconds = time.monotonic() - start
    check("%d sessions imported" % (2 * len(agents)) in said, "one command installs, connects and imports all past sessions", said)
    remembered = [TASKS[agent.name][3] for agent in agents]
    check("What I know about acme" in said and any(words in said for words in remembered), "it prints what is known about the project", said)
    check(seconds < LIMIT_SECONDS, "from nothing to a memory in %.1f s" % seconds)
    machine.settle()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        sessions = list(pool.map(lambda agent: agent.session("Hello.", "Hi."), agents))
    for agent, requests in zip(agents, sessions):
        missing = [words for words in remembered if words not in requests[0]]
        check(BLOCK in requests[0] and not missing, "%s: the first request of a new session contains what was imported" % agent.name, (missing, requests[0]))
    found = json.loads(machine.backstory("doctor", "--json"))
    check(found["connection"] == "connected", "doctor says that the agents are connected", found)
    machine.settle()
    before = machine.backstory("sessions", "--json")
    check(json.loads(machine.backstory("setup", "--yes", "--json"))["imported_sessions"] == 0, "setup again imports nothing")
    check(machine.backstory("sessions", "--json") == before, "setup again changes no session")
    machine.backstory("uninstall", "--yes")


def main():
    print("first_minute: past sessions, install.sh and setup, new sessions", flush=True)
    clients = find_clients(sys.argv[1:] or ["claude-code", "codex", "gemini-cli", "opencode"])
    if not clients:
        return
    machine = Machine(None, PROGRAM, Model())
    started = time.monotonic()
    try:
        scenario(machine, clients)
    except Exception as error:  # stop the worker on any error
        print("  FAILED  %s\n  (kept: %s)" % (error, machine.root))
        machine.close(keep=True)
        sys.exit(1)
    machine.close()
    print("  %.0f s" % (time.monotonic() - started))


if __name__ == "__main__":
    main()
