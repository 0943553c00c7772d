// Runs axe-core on every page in both themes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { violations } from "../axe.mjs";
import { Home, launch, visit } from "../home.mjs";
import { fill } from "../sample-data.mjs";

let browser;
let home;
let pages;
before(async () => {
  browser = await launch();
  home = new Home();
  ({ pages } = fill(home));
  home.sql("update event set state = 'failed', tries = 3, error = 'no luck' where id = (select max(id) from event)");
  await home.serve();
});
after(async () => {
  await browser.close();
  await home.end();
});

for (const colorScheme of ["light", "dark"]) {
  test(`no page violates accessibility rules (${colorScheme})`, async () => {
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
    await tab.keyboard.press("Escape");
    await tab.click(".toast button:has-text('Undo')");
    await tab.context().close();
    const visitor = await (await browser.newContext({ colorScheme })).newPage();
    await visitor.goto(home.origin);
    assert.deepEqual(await violations(visitor), [], "the login page");
    await visitor.context().close();
  });
}
