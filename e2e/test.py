#!/usr/bin/env python3
"""Tests the real Claude Code with backstory, installed by settings and as a plugin.

    e2e/test.py CLIENT PROGRAM      both are paths; `e2e/run` finds or installs them
"""

import json
import os
import re
import sys
import time

from machine import Failed, Machine
from model import Model
from packages import DIST
from plugin import Downloads, serve_downloads

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = "<backstory-context>"
FINAL_MESSAGE = "The token refresh retries once on a 401 now, because the clock is wrong for a moment after the laptop slept."
REMEMBERED = "token refresh retries once on a 401"


def check(condition, description, evidence=""):
    if not condition:
        raise Failed("%s\n%s" % (description, str(evidence)[-3000:]))
    print("  ok  " + description, flush=True)


def work(machine):
    """Runs the session that later ones recall: it writes code and runs it."""
    code = "def refresh(token):\n    return retry_once(token)\n\ndef retry_once(token):\n    return token\n\nprint(refresh('x'))\n"
    machine.session(
        "Token refresh fails with 401 after the laptop slept, fix it",
        {"text": "I write the retry first.", "tools": [{"name": "Write", "input": {"file_path": machine.path("acme/auth.py"), "content": code}}]},
        {"text": "Now I run it.", "tools": [{"name": "Bash", "input": {"command": "python3 auth.py"}}]},
        FINAL_MESSAGE)
    machine.settle()
    sessions = json.loads(machine.backstory("sessions", "--json"))["sessions"]
    check(len(sessions) == 1 and sessions[0]["prompts"] == 1, "the first session is recorded", sessions)
    session = json.loads(machine.backstory("session", sessions[0]["session_id"], "--json"))
    check(session["turns"][0]["tools"] == 2, "each tool use is recorded once", session["turns"])


def recall(machine):
    """Checks what later sessions get, and when."""
    requests, _ = machine.session("Hello.", "Hi.")
    check(requests[0].count(BLOCK) == 1 and REMEMBERED in requests[0],
          "the next session starts with the work of the first", requests[0])
    requests, _ = machine.session("Go on.", "Going on.", arguments=["--continue"])
    check(requests[0].count(BLOCK) == 1, "a resumed session gets no second context block", requests[0])

    machine.session("/compact", arguments=["--continue"])
    requests, _ = machine.session("And now?", "Now this.", arguments=["--continue"])
    if "Not enough messages to compact" in requests[0]:
        print("  --  skipped: this client does not compact so short a conversation", flush=True)
    else:
        check(BLOCK in requests[0] and "The conversation so far" in requests[0] and REMEMBERED in requests[0],
              "a compacted session gets the context again", requests[0])

    no_start_context = {"BACKSTORY_CONTEXT_ON_START": "false"}
    requests, _ = machine.session("The token refresh answers 401 again when I open the laptop", "I see.", extra=no_start_context)
    check(BLOCK in requests[0] and REMEMBERED in requests[0], "a similar prompt recalls the memory", requests[0])
    requests, _ = machine.session("Draw a nicer icon for the settings page", "Drawn.", extra=no_start_context)
    check(BLOCK not in requests[0], "an unrelated prompt recalls nothing", requests[0])

    machine.model.expect("One.", "Two.")
    requests = machine.terminal(("hello there", "request"), ("/clear", 2), ("what now", "request"))
    check(len(requests) == 2, "a terminal session, cleared in between, makes two requests", len(requests))
    check("hello there" not in requests[1] and requests[1].count(BLOCK) == 1 and REMEMBERED in requests[1],
          "a cleared session gets the context of a new one", requests[1])


def receipt(machine):
    """Checks that the user sees a line at session start."""
    machine.model.expect("One.")
    machine.terminal(("hello there", "request"))
    shown = re.search(r"backstory: +\d+ +memor(y|ies)[^\r\n]*", machine.screen)
    check(shown, "the terminal shows what was injected", machine.screen)
    print("      %s" % shown.group(0).strip(), flush=True)


def before_command(machine):
    """Checks that a command that failed before brings its remedy, in time for the model."""
    bash = lambda command: {"text": "I run it.", "tools": [{"name": "Bash", "input": {"command": command}}]}
    machine.session("Run the script", bash("python9 auth.py"), bash("python3 auth.py"), "It runs.")
    machine.settle()
    requests, _ = machine.session("Please check the script", bash("cd . && python9 auth.py"), "It fails.")
    check("`python3 auth.py` worked here" in requests[-1], "the remedy comes before a command that failed before", requests[-1])
    check("python3 auth.py` worked here" not in requests[0], "and not earlier")
    requests, _ = machine.session("Please list the folder", bash("ls"), "Listed.")
    check("worked here" not in requests[-1], "a command without history is silent", requests[-1])


