#!/usr/bin/env python3
"""Tests other real clients with backstory: install, capture, injection. Run by hand, not in CI.

    npm install @openai/codex@0.166.0          (or @google/gemini-cli@0.61.0, opencode-ai@1.18.33, @github/copilot@1.0.102)
    e2e/hosts.py codex node_modules/.bin/codex target/debug/backstory
"""

import json
import os
import sys

from clients import CLIENTS
from machine import Machine
from test import FINAL_MESSAGE, REMEMBERED, check
from wires import Completions, Gemini, Responses

# Without brackets: Gemini CLI escapes them as entities.
BLOCK = "backstory-context"
FAILS = """echo "RefreshError: clock skew of 312 s is not allowed (src/auth.rs:2)"; test -e fixed"""
PLUGIN_PACKAGE = {"dependencies": {"@opencode-ai/plugin": CLIENTS["opencode"][1]}}
OLD, NEW = "    refresh(token)\n", "    retry_once(|| refresh(token))\n"


class Codex:
    wire = Responses
    patch = "*** Begin Patch\n*** Update File: src/auth.rs\n@@\n-%s+%s*** End Patch\n" % (OLD, NEW)
    injects_at_failure = False
    work = [{"tool": "apply_patch", "input": patch}]

    def run(self, command):
        return {"tool": "exec_command", "args": {"cmd": command}}

    def prepare(self, machine):
        os.makedirs(machine.path("home/.codex"))
        return {"E2E_KEY": "x"}

    def command(self, machine, prompt):
        provider = '{name="e2e", base_url="%s/v1", wire_api="responses", env_key="E2E_KEY"}' % machine.model.address
        return ["exec", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "-c", "model=gpt-5.5",
                "-c", 'model_provider="e2e"', "-c", "model_providers.e2e=" + provider, prompt]


class GeminiCli:
    wire = Gemini
    injects_at_failure = True
    work = [{"tool": "replace", "args": {"file_path": "{auth}", "instruction": "retry", "old_string": OLD, "new_string": NEW}}]

    def run(self, command):
        return {"tool": "run_shell_command", "args": {"command": command}}

    def prepare(self, machine):
        machine.write("home/.gemini/settings.json", '{\n  // mine\n  "security": { "auth": { "selectedType": "gemini-api-key" } }\n}\n')
        return {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": machine.model.address, "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "PATH": machine.path("bin") + ":" + os.environ["PATH"]}

    def command(self, machine, prompt):
        return ["-m", "gemini-2.5-flash", "--yolo", "-p", prompt]


class OpenCode:
    wire = Completions
    injects_at_failure = True
    work = [{"tool": "read", "args": {"filePath": "{auth}"}},
            {"tool": "edit", "args": {"filePath": "{auth}", "oldString": OLD, "newString": NEW}}]

    def run(self, command):
        return {"tool": "bash", "args": {"command": command, "description": "Run it"}}

    def prepare(self, machine):
        model = {"name": "M", "tool_call": True, "limit": {"context": 100000, "output": 4000}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "e2e", "models": {"m": model},
                    "options": {"baseURL": machine.model.address + "/v1", "apiKey": "x"}}
        settings = {"$schema": "https://opencode.ai/config.json", "model": "e2e/m", "small_model": "e2e/m", "permission": "allow", "provider": {"e2e": provider}}
        machine.write("home/.config/opencode/opencode.json", json.dumps(settings, indent=2))
        # Before it loads a plugin, the client installs this package from npm, behind a lock that a session which ended meanwhile holds
        # for a minute. What it leaves behind keeps the test from waiting for both.
        machine.write("home/.config/opencode/package.json", json.dumps(PLUGIN_PACKAGE))
        machine.write("home/.config/opencode/package-lock.json", json.dumps({"lockfileVersion": 3, "packages": {"": PLUGIN_PACKAGE}}))
        os.makedirs(machine.path("home/.config/opencode/node_modules"))
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}

    def command(self, machine, prompt):
        return ["run", prompt]


