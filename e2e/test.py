#!/usr/bin/env python3
"""The real Claude Code with backstory, by settings and as a plugin: what one session does, the next one knows.

    e2e/test.py CLIENT PROGRAM      both are paths; `e2e/run` finds or installs them
"""

import json
import os
import sys
import time

from machine import Failed, Machine
from model import Model

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = "<backstory-context>"
LAST_WORDS = "The token refresh retries once on a 401 now, because the clock is wrong for a moment after the laptop slept."
REMEMBERED = "token refresh retries once on a 401"


def check(holds, what, evidence=""):
    if not holds:
        raise Failed("%s\n%s" % (what, str(evidence)[-3000:]))
    print("  ok  " + what, flush=True)


def work(machine):
    """The session that later ones should know of: it writes code and runs it."""
    code = "def refresh(token):\n    return retry_once(token)\n\ndef retry_once(token):\n    return token\n\nprint(refresh('x'))\n"
    machine.session(
        "Token refresh fails with 401 after the laptop slept, mend it",
        {"text": "I write the retry first.", "tools": [{"name": "Write", "input": {"file_path": machine.path("acme/auth.py"), "content": code}}]},
        {"text": "Now I run it.", "tools": [{"name": "Bash", "input": {"command": "python3 auth.py"}}]},
        LAST_WORDS)
    machine.settle()
    sessions = json.loads(machine.backstory("sessions", "--json"))["sessions"]
    check(len(sessions) == 1 and sessions[0]["prompts"] == 1, "the first session is remembered", sessions)
    session = json.loads(machine.backstory("session", sessions[0]["session_id"], "--json"))
    check(session["turns"][0]["tools"] == 2, "with each of its tool uses, once", session["turns"])


def tell(machine):
    """What later sessions are told, and when."""
    requests, _ = machine.session("Hello.", "Hi.")
    check(requests[0].count(BLOCK) == 1 and REMEMBERED in requests[0],
          "the first request of the second session holds what the first did", requests[0])
    requests, _ = machine.session("Go on.", "Going on.", arguments=["--continue"])
    check(requests[0].count(BLOCK) == 1, "resumed, it is not told again", requests[0])

    machine.session("/compact", arguments=["--continue"])
    requests, _ = machine.session("And now?", "Now this.", arguments=["--continue"])
    if "Not enough messages to compact" in requests[0]:
        print("  --  skipped: this client does not compact so short a conversation", flush=True)
    else:
        check(BLOCK in requests[0] and "The conversation so far" in requests[0] and REMEMBERED in requests[0],
              "compacted, it is told anew", requests[0])

    quiet = {"BACKSTORY_CONTEXT_ON_START": "false"}
    requests, _ = machine.session("The token refresh answers 401 again when I open the laptop", "I see.", extra=quiet)
    check(BLOCK in requests[0] and REMEMBERED in requests[0], "a similar prompt brings the memory", requests[0])
    requests, _ = machine.session("Draw a nicer icon for the settings page", "Drawn.", extra=quiet)
    check(BLOCK not in requests[0], "an unrelated prompt brings nothing", requests[0])

    machine.model.expect("One.", "Two.")
    requests = machine.terminal(("hello there", "request"), ("/clear", 2), ("what now", "request"))
    check(len(requests) == 2, "a session at a terminal, cleared in between", len(requests))
    check("hello there" not in requests[1] and requests[1].count(BLOCK) == 1 and REMEMBERED in requests[1],
          "cleared, it is told as a new one is", requests[1])


def tools(machine, prefix):
    """The server's tools are there without being looked for."""
    machine.session("Hello.", "Hi.")
    named = [tool["name"] for tool in machine.model.requests[0]["tools"]]
    check(prefix + "search" in named, "the memory's tools are offered", named)


