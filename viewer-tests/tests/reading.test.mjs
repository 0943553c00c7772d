// Page rendering: empty store, live updates, narrow screens, themes, no script.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Home, eventually, launch, visit } from "../home.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const PAGES = ["/", "/search", "/sessions", "/projects", "/files", "/recall", "/context", "/team", "/status", "/settings"];

test("an empty store shows the next steps", async (t) => {
  const home = await new Home(t).serve();
  const tab = await visit(browser, home);
  assert.equal(await tab.locator("h1").textContent(), "Now");
  assert.match(await tab.locator("main").textContent(), /backstory setup/);
  for (const page of PAGES) {
    const response = await tab.goto(home.origin + page);
    assert.equal(response.status(), 200, page);
    assert.ok((await tab.locator("main").textContent()).trim().length > 10, page);
  }
  // The first memory replaces the next steps without a reload.
  await tab.goto(home.origin);
  home.turn("Retry the token refresh once", "The token refresh now retries once on a 401.");
  await tab.locator("#feed .item").first().waitFor();
  await eventually("the next steps are gone", async () => !(await tab.locator(".empty").isVisible()));
  assert.deepEqual(tab.problems, []);
  await tab.context().close();
});

test("a missing, wrong or used login link shows instructions", async (t) => {
  const home = await new Home(t).serve();
  const link = home.link("search");
  const tab = await visit(browser, home);
  const visitor = await (await browser.newContext()).newPage();
  assert.equal((await visitor.goto(home.origin)).status(), 401);
  assert.match(await visitor.textContent("main"), /backstory open/);
  assert.equal((await visitor.goto(`${home.origin}/login?code=wrong`)).status(), 401);
  await visitor.goto(link);
  assert.equal(new URL(visitor.url()).pathname, "/search");
  assert.equal((await visitor.goto(link)).status(), 401, "a link works once");
  assert.match(await visitor.textContent("main"), /used or has expired/);
  // The login lasts.
  assert.equal((await visitor.goto(home.origin)).status(), 200);
  await tab.context().close();
  await visitor.context().close();
});

// `backstory open` passes the link in a file; the browser must send its cookie although a file started the navigation.
test("a redirect file signs the browser in, and the settings page signs it out", async (t) => {
  const home = await new Home(t).serve();
  const file = join(home.folder, "open.html");
  writeFileSync(file, `<!doctype html><meta http-equiv=refresh content="0;url=${home.link("search").replaceAll("&", "&amp;")}">`);
  const context = await browser.newContext();
  const tab = await context.newPage();
  await tab.goto(`file://${file}`);
  await tab.waitForURL(`${home.origin}/search`);
  assert.equal(await tab.locator("h1").textContent(), "Search");
  const cookie = (await context.cookies()).find((cookie) => cookie.name.includes("backstory_"));
  assert.match(cookie.name, /^__Host-backstory_[0-9a-f]{12}$/);
  assert.ok(cookie.secure && cookie.httpOnly && cookie.sameSite === "Strict");
  await tab.goto(`${home.origin}/settings`);
  assert.equal(await tab.locator('[id="distill.base_url"]').isDisabled(), true);
  assert.match(await tab.locator("#distill").textContent(), /backstory config set distill.base_url/);
  assert.match(await tab.locator("#logins").textContent(), /this browser/);
  await tab.click("#logins button");
  assert.match(await tab.textContent("main"), /backstory open/);
  assert.deepEqual(JSON.parse(home.run(["logins", "--json"])), []);
  await context.close();
});

test("new items are held back while the user reads further down", async (t) => {
  const home = new Home(t);
  for (let n = 0; n < 14; n++) home.turn(`Fix bug number ${n}`, `Bug number ${n} in the parser is fixed: it now accepts ${n} arguments.`, { session: `s${n}` });
  home.drain();
  await home.serve();
  const tab = await visit(browser, home);
  await eventually("it is live", () => tab.locator("[data-live-state]").isVisible());
  const item = tab.locator("#feed .item").nth(12);
  await item.scrollIntoViewIfNeeded();
  await tab.locator("#quick").fill("half a thought");
  await eventually("the page is scrolled", () => tab.evaluate(() => (scrollTo(0, 700), scrollY > 120)));
  const place = await item.boundingBox();
  const count = await tab.locator("#feed .item").count();
  home.turn("Add a cache for prices", "Prices are cached for five minutes now.", { session: "new" });
  const button = tab.locator("[data-new]");
  await eventually("new items are counted", async () => /^\d+ new$/.test(await button.textContent()) && (await button.isVisible()));
  assert.equal(await tab.locator("#feed .item").count(), count, "no item was inserted");
  assert.deepEqual(await item.boundingBox(), place, "nothing moved");
  assert.equal(await tab.locator("#quick").inputValue(), "half a thought");
  await button.click();
  await tab.locator("#feed .item", { hasText: "Prices are cached" }).first().waitFor();
  assert.equal(await tab.evaluate(() => scrollY), 0);
  assert.equal(await button.isVisible(), false);
  // At the top of the page new items are inserted immediately.
  await tab.evaluate(() => document.activeElement.blur());
  home.turn("Log the cache misses", "Cache misses are logged at level debug.", { session: "newer" });
  await tab.locator("#feed .item", { hasText: "Cache misses are logged" }).first().waitFor();
  assert.deepEqual(tab.problems, []);
  await tab.context().close();
});