def off(machine):
    """Checks that a session that is off the record is not recorded, also when it is resumed."""
    bash = lambda command: {"text": "I run it.", "tools": [{"name": "Bash", "input": {"command": command}}]}
    recorded = lambda: sum(session["events"] for session in json.loads(machine.backstory("sessions", "--json"))["sessions"])
    requests, _ = machine.session("Take this off the record", bash("backstory off"), bash("echo chestnut"), "The chestnut is counted.")
    check("is off the record" in requests[-1], "`backstory off` knows the session that runs it", requests[-1])
    machine.settle()
    before = recorded()
    requests, _ = machine.session("The token refresh answers 401 again when I open the laptop", "I see.", arguments=["--continue"])
    machine.settle()
    check(recorded() == before, "a resumed session stays off the record")
    check(requests[0].count(BLOCK) <= 1, "nothing is recalled in it", requests[0])
    found = json.loads(machine.backstory("search", "chestnut", "--json", expected=1))["results"]
    check(not found, "its later work is not stored", found)
    requests, _ = machine.session("Hello again.", "Hi.")
    machine.settle()
    check(BLOCK in requests[0] and recorded() > before, "a new session is recorded")


def tools(machine, prefix):
    """Checks that the MCP tools are offered without a search for them."""
    machine.session("Hello.", "Hi.")
    named = [tool["name"] for tool in machine.model.requests[0]["tools"]]
    check(prefix + "search" in named, "the MCP tools are offered", named)


def by_settings(machine):
    """`backstory install` and `uninstall`"""
    machine.write("home/.claude/settings.json", '{\n\t"env": { "MINE": "1" },\n\t"skipDangerousModePermissionPrompt": true\n}')
    before = machine.read("home/.claude/settings.json")
    print(machine.backstory("install", "claude-code", "--yes").split("\n")[0])
    check("backstory: " in machine.run([machine.client, "mcp", "list"]), "the client lists the server")
    work(machine)
    recall(machine)
    receipt(machine)
    before_command(machine)
    off(machine)
    maybe(tools, machine, "mcp__backstory__")
    machine.backstory("uninstall", "--yes")
    check(machine.read("home/.claude/settings.json") == before, "uninstall restores the settings")
    state = json.loads(machine.read("home/.claude.json"))
    check("mcpServers" not in state or not state["mcpServers"], "uninstall removes the server from the client's file", state.get("mcpServers"))
    count = len(json.loads(machine.backstory("sessions", "--json"))["sessions"])
    requests, _ = machine.session("Hello.", "Hi.")
    check(BLOCK not in requests[0], "a session after uninstall gets no context")
    check(len(json.loads(machine.backstory("sessions", "--json"))["sessions"]) == count, "a session after uninstall is not recorded")


def by_plugin(machine):
    """marketplace and plugin of this repository"""
    machine.run([machine.client, "plugin", "validate", "--strict", REPOSITORY])
    machine.run([machine.client, "plugin", "validate", "--strict", os.path.join(REPOSITORY, "plugin")])
    check(True, "the marketplace and the plugin are valid")
    machine.run([machine.client, "plugin", "marketplace", "add", REPOSITORY])
    machine.run([machine.client, "plugin", "install", "backstory@backstory"])
    requests, printed = machine.session("Hello.", "Hi.", with_backstory=False)
    check(BLOCK not in requests[0] and "hook error" not in printed and "is not installed" in requests[0],
          "without the program the hooks do nothing, and the session learns what is missing", printed)
    check(not os.path.exists(machine.path("home/.backstory")), "without the program nothing is written")
    work(machine)
    recall(machine)
    maybe(tools, machine, "mcp__plugin_backstory_backstory__")
    requests, _ = machine.session("/backstory:remember tabs, not blanks", "Noted.")
    check("tabs, not blanks" in requests[0] and "backstory remember" in requests[0], "the plugin's command is available", requests[0])
    check("backstory:search" in requests[0], "the plugin's skill is available")
    requests, _ = machine.session("/backstory:off", "Understood.")
    check("backstory off" in requests[0], "the plugin's command `off` is available", requests[0])
    data = machine.path("home/.claude/plugins/data")
    files = [name for _, _, names in os.walk(data) for name in names]
    check(not files, "the plugin's data folder is empty", files)

    before = len(json.loads(machine.backstory("sessions", "--json"))["sessions"])
    machine.backstory("install", "claude-code", "--yes")
    requests, _ = machine.session("Hello.", "Hi.")
    check(requests[0].count(BLOCK) == 1, "plugin and settings together inject once", requests[0])
    machine.settle()
    sessions = json.loads(machine.backstory("sessions", "--json"))["sessions"]
    check(len(sessions) == before + 1 and sessions[0]["events"] == 4, "plugin and settings together record once", sessions[0])
    machine.backstory("uninstall", "--yes")
    machine.run([machine.client, "plugin", "uninstall", "backstory@backstory"])
    requests, _ = machine.session("Hello.", "Hi.")
    check(BLOCK not in requests[0], "after uninstall nothing is injected")
    check(json.loads(machine.backstory("search", "token refresh", "--json"))["results"], "after uninstall the memories are still there")