class CopilotCli:
    wire = Completions
    injects_at_failure = True
    work = [{"tool": "edit", "args": {"path": "{auth}", "old_str": OLD, "new_str": NEW}}]

    def run(self, command):
        return {"tool": "bash", "args": {"command": command, "description": "Run it"}}

    def prepare(self, machine):
        os.makedirs(machine.path("home/.copilot"))
        return {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": machine.model.address + "/v1", "COPILOT_MODEL": "gpt-4.1",
                "COPILOT_ALLOW_ALL": "true"}

    def command(self, machine, prompt):
        return ["-p", prompt, "--allow-all-tools"]


HOSTS = {"codex": Codex(), "gemini-cli": GeminiCli(), "opencode": OpenCode(), "copilot-cli": CopilotCli()}


def scenario(name, host, machine):
    machine.write("acme/src/auth.rs", "fn again(token: &str) {\n%s}\n" % OLD)
    environment = host.prepare(machine)
    files = {path: machine.read(path) for path in ("home/.gemini/settings.json", "home/.config/opencode/opencode.json") if os.path.exists(machine.path(path))}
    print(machine.backstory("install", name, "--yes").split("\n")[0])

    def session(prompt, *turns, extra=None):
        machine.model.expect(*turns)
        machine.run([machine.client, *host.command(machine, prompt)], {**environment, **(extra or {})})
        machine.settle()
        return machine.model.request_bodies()

    work = [host.run("cargo test auth 2>/dev/null; " + FAILS), *host.work, host.run("touch fixed; cargo test auth 2>/dev/null; " + FAILS)]
    work = json.loads(json.dumps(work).replace("{auth}", machine.path("acme/src/auth.rs")))
    session("Token refresh fails with 401 after the laptop slept, fix it", *work, FINAL_MESSAGE)
    check(NEW in machine.read("acme/src/auth.rs").decode(), "a session edits the file")
    sessions = json.loads(machine.backstory("sessions", "--json"))["sessions"]
    check(len(sessions) == 1 and sessions[0]["host"] == name and sessions[0]["prompts"] == 1, "the session is recorded", sessions)
    turn = json.loads(machine.backstory("session", sessions[0]["session_id"], "--json"))["turns"][0]
    check(turn["tools"] == len(work), "all tool uses are recorded", turn)
    requests = session("Hello.", "Hi.")
    check(BLOCK in requests[0] and REMEMBERED in requests[0], "the next session starts with the work of the first", requests[0])
    no_start_context = {"BACKSTORY_CONTEXT_ON_START": "false"}
    requests = session("The token refresh answers 401 again when I open the laptop", "I see.", extra=no_start_context)
    check(BLOCK in requests[0] and REMEMBERED in requests[0], "a similar prompt recalls the memory", requests[0])
    requests = session("Draw a nicer icon for the settings page", "Drawn.", extra=no_start_context)
    check(BLOCK not in requests[0], "an unrelated prompt recalls nothing", requests[0])
    if host.injects_at_failure:
        os.remove(machine.path("acme/fixed"))
        requests = session("Look around.", host.run("cargo test auth 2>/dev/null; " + FAILS), "I see.", extra=no_start_context)
        check(BLOCK not in requests[0] and BLOCK in requests[1], "a known failure recalls its solution", requests[1][-6000:])
    machine.backstory("uninstall", "--yes")
    check(all(machine.read(path) == before for path, before in files.items()), "uninstall restores all files")


def main():
    name, client, program = sys.argv[1:4]
    host = HOSTS[name]
    machine = Machine(os.path.abspath(client), os.path.abspath(program), host.wire())
    try:
        scenario(name, host, machine)
    except Exception as error:  # stop the worker on any error
        print("  FAILED  %s\n  (kept: %s)" % (error, machine.root))
        machine.close(keep=True)
        sys.exit(1)
    machine.close()


if __name__ == "__main__":
    main()