def by_settings(machine):
    """`backstory install` and `uninstall`."""
    machine.write("home/.claude/settings.json", '{\n\t"env": { "MINE": "1" },\n\t"skipDangerousModePermissionPrompt": true\n}')
    before = machine.read("home/.claude/settings.json")
    print(machine.backstory("install", "claude-code", "--yes").split("\n")[0])
    check("backstory: " in machine.run([machine.client, "mcp", "list"]), "the client knows of the server")
    work(machine)
    tell(machine)
    maybe(tools, machine, "mcp__backstory__")
    machine.backstory("uninstall", "--yes")
    check(machine.read("home/.claude/settings.json") == before, "uninstalled, the settings are what they were")
    state = json.loads(machine.read("home/.claude.json"))
    check("mcpServers" not in state or not state["mcpServers"], "and the client's own file holds nothing of ours", state.get("mcpServers"))
    count = len(json.loads(machine.backstory("sessions", "--json"))["sessions"])
    requests, _ = machine.session("Hello.", "Hi.")
    check(BLOCK not in requests[0], "a session is told nothing then")
    check(len(json.loads(machine.backstory("sessions", "--json"))["sessions"]) == count, "and not remembered")


def by_plugin(machine):
    """The marketplace and plugin of this repository."""
    machine.run([machine.client, "plugin", "validate", "--strict", REPOSITORY])
    machine.run([machine.client, "plugin", "validate", "--strict", os.path.join(REPOSITORY, "plugin")])
    check(True, "the marketplace and the plugin are valid")
    machine.run([machine.client, "plugin", "marketplace", "add", REPOSITORY])
    machine.run([machine.client, "plugin", "install", "backstory@backstory"])
    requests, printed = machine.session("Hello.", "Hi.", with_backstory=False)
    check(BLOCK not in requests[0] and "hook error" not in printed and "is not installed" in requests[0],
          "without the program the hooks are silent, and the session is told what is missing", printed)
    check(not os.path.exists(machine.path("home/.backstory")), "and leave nothing behind")
    work(machine)
    tell(machine)
    maybe(tools, machine, "mcp__plugin_backstory_backstory__")
    requests, _ = machine.session("/backstory:remember tabs, not blanks", "Noted.")
    check("tabs, not blanks" in requests[0] and "backstory remember" in requests[0], "its command is there", requests[0])
    check("backstory:search" in requests[0], "its skill is there")
    data = machine.path("home/.claude/plugins/data")
    kept = [name for _, _, names in os.walk(data) for name in names]
    check(not kept, "no memory is in the plugin's data folder", kept)

    before = len(json.loads(machine.backstory("sessions", "--json"))["sessions"])
    machine.backstory("install", "claude-code", "--yes")
    requests, _ = machine.session("Hello.", "Hi.")
    check(requests[0].count(BLOCK) == 1, "beside the settings it says nothing twice", requests[0])
    machine.settle()
    sessions = json.loads(machine.backstory("sessions", "--json"))["sessions"]
    check(len(sessions) == before + 1 and sessions[0]["events"] == 4, "and reports nothing twice", sessions[0])
    machine.backstory("uninstall", "--yes")
    machine.run([machine.client, "plugin", "uninstall", "backstory@backstory"])
    requests, _ = machine.session("Hello.", "Hi.")
    check(BLOCK not in requests[0], "uninstalled, nothing is told")
    check(json.loads(machine.backstory("search", "token refresh", "--json"))["results"], "and nothing is forgotten")


def maybe(part, machine, *arguments):
    """A part that this version of the program may not have yet."""
    try:
        machine.backstory("mcp", "--help")
    except Failed:
        print("  --  skipped: this backstory has no `mcp` command", flush=True)
        return
    part(machine, *arguments)


def main():
    client, program = (os.path.abspath(path) for path in sys.argv[1:3])
    failed = False
    for story in (by_settings, by_plugin):
        started = time.monotonic()
        print("%s: %s" % (story.__name__, story.__doc__), flush=True)
        machine = Machine(client, program, Model())
        try:
            story(machine)
            machine.close()
        except Exception as error:  # whatever it is, the next story is worth telling
            failed = True
            print("  FAILED  %s: %s\n  (kept: %s)" % (type(error).__name__, error, machine.root), flush=True)
            machine.close(keep=True)
        print("  %.0f s" % (time.monotonic() - started), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
