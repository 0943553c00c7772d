"""remem (crate remem-ai), built with cargo without its ONNX feature."""
import os
import shutil
import signal
import subprocess
import urllib.error

from contender import Contender, alive, answers, http, query_string, wait_until

VERSION = "0.6.104"


class Remem(Contender):
    """remem with its worker; its API server is used for search."""

    name = "remem"
    notes = (
        f"`cargo install remem-ai --version {VERSION} --locked --no-default-features`, then `remem install --target claude`. The omitted feature"
        " (`local-onnx`) downloads a runtime at build time and needs an embedding model that the user downloads; a fresh install searches by feature"
        " hashing, as here.",
        "The hook is the PostToolUse command of the settings.json that this wrote, run by `sh -c`. It writes to an encrypted database itself and needs no daemon.",
        "The measured and killed daemon is `remem worker`; without it, a worker runs after each Stop. Its model is its HTTP profile with the counting model"
        " (default: the user's `claude`). Resident memory excludes `remem api`, which serves its search.",
        "Tokens are not measured: it makes three kinds of requests, each with its own answer format tied to event ids, and retries invalid answers."
        " The counting model cannot produce these, so retries would be counted.",
    )
    search_note = "lexical and feature hashing, its default"
    port = 39783

    def __init__(self, folder, model):
        super().__init__(folder, model)
        self.program = self.programs / "bin/remem"
        self.data = self.home / ".remem"
        self.worker = self.api = None
        self.before, self.documents = {}, {}

    def env(self):
        env = super().env()
        return env | {"PATH": f"{self.programs}/bin:{env['PATH']}", "ANTHROPIC_API_KEY": "none"}

    def install(self):
        if not self.program.exists():
            build = dict(os.environ, CARGO_TARGET_DIR=str(self.folder / "build"))
            self.run("cargo", "install", "remem-ai", "--version", VERSION, "--locked", "--no-default-features", "--root", self.programs, env=build, timeout=7200)
        shutil.rmtree(self.data, ignore_errors=True)
        (self.home / ".claude").mkdir(exist_ok=True)
        self.run(self.program, "install", "--target", "claude")
        settings = (self.data / "config.toml").read_text()
        head, http_profile = settings.split("[memory_ai.profiles.anthropic_http]", 1)
        lines = http_profile.splitlines()
        lines = [f'base_url = "{self.model.address}"' if line.startswith("base_url") else line for line in lines]
        lines = ['memory_profile = "anthropic_http"' if line.startswith("memory_profile") else line for line in lines]
        (self.data / "config.toml").write_text(head + "[memory_ai.profiles.anthropic_http]" + "\n".join(lines) + "\n")
        self.version = self.run(self.program, "--version").split()[1]

    def installed(self):
        return [self.programs / "bin"]

    def hook(self, event):
        commands = {"UserPromptSubmit": "session-init", "PostToolUse": "observe", "Stop": "summarize"}
        return ["sh", "-c", f"{self.programs}/bin/remem-hook {commands[event]} --host claude-code"]

    def report(self, event, payload):
        result = super().report(event, payload)
        if event == "UserPromptSubmit":
            self.before[payload["session_id"]] = self.stats()["captured_events"]
        return result

    def background(self, *words):
        return subprocess.Popen([self.program, *words], env=self.env(), cwd=self.project, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self):
        if not self.daemons():
            self.worker = self.background("worker")
        if self.api is None:
            self.api = self.background("api", "--port", str(self.port))
        if not wait_until(lambda: answers(self.address("health"), self.token()), 30):
            raise RuntimeError("remem: its API does not respond")

    def daemons(self):
        return [self.worker.pid] if self.worker and self.worker.poll() is None and alive(self.worker.pid) else []

    def end(self):
        super().end()
        if self.api:
            os.kill(self.api.pid, signal.SIGKILL)

    def address(self, path):
        return f"http://127.0.0.1:{self.port}/api/v1/{path}"

    def token(self):
        return (self.data / ".api-token").read_text().strip()

    def stats(self):
        return http("GET", self.address("stats"), token=self.token())

    def count(self, session):
        return self.stats()["captured_events"] - self.before[session]

    def load(self, documents):
        refused = set()
        for one in documents:
            try:
                saved = http("POST", self.address("memories"), {"text": one["text"], "project": one["project"]}, token=self.token())
                self.documents[saved["id"]] = one["id"]
            except urllib.error.HTTPError:
                # It rejects texts that look like secrets or hidden instructions.
                refused.add(one["id"])
        return refused

    def search(self, project, query, limit):
        found = http("GET", self.address("search?" + query_string(query=query, project=project, limit=limit)), token=self.token())
        return [self.documents[one["id"]] for one in found["data"] if one["id"] in self.documents]
