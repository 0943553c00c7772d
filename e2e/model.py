"""A scripted model: the parts of the Messages API that Claude Code needs, on loopback."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SUMMARY = "<summary>The conversation so far, in short.</summary>"


class Model:
    """Answers requests from a script and records them."""

    def __init__(self):
        self.requests = []  # bodies, in order
        self.script = []  # next answers: {"text": …, "tools": [{"name": …, "input": {…}}]}, or a function of the request's text
        self.lock = threading.Lock()
        handler = type("Handler", (Handler,), {"model": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self):
        return "http://127.0.0.1:%d" % self.server.server_port

    def expect(self, *turns):
        """Sets the next answers and clears the recorded requests."""
        with self.lock:
            self.script = [{"text": turn} if isinstance(turn, str) else turn for turn in turns]
            self.requests = []

    def answer(self, body):
        with self.lock:
            self.requests.append(body)
            if "detailed summary" in last_message(body):
                return {"text": SUMMARY}
            # Requests without tools are internal to the client, such as titles.
            if body.get("tools") and self.script:
                turn = self.script.pop(0)
                return {"text": turn(request_text(body))} if callable(turn) else turn
            return {"text": "Done."}

    def conversations(self):
        """Returns the texts of all requests of the conversation itself."""
        with self.lock:
            return [request_text(body) for body in self.requests if body.get("tools") and "detailed summary" not in last_message(body)]


def texts(content):
    if isinstance(content, str):
        return [content]
    found = []
    for block in content or []:
        if block.get("type") == "text":
            found.append(block["text"])
        elif block.get("type") == "tool_result":
            found += texts(block.get("content"))
    return found


def request_text(body):
    """Returns the whole text of a request: system prompt and all messages."""
    parts = texts(body.get("system"))
    for message in body.get("messages", []):
        parts += texts(message.get("content"))
    return "\n".join(parts)


def last_message(body):
    messages = body.get("messages") or [{}]
    return "\n".join(texts(messages[-1].get("content")))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.reply(200, b"")

    def do_GET(self):
        self.reply(404, b"{}")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.split("?")[0]
        if path == "/v1/messages/count_tokens":
            return self.reply(200, json.dumps({"input_tokens": 1000}).encode())
        if path != "/v1/messages":
            return self.reply(404, b"{}")
        message = as_message(self.model.answer(body), body)
        if not body.get("stream"):
            return self.reply(200, json.dumps(message).encode())
        self.reply(200, as_stream(message).encode(), "text/event-stream")

    def reply(self, status, content, kind="application/json"):
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client disconnected


def as_message(turn, body):
    content = []
    if turn.get("text"):
        content.append({"type": "text", "text": turn["text"]})
    for number, tool in enumerate(turn.get("tools", [])):
        name = "toolu_%08d%02d" % (len(json.dumps(body)) % 10**8, number)
        content.append({"type": "tool_use", "id": name, "name": tool["name"], "input": tool["input"]})
    return {
        "id": "msg_e2e", "type": "message", "role": "assistant", "model": body.get("model", "e2e"), "content": content,
        "stop_reason": "tool_use" if turn.get("tools") else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1000, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }


def as_stream(message):
    def event(kind, **fields):
        return "event: %s\ndata: %s\n\n" % (kind, json.dumps({"type": kind, **fields}))

    start = {**message, "content": [], "stop_reason": None}
    out = event("message_start", message=start)
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        out += event("content_block_start", index=index, content_block=empty)
        out += event("content_block_delta", index=index, delta=delta)
        out += event("content_block_stop", index=index)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return out + event("message_delta", delta=ending, usage=message["usage"]) + event("message_stop")
