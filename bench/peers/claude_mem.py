"""claude-mem from npm, with bun (npm) and uv (PyPI), which its installer requires."""
import json
import sqlite3
import sys

from contender import Contender, alive, answers, wait_until, with_children

VERSION = "13.25.3"
# Its dependencies are version ranges whose newest matches conflict today. This is the day after its release.
RESOLVED_AS_OF = "2026-09-24"


class ClaudeMem(Contender):
    """claude-mem with its local worker."""

    name = "claude-mem"
    notes = (
        f"`npm install claude-mem@{VERSION} bun`, dependencies resolved as of {RESOLVED_AS_OF} (`npm_config_before`: today's newest versions"
        " conflict), `pip install uv`, then `claude-mem install --ide claude-code --provider claude --no-auto-start --runtime worker`.",
        "The hook is the PostToolUse command of the hooks.json that this wrote. It is registered as `async`: the agent does not wait for it, but the machine does the work.",
        "Its model is its OpenRouter provider, pointed at the counting model on loopback (default: the user's Claude subscription, which needs an account). Telemetry off.",
        "Its vector index (Chroma) is off: it downloads an embedding model at first use, and these runs can reach package registries only."
        " It would need more memory. Without it, search only finds whole phrases; users have the index, so search is not measured.",
    )
    searches = False
    search_note = "not measured: its vector index could not run"
    port = 39782

    def __init__(self, folder, model):
        super().__init__(folder, model)
        self.data = self.home / ".claude-mem"
        self.plugin = self.home / ".claude/plugins/cache/thedotmack/claude-mem" / VERSION

    def env(self):
        env = super().env()
        path = f"{self.programs}/node_modules/.bin:{self.programs}/uv/bin:{env['PATH']}"
        return env | {"PATH": path, "CLAUDE_MEM_TELEMETRY": "0", "CLAUDE_PLUGIN_ROOT": str(self.plugin)}

    def install(self):
        if not (self.plugin / "node_modules").exists():
            env = self.env() | {"npm_config_before": RESOLVED_AS_OF, "npm_config_cache": str(self.folder / "npm-cache")}
            self.run("npm", "install", "--prefix", self.programs, f"claude-mem@{VERSION}", "bun", env=env)
            self.run(sys.executable, "-m", "pip", "install", "--quiet", "--target", self.programs / "uv", "uv")
            self.run("claude-mem", "install", "--ide", "claude-code", "--provider", "claude", "--no-auto-start", "--runtime", "worker", text="", env=env)
        for file in self.data.glob("claude-mem.db*"):
            file.unlink()
        settings = json.loads((self.data / "settings.json").read_text())
        settings |= {
            "CLAUDE_MEM_WORKER_PORT": str(self.port),
            "CLAUDE_MEM_PROVIDER": "openrouter",
            "CLAUDE_MEM_OPENROUTER_BASE_URL": f"{self.model.address}/v1/chat/completions",
            "CLAUDE_MEM_OPENROUTER_API_KEY": "none",
            "CLAUDE_MEM_OPENROUTER_MODEL": "counting",
            "CLAUDE_MEM_CHROMA_ENABLED": "false",
        }
        (self.data / "settings.json").write_text(json.dumps(settings, indent=2))
        self.version = self.run("claude-mem", "version").split()[-1].lstrip("v")

    def run(self, *command, **named):
        # `env` resolves the command with the contender's PATH.
        return super().run("env", *command, **named)

    def installed(self):
        return [self.programs, self.home / ".claude"]

    def hook(self, event):
        hooks = json.loads((self.plugin / "hooks/hooks.json").read_text())["hooks"]
        return ["bash", "-c", hooks[event][-1]["hooks"][-1]["command"]]

    def address(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def start(self):
        # After a kill it may mistake the dead worker for a running one, once.
        for _ in range(3):
            self.run("claude-mem", "start")
            if wait_until(lambda: answers(self.address("/api/readiness")), 60):
                return
        raise RuntimeError("claude-mem: the worker does not respond")

    def daemons(self):
        try:
            pid = json.loads((self.data / "worker.pid").read_text())["pid"]
        except (OSError, ValueError, KeyError):
            return []
        return with_children(pid) if alive(pid) else []

    def query(self, statement, *values):
        with sqlite3.connect(f"file:{self.data}/claude-mem.db?mode=ro", uri=True) as database:
            return database.execute(statement, values).fetchone()[0]

    def count(self, session):
        return self.query("select count(distinct tool_use_id) from tool_uses where content_session_id = ?1", session)

    def memories(self, session):
        return sum(self.query(
            f"select count(*) from {table} join sdk_sessions using (memory_session_id) where content_session_id = ?1", session)
            for table in ("observations", "session_summaries"))

    def with_model(self):
        return True
