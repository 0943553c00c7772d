"""A fake model on loopback that counts calls and tokens.

It implements the protocols of OpenAI and Anthropic. Every answer contains one observation, and a summary if requested, which is
the best case for a tool with many requests. A token is four characters of message text, for all tools.
"""
import http.server
import json
import threading

OBSERVATION = """<observation><type>change</type><title>Step {number} of the work is done</title>
<subtitle>The program was run and its output checked</subtitle>
<facts><fact>Run {number} printed what was expected of it</fact></facts>
<narrative>Run number {number} of the program printed the lines that were expected, and nothing else changed.</narrative>
<concepts><concept>what-changed</concept></concepts><files_read></files_read><files_modified></files_modified></observation>"""
SUMMARY = """<summary><request>Run the program</request><investigated>Its output</investigated><learned>Run {number} is fine</learned>
<completed>All runs</completed><next_steps>None</next_steps><notes></notes></summary>"""


class CountingModel:
    """Serves from construction on; `calls` and `tokens` count since `reset`."""

    def __init__(self):
        self.lock, self.calls, self.tokens, self.number = threading.Lock(), 0, 0, 0
        self.server = Server(("127.0.0.1", 0), handler_of(self))
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reset(self):
        """Resets the counters."""
        with self.lock:
            self.calls = self.tokens = 0

    def answer(self, body):
        """Counts a request; returns the text of the answer and the tokens of both."""
        texts = [text_of(body.get("system"))] + [text_of(message.get("content")) for message in body.get("messages", [])]
        with self.lock:
            self.number += 1
            text = OBSERVATION.format(number=self.number)
            if "<summary>" in texts[-1] or "<summary>" in texts[0]:
                text += SUMMARY.format(number=self.number)
            sent, received = sum(map(len, texts)) // 4, len(text) // 4
            self.calls, self.tokens = self.calls + 1, self.tokens + sent + received
        return text, sent, received


class Server(http.server.ThreadingHTTPServer):
    """Ignores errors of connections whose client was killed."""

    def handle_error(self, *_):
        pass


def text_of(content):
    """Returns the text of a message, given as a string or as blocks."""
    if isinstance(content, list):
        return "".join(block.get("text", "") for block in content)
    return content or ""


def handler_of(model):
    """Returns the request handler of a model."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text, sent, received = model.answer(body)
            if self.path.endswith("/messages"):
                answer = {"id": "1", "type": "message", "role": "assistant", "model": "counting", "stop_reason": "end_turn",
                          "content": [{"type": "text", "text": text}], "usage": {"input_tokens": sent, "output_tokens": received}}
            else:
                choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                answer = {"id": "1", "object": "chat.completion", "model": "counting", "choices": [choice],
                          "usage": {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}}
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
