// What the pages show at a glance: turns as cards, pictures with text alternatives, what sessions were told.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Home, launch, visit } from "../home.mjs";
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

test("a turn is one card with request, outcome, files and what the agent was told", async (t) => {
  const tab = await at(t, "/");
  const card = tab.locator("#feed .turn-card", { hasText: "runs out of file handles" });
  assert.equal(await card.count(), 1, "one card");
  const text = await card.textContent();
  assert.match(text, /Connections go back to the pool/, "the outcome");
  assert.match(text, /src\/pool\.rs/, "the file");
  assert.match(text, /feature\/vector-tiles/, "the branch");
  assert.match(await tab.locator("#feed .told").first().textContent(), /recalled \d+ memor/);
  // The title leads to the turn, an outcome to the memory.
  await card.locator("a.asked").click();
  await tab.waitForURL(/\/sessions\/.*turn=1/);
  await tab.goBack();
  await card.locator(".outcomes a").first().click();
  await tab.waitForURL(/\/memories\/\w+/);
  assert.deepEqual(tab.problems, []);
});

test("the start page has the numbers of today, the year, and a filter by project", async (t) => {
  const tab = await at(t, "/");
  assert.match(await tab.locator("#today").textContent(), /turns\s*[1-9].*sessions\s*[1-9].*recalled\s*[1-9]/s);
  const heat = tab.locator("svg.heat");
  assert.match(await heat.getAttribute("aria-label"), /\d+ memories on \d+ days in the last year, most on /);
  assert.ok((await heat.locator("[data-level]").count()) > 20, "a cell per active day");
  assert.match(await heat.locator("[data-level] title").first().textContent(), /^\d+ \w+ 20\d\d: \d+ memor/);
  await tab.click("nav[aria-label=Projects] >> text=paperplane");
  await tab.waitForURL(/project=github.com/);
  assert.ok((await tab.locator("#feed .turn-card").count()) >= 3);
  assert.equal(await tab.locator("#feed", { hasText: "atlas" }).count(), 0, "no other project");
  assert.equal(await tab.locator("nav[aria-label=Projects] [aria-current]").textContent(), "paperplane");
});

test("older turns follow page by page without repetition", async (t) => {
  const tab = await at(t, "/");
  const seen = new Set();
  for (let page = 0; page < 12; page++) {
    for (const key of await tab.locator("#feed > [data-key]").evaluateAll((items) => items.map((item) => item.dataset.key))) {
      assert.ok(!seen.has(key), `${key} is repeated`);
      seen.add(key);
    }
    const older = tab.getByRole("link", { name: "Older", exact: true });
    if (!(await older.count())) break;
    await older.click();
  }
  const turns = Number(home.sql("select count(*) from turn where prompt <> '' and machine_made = 0"));
  assert.equal([...seen].filter((key) => key.startsWith("turn-")).length, turns);
});

test("a session shows what it was told, the agent's last words, its hand-over and chapters", async (t) => {
  const told = home.sql("select session_id from session order by last_event_at desc limit 1");
  const tab = await at(t, `/sessions/${told}`);
  assert.match(await tab.locator("#told").textContent(), /\d+ memor\w+, about \d+ tokens.*at the start/s);
  await tab.locator("#told summary").first().click();
  const entry = tab.locator("#told .entries a").first();
  assert.match(await entry.getAttribute("href"), /^\/memories\/\w+$/);
  await tab.goto(home.origin + pages.session);
  assert.match(await tab.locator("#last-words").textContent(), /zstd level 3.*turn 2/s);
  assert.match(await tab.locator("#handover").textContent(), /Hand-over/);
  const long = home.sql("select session_id from session join episode on session_db_id = session.id group by session.id having count(*) > 1 limit 1");
  await tab.goto(`${home.origin}/sessions/${long}`);
  const chapters = await tab.locator(".contents a").allTextContents();
  assert.ok(chapters.length >= 2, "chapters");
  assert.equal(await tab.locator("#turns h2.chapter").count(), chapters.length);
  await tab.locator(".contents a").last().click();
  assert.match(tab.url(), /#chapter-\d+$/);
  // A failed command is marked, not struck through.
  await tab.goto(`${home.origin}${pages.session}?turn=1`);
  const failed = tab.locator("details.actions li[data-failed] code").first();
  assert.equal(await failed.evaluate((node) => getComputedStyle(node).textDecorationLine), "none");
  assert.deepEqual(tab.problems, []);
});

test("a memory shows who was told, its relations as a graph and a list, and changes as diffs", async (t) => {
  const told = home.sql("select id from observation join observation_file on observation_id = id where path = 'src/pool.rs' and turn_id is not null limit 1");
  const tab = await at(t, `/memories/${told}`);
  assert.match(await tab.locator("#told").textContent(), /Recalled in|No session was told/);
  const change = tab.locator(".evidence details", { hasText: "edit" }).first();
  assert.match(await change.locator("summary").textContent(), /\+\d+\s*−\d+/);
  await change.locator("summary").click();
  assert.match(await change.locator(".added").first().textContent(), /^\+/);
  assert.match(await change.locator(".removed").first().textContent(), /^-/);
  // Two memories about one file are related.
  const style = home.sql("select min(observation_id) from observation_file where path = 'src/style.rs'");
  await tab.goto(`${home.origin}/memories/${style}`);
  assert.match(await tab.locator("svg.graph").getAttribute("aria-label"), /Graph of \d+ related memories/);
  assert.match(await tab.locator("section:has(svg.graph) .entries").textContent(), /same file/);
  const passage = home.sql("select id from passage where kind = 'edit' limit 1");
  await tab.goto(`${home.origin}/memories/V${passage}`);
  assert.ok(await tab.locator(".diff .added").count());
  assert.doesNotMatch(await tab.locator("h1").textContent(), /[+-] /, "no diff in the title");
});

test("a project shows its hand-over and a timeline with a lane per branch", async (t) => {
  const tab = await at(t, pages.project);
  assert.match(await tab.locator("#handover").textContent(), /done|asked/);
  const lanes = await tab.locator(".lanes li").allTextContents();
  assert.ok(lanes.some((lane) => /main.*sessions/s.test(lane)) && lanes.some((lane) => /feature\/vector-tiles/.test(lane)), lanes.join());
  assert.match(lanes.join(), /[1-9]\d* decision/);
  await tab.locator(".lane .session").first().click({ force: true });
  await tab.waitForURL(/\/sessions\//);
});

test("the recall page has numbers, a chart with a table, and a picture to save", async (t) => {
  const tab = await at(t, "/recall");
  const numbers = await tab.locator("#recalled .numbers").textContent();
  assert.match(numbers, /memories recalled\s*[1-9].*tokens injected\s*[1-9].*stand for\s*[1-9]/s);
  assert.match(await tab.locator("#recalled svg").getAttribute("aria-label"), /recalled in 30 days/);
  await tab.click("#recalled summary");
  assert.ok(await tab.locator("#recalled tbody tr").count());
  assert.match(await tab.locator("section:has(#top)").textContent(), /told to \d+ session/);
  assert.match(await tab.locator("section:has(#unused)").textContent(), /of the latest \d+ memories/);
  const picture = await tab.request.get(`${home.origin}/recall/card.svg`);
  assert.equal(picture.headers()["content-type"], "image/svg+xml");
  assert.match(await picture.text(), /^<\?xml.*<svg .*memories recalled.*<\/svg>$/s);
  const [download] = await Promise.all([tab.waitForEvent("download"), tab.click("text=Save as a picture")]);
  assert.equal(download.suggestedFilename(), "backstory-recall.svg");
  assert.deepEqual(tab.problems, []);
});
