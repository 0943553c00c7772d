// Test fixture: a temporary home, the real binary and a real browser.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";

const BINARY = process.env.BACKSTORY ?? "../target/debug/backstory";

export class Home {
  // Removed after the test, also when it fails.
  constructor(test) {
    test?.after(() => this.end());
    this.folder = mkdtempSync(join(tmpdir(), "backstory-viewer-"));
    mkdirSync(join(this.folder, "home"), { recursive: true });
    this.environment = { HOME: join(this.folder, "home"), PATH: "/usr/bin:/bin", BACKSTORY_NO_WORKER: "1", BACKSTORY_HTTP_PORT: "0" };
    this.project = this.repository("acme");
    this.worker = null;
  }

  // Creates a minimal git repository without running git.
  repository(name, remote, branch = "main") {
    const root = join(this.folder, name);
    mkdirSync(join(root, ".git"), { recursive: true });
    writeFileSync(join(root, ".git/HEAD"), `ref: refs/heads/${branch}\n`);
    writeFileSync(join(root, ".git/config"), remote ? `[remote "origin"]\n\turl = ${remote}\n` : "[core]\n");
    return root;
  }

  write(path, text) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  run(args, input = "", folder = this.project) {
    return execFileSync(BINARY, args, { cwd: folder, env: this.environment, input, stdio: ["pipe", "pipe", "pipe"] }).toString();
  }

  hook(event, payload) {
    return this.run(["hook", event], JSON.stringify({ session_id: "s1", cwd: this.project, ...payload }));
  }

  // Reports a whole turn: a prompt, an edit and the agent's final message.
  turn(prompt, message, { file = "src/app.py", session = "s1" } = {}) {
    const common = { session_id: session };
    this.hook("user-prompt-submit", { ...common, prompt });
    const path = join(this.project, file);
    const tool = { tool_name: "Edit", tool_input: { file_path: path, old_string: "a", new_string: "b" }, tool_response: { filePath: path } };
    this.hook("post-tool-use", { ...common, ...tool, tool_use_id: `t${Math.floor(performance.now() * 1000)}` });
    this.hook("stop", { ...common, last_assistant_message: message });
  }

  // Ingests and distills all pending events.
  drain() {
    this.run(["worker", "run", "--once"]);
  }

  remember(text, ...more) {
    this.run(["remember", text, ...more]);
  }

  importLines(lines) {
    this.run(["import", "jsonl", "-"], lines.map((line) => JSON.stringify(line)).join("\n"));
  }

  sql(text) {
    return execFileSync("sqlite3", [join(this.folder, "home/.backstory/backstory.db"), text]).toString().trim();
  }

  // Starts the worker and waits until it is reachable.
  async serve() {
    this.worker = spawn(BINARY, ["worker", "run"], { env: this.environment, cwd: this.project, stdio: "ignore" });
    this.ended = new Promise((resolve) => this.worker.once("exit", resolve));
    for (let n = 0; n < 200; n++) {
      try {
        const { port } = JSON.parse(readFileSync(join(this.folder, "home/.backstory/worker.json")));
        this.origin = `http://127.0.0.1:${port}`;
        return this;
      } catch {
        await sleep(50);
      }
    }
    throw new Error("the worker is not reachable");
  }

  link(page = "") {
    return this.run(["open", page, "--print"]).trim();
  }

  async end() {
    this.worker?.kill("SIGTERM");
    await this.ended;
    this.worker = null;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

export const launch = () => chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS.split(" ") });

// Opens a tab that is signed in, as after `backstory open`. Errors on its pages are collected in `problems`.
export async function visit(browser, home, options = {}, page = "") {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const tab = await context.newPage();
  tab.problems = [];
  tab.on("console", (message) => message.type() === "error" && tab.problems.push(message.text()));
  tab.on("pageerror", (error) => tab.problems.push(String(error)));
  tab.on("request", (request) => request.url().startsWith(home.origin) || tab.problems.push(`request to ${request.url()}`));
  tab.on("dialog", (dialog) => { tab.problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  await tab.goto(home.link(page));
  return tab;
}

// Waits until a condition is true; fails after ten seconds.
export async function eventually(description, condition) {
  const start = Date.now();
  while (!(await condition())) {
    if (Date.now() - start > 10000) throw new Error(`timed out: ${description}`);
    await sleep(50);
  }
}
