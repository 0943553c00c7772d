"""Scripted models for hosts other than Claude Code, one per wire protocol."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Wire:
    """Answers from a script and records requests. A turn is a text, or {"tool": name, "args": {…}}."""

    def __init__(self):
        self.script, self.requests = [], []
        handler = type("Handler", (Handler,), {"wire": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self):
        return "http://127.0.0.1:%d" % self.server.server_port

    def expect(self, *turns):
        self.script, self.requests = list(turns), []

    def request_bodies(self):
        return [json.dumps(body) for body in self.requests]

    def turn(self, body):
        # Requests without tools are internal to the client, such as titles.
        if not body.get("tools"):
            return "Done."
        self.requests.append(body)
        return self.script.pop(0) if self.script else "Done."


class Responses(Wire):
    """OpenAI's Responses API: Codex."""

    def stream(self, _path, body):
        turn = self.turn(body)
        if isinstance(turn, str):
            item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": turn}]}
        elif "input" in turn:
            item = {"type": "custom_tool_call", "name": turn["tool"], "call_id": "c%d" % len(self.requests), "input": turn["input"], "status": "completed"}
        else:
            item = {"type": "function_call", "name": turn["tool"], "call_id": "c%d" % len(self.requests), "arguments": json.dumps(turn["args"])}
        usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 5, "output_tokens_details": None, "total_tokens": 15}
        events = [
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "output_index": 0, "item": {"id": "i", **item}},
            {"type": "response.completed", "response": {"id": "r", "usage": usage}},
        ]
        return "".join("event: %s\ndata: %s\n\n" % (event["type"], json.dumps(event)) for event in events)


class Completions(Wire):
    """OpenAI's Chat Completions API: OpenCode, Copilot CLI."""

    def stream(self, _path, body):
        turn = self.turn(body)

        def chunk(delta, end=None):
            choice = {"index": 0, "delta": delta, "finish_reason": end}
            return "data: %s\n\n" % json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})

        if isinstance(turn, str):
            return chunk({"role": "assistant", "content": turn}) + chunk({}, "stop") + "data: [DONE]\n\n"
        call = {"index": 0, "id": "call_%d" % len(self.requests), "type": "function",
                "function": {"name": turn["tool"], "arguments": json.dumps(turn["args"])}}
        return chunk({"role": "assistant", "tool_calls": [call]}) + chunk({}, "tool_calls") + "data: [DONE]\n\n"


class Gemini(Wire):
    """Google's generateContent API: Gemini CLI."""

    def stream(self, path, body):
        if "countTokens" in path:
            return json.dumps({"totalTokens": 10})
        turn = self.turn(body)
        part = {"text": turn} if isinstance(turn, str) else {"functionCall": {"name": turn["tool"], "args": turn["args"]}}
        answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                  "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}}
        return "data: %s\r\n\r\n" % json.dumps(answer) if "stream" in path else json.dumps(answer)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wire = None

    def log_message(self, *_):
        pass

    def body(self):
        length = self.headers.get("Content-Length")
        if length is not None:
            return self.rfile.read(int(length))
        content = b""
        while True:
            size = int(self.rfile.readline().strip() or b"0", 16)
            content += self.rfile.read(size)
            self.rfile.readline()
            if size == 0:
                return content

    def do_GET(self):
        self.reply(b'{"data": [], "models": []}', "application/json")

    def do_POST(self):
        answer = self.wire.stream(self.path, json.loads(self.body() or b"{}"))
        self.reply(answer.encode(), "application/json" if answer.startswith("{") else "text/event-stream")

    def reply(self, content, kind):
        try:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client disconnected
