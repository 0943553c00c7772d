#!/usr/bin/env python3
"""Writes the sessions of Cursor as SQL, in the format that its users describe. They were made by this script, not recorded.

    testdata/cursor/sessions/make.py

state.sql is the database of the editor, window.sql that of one of its windows, chat.sql one chat of the command-line agent.
"""

import hashlib
import json
import os

FOLDER = os.path.dirname(os.path.abspath(__file__))
COMPOSER, CHAT = "5b0c1d2e-0000-4000-8000-00000000c0de", "5b0c1d2e-0000-4000-8000-0000000000c1"
KEY_VALUE = "create table %s (key text unique on conflict replace, value blob);\n"


def quoted(value):
    return "'%s'" % value.replace("'", "''")


def insert(table, key, value):
    return "insert into %s values (%s, %s);\n" % (table, quoted(key), quoted(value))


def write(name, text):
    with open(os.path.join(FOLDER, name), "w") as file:
        file.write(text)


def bubble(number, kind, text, **fields):
    return {"_v": 3, "type": kind, "bubbleId": "b%d" % number, "text": text, "createdAt": "2026-11-16T21:34:%02d.000Z" % number, **fields}


def tool(number, name, arguments, params, result, status="completed", **fields):
    call = {"toolCallId": "call_%d" % number, "name": name, "status": status, "rawArgs": json.dumps(arguments), "params": json.dumps(params),
            "result": json.dumps(result), **fields}
    return bubble(number, 2, "", capabilityType=15, toolFormerData=call)


def editor():
    error = "RefreshError: clock skew of 312 s is not allowed (src/auth.rs:2)"
    test = {"command": "cargo test auth", "is_background": False}
    bubbles = [
        bubble(1, 1, "Token refresh fails with 401 after the laptop slept, fix it", workspaceUris=["file:///home/dev/acme"]),
        bubble(2, 2, "", thinking={"text": "Look at the test first."}),
        tool(3, "run_terminal_command_v2", test, {"command": "cargo test auth"}, {"output": error, "rejected": False, "exitCodeV2": 1}),
        tool(4, "read_file_v2", {"target_file": "/home/dev/acme/src/auth.rs"}, {"targetFile": "/home/dev/acme/src/auth.rs"},
             {"contents": "fn again(token: &str) {\n    refresh(token)\n}\n", "totalLinesInFile": 3}),
        tool(5, "search_replace", {"file_path": "/home/dev/acme/src/auth.rs", "old_string": "    refresh(token)\n",
                                   "new_string": "    retry_once(|| refresh(token))\n"}, {"relativeWorkspacePath": "/home/dev/acme/src/auth.rs"}, {}),
        tool(6, "edit_file_v2", {}, {"relativeWorkspacePath": "/home/dev/acme/src/clock.rs"},
             {"diff": {"chunks": [{"diffString": "-fn skew() {}\n+fn skew() -> u64 { 0 }", "linesAdded": 1, "linesRemoved": 1}]}}),
        tool(7, "run_terminal_command_v2", {}, {"command": "rm -rf target"}, {"rejected": True}),
        tool(8, "read_file_v2", {"target_file": "/home/dev/acme/src/missing.rs"}, {}, None, status="error",
             error=json.dumps({"modelVisibleErrorMessage": "File not found: src/missing.rs"})),
        tool(9, "run_terminal_command_v2", test, {"command": "cargo test auth"}, {"output": "test result: ok. 3 passed", "exitCodeV2": 0}),
        bubble(10, 2, "The token refresh retries once on a 401 now, because the clock is wrong for a moment after the laptop slept."),
    ]
    composer = {"_v": 10, "composerId": COMPOSER, "name": "Token refresh", "createdAt": 1794864840000, "lastUpdatedAt": 1794864900000,
                "status": "completed", "createdOnBranch": "main",
                "fullConversationHeadersOnly": [{"bubbleId": bubble["bubbleId"], "type": bubble["type"]} for bubble in bubbles]}
    draft = {"_v": 10, "composerId": "draft", "createdAt": 1794864840000, "isDraft": True, "fullConversationHeadersOnly": []}
    headers = {"allComposers": [{"composerId": COMPOSER, "workspaceIdentifier": {"id": "w1", "uri": {"fsPath": "/home/dev/acme"}}}]}
    text = KEY_VALUE % "ItemTable" + KEY_VALUE % "cursorDiskKV"
    text += insert("ItemTable", "composer.composerHeaders", json.dumps(headers))
    text += insert("cursorDiskKV", "composerData:" + COMPOSER, json.dumps(composer)) + insert("cursorDiskKV", "composerData:draft", json.dumps(draft))
    # In the order of random ids, not of the conversation.
    for one in sorted(bubbles, key=lambda one: hashlib.md5(one["bubbleId"].encode()).digest()):
        text += insert("cursorDiskKV", "bubbleId:%s:%s" % (COMPOSER, one["bubbleId"]), json.dumps(one))
    write("state.sql", text)
    listed = {"allComposers": [{"composerId": COMPOSER, "lastUpdatedAt": 1794864900000}]}
    write("window.sql", KEY_VALUE % "ItemTable" + insert("ItemTable", "composer.composerData", json.dumps(listed)))


def chat():
    options = {"cursor": {"requestId": "r1"}}
    messages = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": [{"type": "text", "text": "<user_info>\nOS Version: linux\n\nWorkspace Path: /home/dev/acme\n</user_info>"}]},
        {"role": "user", "content": [{"type": "text", "text": "<user_query>\nWhich file holds the retry of the token refresh?\n</user_query>"}],
         "providerOptions": options},
        {"role": "assistant", "id": "1", "content": [
            {"type": "reasoning", "text": "Search it."},
            {"type": "tool-call", "toolCallId": "t1", "toolName": "Shell", "args": {"command": "grep -rn retry_once src", "description": "Search"}}]},
        {"role": "tool", "id": "t1", "content": [
            {"type": "tool-result", "toolName": "Shell", "toolCallId": "t1", "result": "Exit code: 0\n\nCommand output:\nsrc/auth.rs:2: retry_once"}]},
        {"role": "assistant", "id": "2", "content": [{"type": "text", "text": "The retry is in src/auth.rs, in the function again."}]},
    ]
    blobs = [json.dumps(message).encode() for message in messages]
    root = b""
    for blob in blobs:
        root += b"\x0a\x20" + hashlib.sha256(blob).digest()
    folder = b"file:///home/dev/acme"
    root += b"\x28\x01" + b"\x4a" + bytes([len(folder)]) + folder
    meta = {"agentId": CHAT, "latestRootBlobId": hashlib.sha256(root).hexdigest(), "name": "Retry", "mode": "default",
            "createdAt": 1794864960000, "lastUsedModel": "claude-sonnet-5"}
    text = "create table blobs (id text primary key, data blob);\ncreate table meta (key text primary key, value text);\n"
    for blob in blobs + [root]:
        text += "insert into blobs values ('%s', x'%s');\n" % (hashlib.sha256(blob).hexdigest(), blob.hex())
    write("chat.sql", text + insert("meta", "0", json.dumps(meta).encode().hex()))


editor()
chat()
