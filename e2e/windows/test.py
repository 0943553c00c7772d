"""Tells the Windows build the story of two sessions and looks at what comes of it."""

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


def run(*arguments, given="", codes=(0,)):
    # Wine hands its own standard error on to whatever is started: a file, so that nobody waits for a worker to close it.
    with open(FOLDER / "stderr", "w+") as stderr:
        done = subprocess.run(
            ["wine", str(FOLDER / "backstory.exe"), *arguments],
            input=given.encode(),
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
        said = stderr.read()
    assert done.returncode in codes, (arguments, done.returncode, done.stdout, said)
    return done.stdout.decode() + said


def hook(event, session, **fields):
    payload = {"session_id": session, "cwd": windows(PROJECT), **fields}
    return run("hook", event, given=json.dumps(payload))


def eventually(what, holds):
    for _ in range(100):
        if holds():
            return
        time.sleep(0.2)
    raise AssertionError(f"never: {what}")


def said(condition, text):
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
    hook("stop", "one", prompt_id="p1", last_assistant_message="The fetcher retries once when it is told 503.")
    eventually("the worker distils", lambda: "retries once" in run("search", "retry fetcher", codes=(0, 1)))
    found = json.loads(run("search", "retry fetcher", "--json"))
    said("src/fetch.py" in json.dumps(found), "files are named below the project, with forward slashes")
    said("#1" in run("context"), "the next session is told")
    told = json.loads(hook("session-start", "two", source="startup"))
    said("retries once" in told["hookSpecificOutput"]["additionalContext"], "a hook tells it")


def worker_runs():
    return json.loads(run("worker", "status", "--json", codes=(0, 1)))["running"]


def viewer():
    link = run("open", "--print").strip().splitlines()[0]
    with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(link) as page:
        said(page.status == 200 and b"acme" in page.read(), "the link opens the viewer")
    port = json.loads((HOME / "worker.json").read_text())["port"]
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/api/sessions")
        raise AssertionError("a request without a token was answered")
    except urllib.error.HTTPError as error:
        said(error.code == 401, "without the token nobody is let in")


def tools():
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "story", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "retry fetcher", "project": "acme"}}},
    ]
    answered = run("mcp", given="".join(json.dumps(line) + "\n" for line in lines))
    said("retries once" in answered, "MCP answers over standard input and output")


def installed():
    users = (FOLDER / "wine" / "drive_c" / "users").iterdir()
    person = next(folder for folder in users if folder.name != "Public")
    settings = person / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "opus"}\n')
    run("install", "claude-code", "--yes")
    hooks = json.loads(settings.read_text())["hooks"]
    program = hooks["Stop"][0]["hooks"][0]["command"]
    said(program.endswith("/backstory.exe") and "\\" not in program, f"hooks call {program}")
    said("✗" not in run("doctor"), "doctor finds nothing broken")
    run("uninstall", "claude-code", "--yes")
    said(settings.read_text() == '{"model": "opus"}\n', "uninstall gives the file back as it was")


def repaired():
    run("backup")
    said(list((HOME / "backups").glob("*.db")), "backups are taken while the worker runs")
    run("worker", "start")
    copy = next((HOME / "backups").glob("backstory-*.db"))
    run("restore", windows(copy), "--yes")
    said("retries once" in run("search", "retry fetcher"), "a backup is restored while the worker runs")
    said("has ended" in run("worker", "stop"), "the worker ends when it is asked")
    database = HOME / "backstory.db"
    for log in HOME.glob("backstory.db-*"):
        log.unlink()
    database.write_bytes(b"\xff" * database.stat().st_size)
    said("retries once" in run("search", "retry fetcher"), "a damaged database is rebuilt from the backup")
    run("forget", "--session", "one", "--yes")
    # Copies that a person made, and the damaged file, are theirs.
    kept = ("damaged", "backstory-")
    files = [path for path in HOME.rglob("*") if path.is_file() and not path.name.startswith(kept)]
    words = [path.name for path in files if b"retries once" in path.read_bytes()]
    said(words == [], "what is forgotten is in no file")


PROJECT.mkdir()
(PROJECT / ".git").mkdir()
(PROJECT / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
print(run("--version").splitlines()[1])
said("Initech" not in run("demo"), "the demo runs")
first_session()
viewer()
tools()
installed()
repaired()
private = [path.name for path in HOME.rglob("*") if path.is_file() and b"Initech" in path.read_bytes()]
said(private == [], "what is private is in no file")
if worker_runs():
    run("worker", "stop")
