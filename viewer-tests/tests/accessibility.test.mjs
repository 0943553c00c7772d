// Runs axe-core on every page in both themes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Home, launch, visit } from "../home.mjs";
import { fill } from "../sample-data.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

async function violations(tab) {
  const run = async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations;
  // Evaluated through the debugger: the content security policy blocks injected scripts.
  await tab.evaluate(axe);
  const found = await tab.evaluate(run);
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).slice(0, 3).join("\n")}`);
}

for (const colorScheme of ["light", "dark"]) {
  test(`no page violates accessibility rules (${colorScheme})`, async (t) => {
    const home = new Home(t);
    const { pages } = fill(home);
    home.sql("update event set state = 'failed', tries = 3, error = 'no luck' where id = (select max(id) from event)");
    await home.serve();
    const tab = await visit(browser, home, { colorScheme });
    for (const page of [...Object.values(pages), "/nowhere", "/search?type=bugfix", "/search?q=nothingofthekind&since=1d"]) {
      await tab.goto(home.origin + page);
      assert.deepEqual(await violations(tab), [], page);
    }
    // With a message and with the keyboard shortcuts.
    await tab.goto(`${home.origin}/memories/2`);
    await tab.click("button:has-text('Forget')");
    await tab.locator(".toast").waitFor();
    assert.deepEqual(await violations(tab), [], "a message");
    await tab.keyboard.press("?");
    assert.deepEqual(await violations(tab), [], "the shortcuts");
    await tab.context().close();
    const visitor = await (await browser.newContext({ colorScheme })).newPage();
    await visitor.goto(home.origin);
    assert.deepEqual(await violations(visitor), [], "the login page");
    await visitor.context().close();
  });
}
