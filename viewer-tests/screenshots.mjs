// Draws every page, light and dark, and some on a phone. usage: BACKSTORY=binary node screenshots.mjs [FOLDER [PAGE,PAGE…]]

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Home, launch, visit } from "./home.mjs";
import { fill } from "./story.mjs";

const folder = process.argv[2] ?? "../docs/screenshots";
const wanted = process.argv[3]?.split(",");
const ON_PHONE = ["now", "session", "memory"];
mkdirSync(folder, { recursive: true });
const home = new Home();
const { pages } = fill(home);
await home.serve();
home.run(["index", "--wait"]);
const browser = await launch();
const looks = {
  light: { colorScheme: "light", viewport: { width: 1180, height: 780 } },
  dark: { colorScheme: "dark", viewport: { width: 1180, height: 780 } },
  phone: { colorScheme: "light", viewport: { width: 360, height: 720 } },
};
for (const [look, options] of Object.entries(looks)) {
  const tab = await visit(browser, home, options);
  for (const [name, address] of Object.entries(pages)) {
    if (look === "phone" ? !ON_PHONE.includes(name) : wanted && !wanted.includes(name)) continue;
    await tab.goto(home.origin + address);
    await tab.waitForTimeout(250);
    await tab.screenshot({ path: join(folder, `${name}-${look}.png`) });
  }
  await tab.context().close();
}
await browser.close();
await home.end();
const pictures = readdirSync(folder).filter((name) => name.endsWith(".png")).map((name) => join(folder, name));
try {
  execFileSync("pngquant", ["--force", "--ext", ".png", "--quality", "60-90", "--speed", "1", ...pictures]);
} catch {
  console.error("pngquant is missing: the pictures are larger than they need to be");
}
