// Open items that are ticked off, and what became of recalled memories.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { violations } from "../axe.mjs";
import { Home, eventually, launch, visit } from "../home.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

async function withOpenItems(t, options) {
  const home = new Home(t);
  home.turn("Fix the upload", "Fixed the upload in `src/up.py`: it resumes after a timeout.\n\nNext steps:\n- Bound the retries of the upload.\n- Write the docs of the upload.", { file: "src/up.py" });
  home.drain();
  await home.serve();
  const tab = await visit(browser, home, options);
  t.after(() => tab.context().close());
  const project = `/projects/${encodeURIComponent(home.sql("select key from project"))}`;
  return { home, tab, project };
}

const box = (tab, words) => tab.getByRole("checkbox", { name: words });
const open = (home) => JSON.parse(home.run(["done", "--json"])).open.map((item) => item.text);

test("an open item is ticked off and opened again in place", async (t) => {
  const { home, tab, project } = await withOpenItems(t);
  await tab.goto(home.origin + project);
  assert.equal(await tab.locator("#open-title .number").textContent(), "2");
  const top = await tab.evaluate(() => (window.stays = true, scrollTo(0, 40), scrollY));
  await box(tab, /Bound the retries/).click();
  await eventually("it is ticked", async () => (await box(tab, /Bound the retries/).getAttribute("aria-checked")) === "true");
  assert.equal(await tab.locator("#open-title .number").textContent(), "1");
  assert.deepEqual(open(home), ["Write the docs of the upload"]);
  assert.ok(await tab.evaluate((top) => window.stays && scrollY === top, top), "the page stays");
  assert.match(await tab.evaluate(() => document.activeElement.getAttribute("aria-labelledby")), /^item-/, "the focus stays");
  assert.doesNotMatch(home.run(["context"]), /Bound the retries/);
  // By keyboard.
  await tab.keyboard.press("Space");
  await eventually("it is open again", async () => (await box(tab, /Bound the retries/).getAttribute("aria-checked")) === "false");
  assert.equal(open(home).length, 2);
  // An item that was ticked off long ago is folded.
  await box(tab, /Write the docs/).click();
  await eventually("it is ticked", () => open(home).length === 1);
  home.sql("update done_item set at = at - 2 * 24 * 3600 * 1000");
  await tab.reload();
  assert.equal(await box(tab, /Write the docs/).isVisible(), false);
  await tab.click("#open-items summary");
  await box(tab, /Write the docs/).click();
  await eventually("it is open again", () => open(home).length === 2);
  assert.deepEqual(tab.problems, []);
});