test("an active session shows its current turn", async (t) => {
  const home = await new Home(t).serve();
  const tab = await visit(browser, home);
  home.hook("user-prompt-submit", { prompt: "Count the words of every page" });
  home.hook("post-tool-use", { tool_name: "Read", tool_input: { file_path: "/x/pages.py" }, tool_use_id: "t1" });
  const running = tab.locator(".running");
  await running.first().waitFor();
  await eventually("the tool use is counted", async () => /1 tool use/.test(await running.textContent()));
  assert.match(await running.textContent(), /Count the words of every page.*working/s);
  home.hook("stop", { last_assistant_message: "The pages have 1,200 words in all." });
  await eventually("the session waits", async () => /waiting for you/.test(await running.textContent()));
  await tab.context().close();
});

test("every page fits a 320-pixel screen", async (t) => {
  const home = new Home(t);
  home.turn("Shorten " + "averyveryverylongwordwithoutanyplacetobreak".repeat(3), "The name `" + "x_".repeat(90) + "` is too long for a line.", { file: "src/" + "deep/".repeat(20) + "file.py" });
  home.drain();
  await home.serve();
  const tab = await visit(browser, home, { viewport: { width: 320, height: 640 } });
  const project = home.sql("select key from project limit 1");
  const more = ["/sessions/s1", "/sessions/s1?turn=1", "/memories/1", "/memories/1?edit", "/memories/P1", `/projects/${encodeURIComponent(project)}`, "/nowhere"];
  for (const page of [...PAGES, ...more]) {
    await tab.goto(home.origin + page);
    const width = await tab.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 320, `${page} is ${width} wide`);
    assert.ok(await tab.locator("h1").first().isVisible(), page);
  }
  await tab.context().close();
});

test("the theme follows the system, and the switch persists", async (t) => {
  const home = await new Home(t).serve();
  const tab = await visit(browser, home, { colorScheme: "dark" });
  const light = () => tab.evaluate(() => {
    const [red] = getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g);
    return Number(red) > 128;
  });
  assert.equal(await light(), false, "follows the system");
  const button = tab.locator("[data-theme-form] button");
  await button.click();
  assert.match(await button.textContent(), /light/);
  assert.equal(await light(), true);
  await eventually("the choice is stored", async () => (await tab.context().cookies()).some((cookie) => cookie.name === "backstory_theme" && cookie.value === "light"));
  await tab.goto(`${home.origin}/sessions`);
  assert.equal(await light(), true);
  await tab.locator("[data-theme-form] button").click();
  assert.equal(await light(), false);
  await tab.context().close();
});

test("everything except live updates works without a script", async (t) => {
  const home = new Home(t);
  home.turn("Retry the refresh", "The token refresh now retries once on a 401.");
  home.drain();
  await home.serve();
  const tab = await visit(browser, home, { javaScriptEnabled: false });
  await tab.fill("#quick", "token refresh");
  await tab.press("#quick", "Enter");
  await tab.click("#results .title");
  await tab.click("text=Edit");
  await tab.fill("#field-title", "The refresh retries twice");
  await tab.click("text=Save");
  assert.equal(await tab.textContent("h1"), "The refresh retries twice");
  await tab.click("button:has-text('Pin')");
  assert.match(await tab.textContent(".memory header"), /pinned/);
  await tab.click("button:has-text('Forget')");
  await tab.click(".notice button:has-text('Undo')");
  assert.equal(await tab.textContent("h1"), "The refresh retries twice");
  await tab.click("[data-theme-form] button");
  assert.equal(await tab.getAttribute("html", "data-theme"), "light");
  assert.match(tab.url(), /\/memories\//, "back on the same page");
  await tab.context().close();
});

test("the first page load takes at most 80 KB", async (t) => {
  const home = new Home(t);
  for (let n = 0; n < 16; n++) home.turn(`Fix bug number ${n} of the parser, which users have reported for weeks`, `Bug number ${n} in the parser is fixed: it now accepts ${n} arguments, and reports which of them is wrong.`, { session: `s${n}` });
  home.drain();
  await home.serve();
  const tab = await visit(browser, home, {}, "settings");
  const sizes = {};
  for (const page of ["/", "/search", "/sessions", "/recall", "/context", "/settings", "/memories/1", "/sessions/s1"]) {
    const context = await browser.newContext({ storageState: await tab.context().storageState() });
    const fresh = await context.newPage();
    const loaded = [];
    fresh.on("response", (response) => response.url().includes("/api/") || loaded.push(response.request().sizes()));
    await fresh.goto(home.origin + page, { waitUntil: "load" });
    const parts = await Promise.all(loaded);
    sizes[page] = parts.reduce((sum, part) => sum + part.responseBodySize + part.responseHeadersSize, 0);
    await context.close();
  }
  console.log(sizes);
  for (const [page, bytes] of Object.entries(sizes)) assert.ok(bytes > 10000 && bytes <= 80 * 1024, `${page}: ${bytes}`);
  await tab.context().close();
});
