// User actions: keyboard search, edit, pin, forget, undo, supersede, context controls, retry, settings.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Home, eventually, launch, visit } from "../home.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const MEMORIES = [
  ["bugfix", "The voucher is rounded once, on the sum", "Rounding every line lost a cent.", "src/shop/cart.py"],
  ["decision", "Prices are kept in cents", "Floating point cannot hold ten percent exactly.", "src/shop/prices.py"],
  ["discovery", "The stock report reads the whole table for every item", "It takes twenty minutes with 5,000 items.", "src/shop/report.py"],
  ["feature", "The cart accepts several vouchers", "They are applied in the order of their size.", "src/shop/cart.py"],
].map(([type, title, narrative, file], n) => ({
  kind: "observation", type, title, narrative, project: "shop", files_modified: [file], facts: [`${title}, in short`],
  concepts: ["gotcha"], created_at: `2026-01-0${n + 1}T10:00:00Z`, session_id: `import-${n}`,
}));

async function shop(t, options) {
  const home = new Home(t);
  home.importLines(MEMORIES);
  await home.serve();
  return [home, await visit(browser, home, options)];
}

async function closeWithoutProblems(tab) {
  assert.deepEqual(tab.problems, []);
  await tab.context().close();
}

test("search and filters work by keyboard only", async (t) => {
  const [home, tab] = await shop(t);
  await tab.keyboard.press("/");
  await tab.keyboard.type("voucher rounding");
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/\/search\?q=voucher/);
  await tab.locator("#results mark").first().waitFor();
  assert.match(await tab.locator("#results .why").first().textContent(), /% ?matches voucher/);
  // Results update while typing, without Enter.
  await tab.keyboard.press("Control+a");
  await tab.keyboard.type("vouchers");
  await eventually("the URL follows", () => tab.url().includes("q=vouchers"));
  const titles = () => tab.locator("#results .title").allTextContents();
  await eventually("both are found", async () => (await titles()).length >= 2);
  // Tab into the filters, then to the type.
  await tab.keyboard.press("Tab");
  await tab.keyboard.press("Tab");
  await tab.keyboard.press("Enter");
  assert.equal(await tab.locator("details.filters").getAttribute("open"), "");
  for (let n = 0; n < 3; n++) await tab.keyboard.press("Tab");
  assert.equal(await tab.evaluate(() => document.activeElement.name), "type");
  await tab.keyboard.type("feature");
  await eventually("one is left", async () => (await titles()).join() === "The cart accepts several vouchers");
  assert.ok(tab.url().includes("type=feature"));
  // From the filters to the first hit.
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("j");
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/\/memories\/\d+$/);
  assert.equal(await tab.locator("h1").textContent(), "The cart accepts several vouchers");
  // An invalid filter shows an error and keeps the typed value.
  await tab.goto(`${home.origin}/search?q=cart&since=someday`);
  assert.match(await tab.locator("#results").textContent(), /since `?someday/i);
  await closeWithoutProblems(tab);
});

test("j and k move, e edits, p pins, ? lists the shortcuts", async (t) => {
  const [home, tab] = await shop(t);
  await tab.keyboard.press("j");
  await tab.keyboard.press("j");
  await tab.keyboard.press("k");
  const focused = () => tab.evaluate(() => document.activeElement.textContent);
  assert.equal(await focused(), "The cart accepts several vouchers");
  await tab.keyboard.press("p");
  await eventually("it is pinned", () => tab.locator("#feed .item").first().locator(".pin").isVisible());
  assert.equal(await focused(), "The cart accepts several vouchers", "the focus is kept");
  await tab.keyboard.press("?");
  assert.ok(await tab.locator("#keys").isVisible());
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("e");
  await tab.waitForURL(/\?edit$/);
  // Shortcuts are plain letters inside input fields.
  await tab.locator("#field-title").fill("");
  await tab.keyboard.type("jkep/?");
  assert.equal(await tab.locator("#field-title").inputValue(), "jkep/?");
  await closeWithoutProblems(tab);
});

test("a memory can be edited, pinned, superseded, forgotten and restored", async (t) => {
  const [home, tab] = await shop(t);
  await tab.goto(`${home.origin}/memories/1?edit`);
  await tab.fill("#field-title", "The voucher is rounded once & for all");
  await tab.fill("#field-facts", "one\n\ntwo");
  await tab.selectOption("#field-type", "decision");
  await tab.click("button:has-text('Save')");
  assert.equal(await tab.locator("h1").textContent(), "The voucher is rounded once & for all");
  assert.deepEqual(await tab.locator("ul.facts li").allTextContents(), ["one", "two"]);
  assert.equal(home.sql("select type = 'decision' and edited_at is not null from observation where id = 1"), "1");
  await tab.goto(`${home.origin}/memories/1?edit`);
  await tab.fill("#field-title", "  ");
  await tab.click("button:has-text('Save')");
  assert.match(await tab.locator("[role=alert]").textContent(), /title/);
  await tab.goto(`${home.origin}/memories/1`);
  await tab.keyboard.press("p");
  await tab.locator(".badge.pin").waitFor();
  assert.equal(home.sql("select pinned from observation where id = 1"), "1");

  await tab.goto(`${home.origin}/memories/1`);
  await tab.fill("#by", "#4");
  await tab.click("button:has-text('Mark')");
  assert.match(await tab.locator("main").textContent(), /superseded by\s+#4/i);
  assert.equal(home.sql("select superseded_by from observation where id = 1"), "4");
  await tab.click("button:has-text('Mark as valid')");
  assert.equal(home.sql("select superseded_by is null from observation where id = 1"), "1");

  await tab.click("button:has-text('Forget')");
  await tab.locator(".toast").waitFor();
  await tab.goto(`${home.origin}/search?q=voucher`);
  assert.doesNotMatch(await tab.locator("#results").textContent(), /for all/);
  await tab.click(".toast button:has-text('Undo')");
  assert.equal(await tab.locator("h1").textContent(), "The voucher is rounded once & for all");
  assert.equal(home.sql("select count(*) from observation"), "4");

  await tab.click("button:has-text('Forget')");
  await tab.locator("h1:has-text('Forgotten')").waitFor({ timeout: 20000 });
  assert.equal(home.sql("select count(*) from observation"), "3");
  assert.equal((await tab.goto(`${home.origin}/memories/1`)).status(), 404);
  assert.match(await tab.locator("main").textContent(), /forgotten or never existed/);
  tab.problems = tab.problems.filter((problem) => !problem.includes("404") && !problem.includes("400"));
  await closeWithoutProblems(tab);
});

test("a pending deletion is carried out when the worker shuts down", async (t) => {
  const [home, tab] = await shop(t);
  await tab.goto(`${home.origin}/memories/2`);
  await tab.click("button:has-text('Forget')");
  await tab.locator(".toast").waitFor();
  await tab.context().close();
  home.worker.kill("SIGTERM");
  await home.ended;
  assert.equal(home.sql("select count(*) from observation where id = 2"), "0");
});

test("the context controls change the preview and can be saved", async (t) => {
  const [home, tab] = await shop(t);
  await tab.goto(`${home.origin}/context`);
  const text = () => tab.locator("#preview .verbatim").textContent();
  assert.equal((await text()).trim(), home.run(["context", "--project", "shop"]).trim().replace(/\d\d:\d\d UTC/, (await text()).match(/\d\d:\d\d UTC/)[0]));
  assert.match(await text(), /Floating point/);
  await tab.fill("#full", "0");
  await eventually("no entry is shown in full", async () => !/Floating point/.test(await text()));
  await tab.uncheck("input[value=bugfix]");
  await eventually("the bugfix is gone", async () => !/rounded once/.test(await text()));
  assert.match(await tab.locator("#preview").textContent(), /type or concept/);
  assert.equal(await tab.locator("#full").inputValue(), "0", "the controls keep their values");
  await tab.click("text=Save settings");
  await tab.locator("[role=status]:has-text('Saved')").waitFor();
  assert.equal(home.run(["config", "get", "context.full"]).trim(), "0");
  assert.doesNotMatch(home.run(["config", "get", "context.types"]), /bugfix/);
  await closeWithoutProblems(tab);
});

test("failed items are shown with their reason and can be retried", async (t) => {
  const home = new Home(t);
  home.turn("Retry the refresh", "The token refresh now retries once on a 401.");
  home.turn("Log every retry", "Every retry is logged now.", { session: "s2" });
  home.drain();
  home.sql("update event set state = 'failed', tries = 3, error = 'distilling failed: <b>no luck</b>' where kind = 'stop'; update session set status = 'failed'");
  await home.serve();
  const tab = await visit(browser, home, {}, "status");
  assert.match(await tab.locator("#verdict").textContent(), /2 events failed/);
  assert.match(await tab.locator(".error").first().textContent(), /<b>no luck<\/b>/);
  await tab.locator(".list button:has-text('Retry')").first().click();
  await eventually("one is left", async () => /1 event failed/.test(await tab.locator("#verdict").textContent()));
  await tab.click("text=Retry all 1");
  await eventually("the status is healthy", async () => /Healthy/.test(await tab.locator("#verdict").textContent()));
  await eventually("all are done", () => home.sql("select count(*) from event where state <> 'done'") === "0");
  await closeWithoutProblems(tab);
});

test("settings are explained, checked and saved", async (t) => {
  const [home, tab] = await shop(t);
  await tab.goto(`${home.origin}/settings`);
  assert.match(await tab.locator("#ui").textContent(), /time zone/i);
  await tab.fill('[id="ui.timezone"]', "Mars/Olympus");
  await tab.click("#ui button");
  assert.match(await tab.locator("#ui [role=alert]").textContent(), /time zone/i);
  assert.equal(await tab.inputValue('[id="ui.timezone"]'), "Mars/Olympus", "the typed value stays");
  await tab.fill('[id="ui.timezone"]', "Asia/Tokyo");
  await tab.click("#ui button");
  await tab.locator("#ui [role=status]").waitFor();
  assert.equal(home.run(["config", "get", "ui.timezone"]).trim(), "Asia/Tokyo");
  await tab.goto(`${home.origin}/memories/1`);
  assert.match(await tab.locator("dl.facts time").first().textContent(), /2026-01-01 19:00/);
  await tab.goto(`${home.origin}/settings`);
  await tab.check("#ui input[name=reset]");
  await tab.click("#ui button");
  await eventually("the default is restored", () => home.run(["config", "get", "ui.timezone"]).trim() === "");
  tab.problems = tab.problems.filter((problem) => !problem.includes("400"));
  await closeWithoutProblems(tab);
});

test("a session is replayed turn by turn", async (t) => {
  const home = new Home(t);
  home.turn("Retry the refresh", "The token refresh now retries once on a 401.");
  home.turn("Log every retry", "Every retry is logged now.");
  home.drain();
  await home.serve();
  const tab = await visit(browser, home, {}, "sessions/s1");
  assert.equal(await tab.locator(".turn").count(), 2);
  assert.equal(await tab.locator(".turn details.actions").first().getAttribute("open"), null, "folded");
  await tab.click("text=Replay");
  assert.equal(await tab.locator(".turn").count(), 1);
  assert.match(await tab.locator(".turn").textContent(), /Retry the refresh.*Edit.*src\/app.py.*The token refresh now retries/s);
  await tab.keyboard.press("ArrowRight");
  await tab.waitForURL(/turn=2/);
  assert.match(await tab.locator(".turn").textContent(), /Log every retry/);
  // A new turn appears without a reload.
  await tab.goto(`${home.origin}/sessions/s1`);
  home.turn("Count the retries", "Retries are counted now.");
  await tab.locator("#turn-3").waitFor();
  await closeWithoutProblems(tab);
});