test("open items of a hand-over are ticked off without a script", async (t) => {
  const { home, tab, project } = await withOpenItems(t, { javaScriptEnabled: false });
  for (const page of ["/sessions/s1", project]) {
    await tab.goto(home.origin + page);
    await box(tab, /Bound the retries/).click();
    await tab.waitForURL(/#item-/);
    assert.equal(new URL(tab.url()).pathname, page, "back on the same page");
    assert.equal(await box(tab, /Bound the retries/).getAttribute("aria-checked"), "true");
    assert.deepEqual(open(home), ["Write the docs of the upload"]);
    await box(tab, /Bound the retries/).click();
    assert.equal(await box(tab, /Bound the retries/).getAttribute("aria-checked"), "false");
    assert.equal(open(home).length, 2);
  }
  const wrong = await tab.request.post(`${home.origin}/open-items`, { form: { project: "acme", key: "nonsense", done: "true" }, headers: { origin: home.origin } });
  assert.equal(wrong.status(), 400);
  assert.match(await wrong.text(), /16 letters/);
});

// A remedy of an earlier session, for the failure of later ones.
function learn(home) {
  const failure = (session, number) => home.hook("post-tool-use-failure", { session_id: session, tool_name: "Bash", tool_use_id: `f${number}`, tool_input: { command: "cargo test auth" }, error: `Exit code 101\nRefreshError: clock skew of ${40 + number} s is not allowed` });
  home.hook("user-prompt-submit", { session_id: "first", prompt: "Token refresh fails with a 401, fix it" });
  failure("first", 1);
  const path = join(home.project, "src/auth.rs");
  home.hook("post-tool-use", { session_id: "first", tool_name: "Edit", tool_use_id: "e", tool_input: { file_path: path, old_string: "refresh(token)", new_string: "retry_once(|| refresh(token))" }, tool_response: { filePath: path } });
  home.hook("post-tool-use", { session_id: "first", tool_name: "Bash", tool_use_id: "ok", tool_input: { command: "cargo test auth" }, tool_response: { stdout: "test result: ok. 6 passed", stderr: "" } });
  home.hook("stop", { session_id: "first", last_assistant_message: "Fixed: the token refresh in `src/auth.rs` retries once on a 401. RefreshError came from a clock skew of more than 30 s, so `retry_once` refreshes with the server's time." });
  home.drain();
  return failure;
}

test("the recall page shows what became of memories, and so do session and memory", async (t) => {
  const home = new Home(t);
  learn(home);
  home.hook("session-start", { session_id: "second", source: "startup" });
  home.hook("user-prompt-submit", { session_id: "second", prompt: "The token refresh fails with a 401 again, why?" });
  const path = join(home.project, "src/auth.rs");
  home.hook("post-tool-use", { session_id: "second", tool_name: "Edit", tool_use_id: "e2", tool_input: { file_path: path, old_string: "a", new_string: "retry_once(b)" }, tool_response: { filePath: path } });
  home.hook("stop", { session_id: "second", last_assistant_message: "The retry is in place: `retry_once` in `src/auth.rs`." });
  home.drain();
  const { impact } = JSON.parse(home.run(["stats", "--impact", "--json"]));
  assert.ok(impact.recalls > 0 && impact.used > 0, JSON.stringify(impact));
  await home.serve();
  const tab = await visit(browser, home);
  t.after(() => tab.context().close());
  await tab.goto(`${home.origin}/recall`);
  const section = tab.locator("#impact");
  assert.match(await section.textContent(), new RegExp(`${impact.recalls} recalls? in 1 session`));
  assert.equal(await section.locator("svg").first().getAttribute("aria-label"), `${impact.used} used, ${impact.ignored} ignored, ${impact.contradicted} contradicted`);
  assert.ok(await section.locator('svg [data-part="used"]').count());
  await section.locator("summary").click();
  assert.match(await section.textContent(), /not that it did so because of it/);
  assert.match(await tab.locator("section:has(#top) .outcome").first().textContent(), /used \d+ time/);
  await tab.goto(`${home.origin}/sessions/second`);
  assert.match(await tab.locator("#told").textContent(), /\d+ used/);
  for (const summary of await tab.locator("#told summary").all()) await summary.click();
  const used = tab.locator('#told .entries li:has([data-outcome="used"])').first();
  assert.match(await used.textContent(), /used: .*(src\/auth\.rs|retry_once)/);
  await used.locator("a").first().click();
  await tab.waitForURL(/\/memories\//);
  assert.match(await tab.locator('#told [data-outcome="used"]').first().textContent(), /^used: /);
  assert.equal(await tab.locator("#experiment").count(), 0, "no experiment");
  assert.deepEqual(tab.problems, []);
});

test("an experiment is shown with its result", async (t) => {
  const home = new Home(t);
  const failure = learn(home);
  home.run(["experiment", "start", "--share", "50%"]);
  await home.serve();
  const tab = await visit(browser, home, {}, "recall");
  t.after(() => tab.context().close());
  assert.match(await tab.locator("#experiment").textContent(), /running.*50 % of sessions without recall.*Too little data/s);
  // A scripted agent that repeats the failure unless it is told the remedy.
  for (let number = 0; number < 70; number++) {
    const session = `agent-${number}`;
    home.hook("user-prompt-submit", { session_id: session, prompt: "Run the tests of the login page" });
    const isTold = failure(session, number).includes("additionalContext");
    if (!isTold) failure(session, number + 100);
    home.hook("stop", { session_id: session, last_assistant_message: "The tests were run." });
  }
  await eventually("all sessions are distilled", () => home.sql("select count(*) from event where state <> 'done'") === "0");
  home.run(["experiment", "report"]);
  await tab.reload();
  const row = tab.locator("#experiment tbody tr").first();
  assert.match(await row.textContent(), /repeated failures.*−?-[\d.]+.* to .*fewer with recall/s);
  assert.ok(await row.locator("svg.interval[data-effect]").count());
  for (const colorScheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme });
    assert.deepEqual(await violations(tab), [], colorScheme);
  }
  assert.deepEqual(tab.problems, []);
});
