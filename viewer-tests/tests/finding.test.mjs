// Finding things: chips, suggestions, the palette, settings by words; the checks on the health page; phones.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Home, eventually, launch, visit } from "../home.mjs";
import { fill } from "../sample-data.mjs";

let browser;
let home;
let pages;
before(async () => {
  browser = await launch();
  home = new Home();
  ({ pages } = fill(home));
  await home.serve();
});
after(async () => {
  await browser.close();
  await home.end();
});

async function at(t, path, options) {
  const tab = await visit(browser, home, options);
  t.after(() => tab.context().close());
  await tab.goto(home.origin + path);
  return tab;
}

test("search has chips with counts, a date picker, suggestions and a palette", async (t) => {
  const tab = await at(t, "/search?q=tiles");
  const chip = tab.locator(".facets a", { hasText: "decision" });
  const count = Number(await chip.locator(".number").textContent());
  assert.ok(count > 0);
  await chip.click();
  await tab.waitForURL(/type=decision/);
  assert.equal(await tab.locator("#results .item").count(), Math.min(count, 20));
  assert.equal(await tab.locator('#results .item:not([data-kind="decision"])').count(), 0);
  await tab.click(".facets [aria-current]");
  await eventually("the filter is removed", () => !tab.url().includes("type="));
  await tab.fill("input[name=since]", "2020-01-01");
  await eventually("the URL follows", () => tab.url().includes("since=2020-01-01"));
  // Suggestions in the side bar, on any page, by keyboard.
  await tab.goto(`${home.origin}/sessions`);
  await tab.locator("#quick").pressSequentially("file handles");
  await tab.locator(".suggest a").first().waitFor();
  await tab.keyboard.press("ArrowDown");
  const chosen = await tab.evaluate(() => document.activeElement.getAttribute("href"));
  await tab.keyboard.press("Enter");
  await tab.waitForURL(home.origin + chosen);
  // The palette: a page by name, then a memory.
  await tab.keyboard.press("Control+k");
  await tab.keyboard.type("recall");
  await tab.locator("#palette a", { hasText: "Recall" }).first().waitFor();
  await eventually("the entries are of these words", () => tab.evaluate(() => document.querySelector("#palette ul").dataset.words === "recall"));
  await tab.keyboard.press("Enter");
  await tab.waitForURL(`${home.origin}/recall`);
  await tab.keyboard.press("Control+k");
  await tab.keyboard.type("outlook images");
  await tab.locator('#palette a[href^="/memories/"]').first().waitFor();
  await tab.keyboard.press("Escape");
  assert.equal(await tab.locator("#palette").isVisible(), false);
  assert.deepEqual(tab.problems, []);
});

test("the health page runs the checks of doctor", async (t) => {
  const tab = await at(t, "/status");
  await tab.click("text=Run all checks", { noWaitAfter: true });
  await tab.locator("dl.checks").waitFor({ timeout: 120000 });
  const text = await tab.locator("#checks").textContent();
  assert.match(text, /Checked just now.*database.*integrity ok.*round trip/s);
});

test("settings have labels and switches, and are found by words", async (t) => {
  const tab = await at(t, "/settings");
  assert.equal(await tab.locator('label[for="context.on_prompt"]').textContent(), "Inject at a prompt");
  const control = tab.locator('[id="context.on_prompt"]');
  assert.equal(await control.getAttribute("role"), "switch");
  assert.equal(await control.isChecked(), true);
  await control.uncheck();
  await tab.click("#context button");
  await tab.locator("#context [role=status]").waitFor();
  assert.equal(home.run(["config", "get", "context.on_prompt"]).trim(), "false");
  await tab.locator('[id="context.on_prompt"]').check();
  await tab.click("#context button");
  await eventually("it is on again", () => home.run(["config", "get", "context.on_prompt"]).trim() === "true");
  await tab.goto(`${home.origin}/settings`);
  await tab.fill("#find", "time zone");
  await eventually("others are hidden", async () => !(await tab.locator('[id="capture.skip_tools"]').isVisible()));
  assert.ok(await tab.locator('[id="ui.timezone"]').isVisible());
  // The same without the script.
  const plain = await at(t, "/settings?find=time+zone", { javaScriptEnabled: false });
  assert.equal(await plain.locator('[id="ui.timezone"]').count(), 1);
  assert.equal(await plain.locator('[id="capture.skip_tools"]').count(), 0);
});

test("on a phone every page shows its place, and the context comes before its form", async (t) => {
  const tab = await at(t, "/", { viewport: { width: 390, height: 844 } });
  for (const page of ["/", "/search", "/recall", "/context", "/status", "/settings"]) {
    await tab.goto(home.origin + page);
    const box = await tab.locator(".side nav [aria-current]").boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 390, page);
  }
  await tab.goto(home.origin + pages.context);
  const top = async (selector) => (await tab.locator(selector).boundingBox()).y;
  assert.ok((await top("#preview")) < (await top("form[action='/context']")));
});
