"""Runs two sessions with the Windows build and checks the results."""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

FOLDER = pathlib.Path(sys.argv[1])
HOME = FOLDER / "home"
PROJECT = FOLDER / "acme"


def windows(path):
    return "Z:" + str(path).replace("/", "\\")


def run(*arguments, stdin="", codes=(0,)):
    # Wine passes its standard error on to child processes. A file, so that this script does not wait for the worker to close it.
    with open(FOLDER / "stderr", "w+") as stderr:
        done = subprocess.run(
            ["wine", str(FOLDER / "backstory.exe"), *arguments],
            input=stdin.encode(),
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={
                **os.environ,
                "BACKSTORY_HOME": windows(HOME),
                "BACKSTORY_HTTP_PORT": "0",
            },
            cwd=PROJECT,
            timeout=120,
        )
        stderr.seek(0)
        errors = stderr.read()
    assert done.returncode in codes, (arguments, done.returncode, done.stdout, errors)
    return done.stdout.decode() + errors


def hook(event, session, **fields):
    payload = {"session_id": session, "cwd": windows(PROJECT), **fields}
    return run("hook", event, stdin=json.dumps(payload))


def eventually(description, condition):
    for _ in range(100):
        if condition():
            return
        time.sleep(0.2)
    raise AssertionError(f"timed out: {description}")


def check(condition, text):
    assert condition, text
    print(f"  ok  {text}")


def first_session():
    hook("session-start", "one", source="startup")
    eventually("the hook starts the worker", worker_runs)
    hook("user-prompt-submit", "one", prompt_id="p1", prompt="Add a retry. <private>For Initech.</private>")
    hook(
        "post-tool-use",
        "one",
        prompt_id="p1",
        tool_name="Edit",
        tool_use_id="t1",
        # Editors write the drive in either case.
        tool_input={
            "file_path": "z:" + windows(PROJECT / "src" / "fetch.py")[2:],
            "old_string": "get(url)",
            "new_string": "retry(get, url)",
        },
        tool_response={},
    )
    hook("stop", "one", prompt_id="p1", last_assistant_message="The fetcher retries once on a 503.")
    eventually("the worker distills", lambda: "retries once" in run("search", "retry fetcher", codes=(0, 1)))
    found = json.loads(run("search", "retry fetcher", "--json"))
    check("src/fetch.py" in json.dumps(found), "files are relative to the project, with forward slashes")
    check("#1" in run("context"), "the context of the next session has the memory")
    output = json.loads(hook("session-start", "two", source="startup"))
    check("retries once" in output["hookSpecificOutput"]["additionalContext"], "the start hook injects it")


def worker_runs():
    return json.loads(run("worker", "status", "--json", codes=(0, 1)))["running"]


def viewer():
    link = run("open", "--print").strip().splitlines()[0]
    with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(link) as page:
        check(page.status == 200 and b"acme" in page.read(), "the link opens the viewer")
    port = json.loads((HOME / "worker.json").read_text())["port"]
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/api/sessions")
        raise AssertionError("a request without a token was answered")
    except urllib.error.HTTPError as error:
        check(error.code == 401, "a request without the token is rejected")


def tools():
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "retry fetcher", "project": "acme"}}},
    ]
    answer = run("mcp", stdin="".join(json.dumps(line) + "\n" for line in lines))
    check("retries once" in answer, "MCP works over standard input and output")


def installed():
    users = (FOLDER / "wine" / "drive_c" / "users").iterdir()
    user = next(folder for folder in users if folder.name != "Public")
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "opus"}\n')
    run("install", "claude-code", "--yes")
    hooks = json.loads(settings.read_text())["hooks"]
    program = hooks["Stop"][0]["hooks"][0]["command"]
    check(program.endswith("/backstory.exe") and "\\" not in program, f"hooks call {program}")
    check("✗" not in run("doctor"), "doctor finds no problems")
    run("uninstall", "claude-code", "--yes")
    check(settings.read_text() == '{"model": "opus"}\n', "uninstall restores the file")


def repaired():
    run("backup")
    check(list((HOME / "backups").glob("*.db")), "backups are taken while the worker runs")
    run("worker", "start")
    copy = next((HOME / "backups").glob("backstory-*.db"))
    run("restore", windows(copy), "--yes")
    check("retries once" in run("search", "retry fetcher"), "a backup can be restored while the worker runs")
    run("worker", "stop")
    check(not worker_runs(), "`worker stop` stops the worker")
    database = HOME / "backstory.db"
    for sidecar in HOME.glob("backstory.db-*"):
        sidecar.unlink()
    database.write_bytes(b"\xff" * database.stat().st_size)
    check("retries once" in run("search", "retry fetcher"), "a damaged database is rebuilt from the backup")
    run("forget", "--session", "one", "--yes")
    # Backups taken by hand and the damaged file stay.
    kept = ("damaged", "backstory-")
    files = [path for path in HOME.rglob("*") if path.is_file() and not path.name.startswith(kept)]
    words = [path.name for path in files if b"retries once" in path.read_bytes()]
    check(words == [], "forgotten text is in no file")


PROJECT.mkdir()
(PROJECT / ".git").mkdir()
(PROJECT / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
print(run("--version").splitlines()[1])
check("Initech" not in run("demo"), "the demo runs")
first_session()
viewer()
tools()
installed()
repaired()
private = [path.name for path in HOME.rglob("*") if path.is_file() and b"Initech" in path.read_bytes()]
check(private == [], "private text is in no file")
if worker_runs():
    run("worker", "stop")
