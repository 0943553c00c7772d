"""backstory itself: one static binary, passed by path."""
import json
import shutil
import sqlite3

from contender import Contender, alive, answers, http, query_string, wait_until


class Backstory(Contender):
    """The program of this repository."""

    name = "backstory"
    notes = (
        "The static binary of this repository. The hook is `backstory hook post-tool-use`, run without a shell, as `backstory install` registers it.",
        "All settings at their defaults: the built-in rules distill. Only for the token count, `distill.provider` is `openai` with the counting model.",
    )
    search_note = "lexical and semantic"
    port = 39781

    def __init__(self, folder, model, binary):
        super().__init__(folder, model)
        self.binary, self.program = binary, self.programs / "backstory"
        self.data = self.home / ".backstory"

    def install(self):
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copy2(self.binary, self.program)
        self.version = self.run(self.program, "--version").split()[1]
        self.run(self.program, "config", "set", "http.port", str(self.port))

    def installed(self):
        return [self.program]

    def hook(self, event):
        names = {"UserPromptSubmit": "user-prompt-submit", "PostToolUse": "post-tool-use", "Stop": "stop"}
        return [str(self.program), "hook", names[event]]

    def worker(self):
        try:
            return json.loads((self.data / "worker.json").read_text())
        except (OSError, ValueError):
            return {}

    def start(self):
        self.run(self.program, "worker", "start")
        if not wait_until(lambda: self.worker().get("port") and answers(f"http://127.0.0.1:{self.worker()['port']}/health"), 90):
            raise RuntimeError(f"backstory: the worker does not respond: {self.worker()}, alive: {self.daemons()}")

    def daemons(self):
        pid = self.worker().get("pid")
        return [pid] if pid and alive(pid) else []

    def query(self, statement, *values):
        with sqlite3.connect(f"file:{self.data}/backstory.db?mode=ro", uri=True) as database:
            return database.execute(statement, values).fetchone()[0]

    def count(self, session):
        return self.query(
            "select count(*) from event join session on session.id = event.session_db_id"
            " where session.session_id = ?1 and event.kind = 'post-tool-use'", session)

    def memories(self, session):
        return sum(self.query(
            f"select count(*) from {table} join session on session.id = {table}.session_db_id where session.session_id = ?1", session)
            for table in ("observation", "summary"))

    def with_model(self):
        for key, value in (("provider", "openai"), ("model", "counting"), ("base_url", f"{self.model.address}/v1")):
            self.run(self.program, "config", "set", f"distill.{key}", value)
        self.run(self.program, "worker", "restart")
        return True

    def load(self, documents):
        lines = [json.dumps({"kind": "passage", "project": one["project"], "text": one["text"], "external_id": one["id"]}) for one in documents]
        self.run(self.program, "import", "jsonl", "-", text="\n".join(lines) + "\n")
        self.run(self.program, "index", "--wait")
        return set()

    def search(self, project, query, limit):
        url = f"http://127.0.0.1:{self.worker()['port']}/api/search?"
        token = (self.data / "token").read_text().strip()
        found = http("GET", url + query_string(query=query, project=project, limit=limit), token=token)
        return [one["external_id"] for one in found["results"] if one.get("external_id")]
