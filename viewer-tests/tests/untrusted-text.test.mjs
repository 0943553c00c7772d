// Untrusted text from sessions is escaped on every page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Home, launch, visit } from "../home.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const SCRIPT = `<script>document.title = "taken"; alert(1)</script><img src=x onerror=alert(2)>`;
const LINK = `<a href="javascript:alert(3)">here</a> [there](javascript:alert(4)) javascript:alert(5)`;
const BIDI = "safe\u202Egnp.exe \u2066hidden\u2069 zero\u200Bwidth bell\u0007 tag\u{E0041}";
const BREAK = `"><svg onload=alert(6)> '); --> ]]> \`<b>\` {{7*7}} \${8*8}`;
const ALL = `${SCRIPT} ${LINK} ${BIDI} ${BREAK}`;

test("markup, scripts and invisible characters in memories are inert on every page", async (t) => {
  const home = new Home(t);
  home.importLines([
    { kind: "observation", type: "bugfix", project: `shop${BREAK}`, session_id: "evil", title: ALL, subtitle: ALL, narrative: ALL, facts: [ALL], concepts: [`c"><script>`], files_modified: [`src/${SCRIPT}.py`, "javascript:alert(7)"] },
    { kind: "summary", project: `shop${BREAK}`, session_id: "evil", request: ALL, completed: ALL, next_steps: ALL, learned: ALL },
    { kind: "prompt", project: `shop${BREAK}`, session_id: "evil", text: ALL },
    { kind: "note", text: ALL },
    { kind: "passage", project: `shop${BREAK}`, session_id: "evil", text: ALL },
  ]);
  home.hook("user-prompt-submit", { prompt: ALL, session_id: "live<script>alert(8)</script>" });
  home.hook("post-tool-use", { session_id: "live<script>alert(8)</script>", tool_name: SCRIPT, tool_input: { command: ALL }, tool_use_id: "t" });
  home.hook("stop", { session_id: "live<script>alert(8)</script>", last_assistant_message: ALL });
  home.drain();
  home.sql("update event set state = 'failed', error = '<script>alert(9)</script>' where kind = 'stop'");
  await home.serve();
  const tab = await visit(browser, home);
  const project = encodeURIComponent(home.sql("select key from project where name like 'shop%'"));
  const session = encodeURIComponent("live<script>alert(8)</script>");
  const question = encodeURIComponent(`safe hidden ${SCRIPT}`);
  const pages = ["/", `/?project=${project}`, "/recall", `/search?q=${question}`, "/search?type=bugfix", "/sessions", "/sessions/evil", `/sessions/${session}`, `/sessions/${session}?turn=1`, "/projects", `/projects/${project}`,
    "/memories/1", "/memories/1?edit", "/memories/S1", "/memories/P1", "/memories/N1", "/memories/V1", `/files?path=${encodeURIComponent(`src/${SCRIPT}.py`)}`, "/files", `/context?project=${project}`, "/status",
    `/nowhere${encodeURIComponent(SCRIPT)}`, `/memories/${encodeURIComponent(SCRIPT)}`, `/sessions/${encodeURIComponent(SCRIPT)}`, `/search?q=x&since=${encodeURIComponent(SCRIPT)}`];
  for (const page of pages) {
    await tab.goto(home.origin + page);
    const found = await tab.evaluate(() => ({
      scripts: document.scripts.length,
      foreign: document.querySelectorAll("main img, main svg[onload], main script, main iframe, main object").length,
      handlers: [...document.querySelectorAll("*")].filter((node) => node.getAttributeNames().some((name) => name.startsWith("on"))).length,
      active: [...document.querySelectorAll("[href], [src], [action]")].filter((node) => !/^(\/|#|\?)/.test(node.getAttribute("href") ?? node.getAttribute("src") ?? node.getAttribute("action"))).length,
      hidden: /[\u202A-\u202E\u2066-\u2069\u200B\u0007]|\u{E0041}/u.test([...document.querySelectorAll("body *")].filter((node) => !node.matches("textarea, input, script")).map((node) => [...node.childNodes].filter((child) => child.nodeType === 3).map((child) => child.data).join("")).join("")),
      title: document.title,
    }));
    assert.deepEqual({ ...found, title: "" }, { scripts: 1, foreign: 0, handlers: 0, active: 0, hidden: false, title: "" }, page);
    assert.notEqual(found.title, "taken", page);
  }
  await tab.goto(`${home.origin}/memories/1`);
  const shown = await tab.locator("article").textContent();
  assert.ok(shown.includes(SCRIPT), "the text is complete");
  assert.match(shown, /U\+202E/);
  assert.match(shown, /U\+E0041/);
  tab.problems = tab.problems.filter((problem) => !/40[04]/.test(problem));
  assert.deepEqual(tab.problems, []);
  await tab.context().close();
});