def by_download(machine):
    """the released plugin (dist/marketplace) in a home without the program"""
    marketplace = os.path.join(DIST, "marketplace")
    if not os.path.exists(marketplace):
        print("  --  skipped: there is no dist/marketplace; scripts/package writes it", flush=True)
        return
    os.remove(machine.program)
    data = machine.path("home/.claude/plugins/data/backstory-backstory")
    machine.program = os.path.join(data, "backstory")
    machine.variables = {"BACKSTORY_DOWNLOAD": serve_downloads(DIST)}
    machine.run([machine.client, "plugin", "validate", "--strict", os.path.join(marketplace, "plugin")])
    machine.run([machine.client, "plugin", "marketplace", "add", marketplace])
    machine.run([machine.client, "plugin", "install", "backstory@backstory"])
    machine.model.expect("One.")
    requests = machine.terminal(("hello there", "request"))
    shown = re.search(r"backstory: +downloading +version[^\r\n]*", machine.screen)
    check(shown, "the terminal announces the download", machine.screen)
    print("      %s" % shown.group(0).strip(), flush=True)
    check("hook error" not in machine.screen and BLOCK not in requests[0], "the session goes on without the program", machine.screen)
    check(len(Downloads.requests) == 1, "one download is under way", Downloads.requests)
    Downloads.open.set()
    machine.wait_for(lambda: os.path.exists(os.path.join(data, "version")), "the download ends")
    work(machine)
    requests, _ = machine.session("Hello.", "Hi.")
    check(requests[0].count(BLOCK) == 1 and REMEMBERED in requests[0], "the next session starts with the work of the first", requests[0])
    bash = {"text": "I look.", "tools": [{"name": "Bash", "input": {"command": "backstory search 'token refresh'"}}]}
    requests, _ = machine.session("Search it", bash, "Found.")
    check("token refresh" in requests[-1].split("I look.")[-1], "the agent's shell finds the program", requests[-1])
    tools(machine, "mcp__plugin_backstory_backstory__")
    check(len(Downloads.requests) == 1, "nothing is downloaded again", Downloads.requests)
    machine.backstory("worker", "stop")
    machine.run([machine.client, "plugin", "uninstall", "backstory@backstory"])
    check(not os.path.exists(data), "uninstalling the plugin removes the program", os.listdir(os.path.dirname(data)))


def maybe(part, machine, *arguments):
    """Runs a part that this version of the program may lack."""
    try:
        machine.backstory("mcp", "--help")
    except Failed:
        print("  --  skipped: this backstory has no `mcp` command", flush=True)
        return
    part(machine, *arguments)


def main():
    client, program = (os.path.abspath(path) for path in sys.argv[1:3])
    failed = False
    for scenario in (by_settings, by_plugin, by_download):
        started = time.monotonic()
        print("%s: %s" % (scenario.__name__, scenario.__doc__), flush=True)
        machine = Machine(client, program, Model())
        try:
            scenario(machine)
            machine.close()
        except Exception as error:  # run the next scenario in any case
            failed = True
            print("  FAILED  %s: %s\n  (kept: %s)" % (type(error).__name__, error, machine.root), flush=True)
            machine.close(keep=True)
        print("  %.0f s" % (time.monotonic() - started), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
