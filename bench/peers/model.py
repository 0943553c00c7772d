"""A model on loopback that understands nothing and counts what it is sent.

It speaks OpenAI's and Anthropic's protocols. Every answer has one observation, and a summary where one was asked for, so
whoever asks gets a memory for every question: as good as a model can be to a memory that asks often. A token is four
characters of the messages' text, for everybody.
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
    """Listens from the start; `calls` and `tokens` say what came since `reset`."""

    def __init__(self):
        self.lock, self.calls, self.tokens, self.number = threading.Lock(), 0, 0, 0
        self.server = Server(("127.0.0.1", 0), handler_of(self))
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reset(self):
        """Counts from zero again."""
        with self.lock:
            self.calls = self.tokens = 0

    def answer(self, body):
        """Counts a request; returns the answer's text and the tokens of both."""
        texts = [text_of(body.get("system"))] + [text_of(message.get("content")) for message in body.get("messages", [])]
        with self.lock:
            self.number += 1
            text = OBSERVATION.format(number=self.number)
            if "<summary>" in texts[-1] or "<summary>" in texts[0]:
                text += SUMMARY.format(number=self.number)
            sent, said = sum(map(len, texts)) // 4, len(text) // 4
            self.calls, self.tokens = self.calls + 1, self.tokens + sent + said
        return text, sent, said


class Server(http.server.ThreadingHTTPServer):
    """Says nothing about connections that end because their other end was killed."""

    def handle_error(self, *_):
        pass


def text_of(content):
    """Returns the text of a message, whether it is a string or blocks."""
    if isinstance(content, list):
        return "".join(block.get("text", "") for block in content)
    return content or ""


def handler_of(model):
    """Returns what answers the requests to a model."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text, sent, said = model.answer(body)
            if self.path.endswith("/messages"):
                answer = {"id": "1", "type": "message", "role": "assistant", "model": "counting", "stop_reason": "end_turn",
                          "content": [{"type": "text", "text": text}], "usage": {"input_tokens": sent, "output_tokens": said}}
            else:
                choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                answer = {"id": "1", "object": "chat.completion", "model": "counting", "choices": [choice],
                          "usage": {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}}
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
