"""Runs a session with `backstory mcp` through the official client, and checks the answers."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

PROGRAM = sys.argv[1]
TOOLS = {"search", "timeline", "get_observations", "remember", "file_history", "fix", "correct"}


def environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "BACKSTORY_HOME": str(home / ".backstory"),
        "BACKSTORY_NO_WORKER": "1",
        "BACKSTORY_HTTP_PORT": "0",
    }


def record_a_session(home: Path, project: Path) -> None:
    """Reports a short session through the real hooks."""
    edited = str(project / "parser.rs")
    events = [
        ("session-start", {"source": "startup"}),
        ("user-prompt-submit", {"prompt": "Make the parser accept tabs"}),
        (
            "post-tool-use",
            {
                "tool_name": "Edit",
                "tool_use_id": "t1",
                "tool_input": {"file_path": edited, "old_string": "' '", "new_string": "'\\t'"},
                "tool_response": {"filePath": edited},
            },
        ),
        ("stop", {"last_assistant_message": "The parser accepts tabs now: `is_blank` treats them like spaces."}),
    ]
    for name, fields in events:
        payload = {"session_id": "s1", "cwd": str(project), **fields}
        subprocess.run(
            [PROGRAM, "hook", name],
            input=json.dumps(payload).encode(),
            env=environment(home),
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=10,
        )
    subprocess.run([PROGRAM, "worker", "run", "--once"], env=environment(home), check=True, stdout=subprocess.DEVNULL)


async def call(session: ClientSession, tool: str, **arguments: object) -> tuple[bool, str]:
    result = await session.call_tool(tool, arguments)
    return bool(result.is_error), "\n".join(part.text for part in result.content)


async def talk(session: ClientSession, project: str | None) -> None:
    """Runs the same calls over any transport. `project` is passed where the server cannot derive it."""
    where = {"project": project} if project else {}
    answer = await session.initialize()
    assert answer.server_info.name == "backstory", answer
    assert answer.instructions, answer
    listed = await session.list_tools()
    assert {tool.name for tool in listed.tools} == TOOLS, listed
    tools = [tool.model_dump(exclude_none=True, by_alias=True, mode="json") for tool in listed.tools]
    size = len(json.dumps(tools, separators=(",", ":")))
    assert size / 4 <= 800, f"the definitions take {size / 4} tokens"

    failed, found = await call(session, "search", query="parser tabs", **where)
    assert not failed and "#1 " in found, found
    failed, full = await call(session, "get_observations", ids=["1"])
    assert not failed and "parser.rs" in full and "session s1" in full, full
    failed, around = await call(session, "timeline", id="1")
    assert not failed and "▶" in around and "Make the parser accept tabs" in around, around
    failed, history = await call(session, "file_history", path="parser.rs", **where)
    assert not failed and "#1 " in history, history
    failed, saved = await call(session, "remember", text=f"Tabs count as blanks ({project})", **where)
    assert not failed and "Saved as N" in saved, saved
    failed, found = await call(session, "search", query="tabs count as blanks", **where)
    assert not failed and "#N" in found, found

    # Invalid arguments are reported to the model, with a hint.
    failed, error = await call(session, "get_observations", ids=["nonsense"])
    assert failed and "123" in error, error
    failed, error = await call(session, "search", query="x", type="bug", **where)
    assert failed and "bugfix" in error, error
    failed, error = await call(session, "no_such_tool")
    assert failed and "file_history" in error, error
    for limit in (100, 300):
        _, text = await call(session, "get_observations", ids=["1", "S1", "P1"], max_tokens=limit)
        assert len(text.encode()) / 4 <= limit, (limit, text)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder, "home"), Path(folder, "acme")
        (project / ".git").mkdir(parents=True)
        (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        home.mkdir()
        record_a_session(home, project)

        server = StdioServerParameters(command=PROGRAM, args=["mcp"], env=environment(home), cwd=str(project))
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await talk(session, None)
        print("ok: standard input and output, no worker")

        worker = subprocess.Popen([PROGRAM, "worker", "run"], env=environment(home), stdout=subprocess.DEVNULL)
        try:
            facts = home / ".backstory" / "worker.json"
            for _ in range(200):
                if facts.exists():
                    break
                time.sleep(0.05)
            port = json.loads(facts.read_text())["port"]
            token = (home / ".backstory" / "token").read_text().strip()
            client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"})
            async with streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=client) as streams:
                async with ClientSession(*streams[:2]) as session:
                    await talk(session, str(project))
            print("ok: HTTP, with the worker")
        finally:
            worker.terminate()
            worker.wait(10)


asyncio.run(main())
