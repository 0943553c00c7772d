// Takes a screenshot of every page in both themes, and of some at phone size.
// Usage: BACKSTORY=binary node screenshots.mjs [FOLDER [PAGE,PAGE…]]
// Needs an emoji font for the icons of memories, and pngquant: Debian's fonts-noto-color-emoji and pngquant.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Home, launch, visit } from "./home.mjs";
import { fill } from "./sample-data.mjs";

const folder = process.argv[2] ?? "../docs/screenshots";
const selected = process.argv[3]?.split(",");
const ON_PHONE = ["now", "session", "memory"];
mkdirSync(folder, { recursive: true });
const home = new Home();
const { pages } = fill(home);
await home.serve();
home.run(["index", "--wait"]);
const browser = await launch();
const variants = {
  light: { colorScheme: "light", viewport: { width: 1180, height: 780 } },
  dark: { colorScheme: "dark", viewport: { width: 1180, height: 780 } },
  phone: { colorScheme: "light", viewport: { width: 360, height: 720 } },
};
for (const [variant, options] of Object.entries(variants)) {
  const tab = await visit(browser, home, options);
  for (const [name, address] of Object.entries(pages)) {
    if (variant === "phone" ? !ON_PHONE.includes(name) : selected && !selected.includes(name)) continue;
    await tab.goto(home.origin + address);
    await tab.waitForTimeout(250);
    await tab.screenshot({ path: join(folder, `${name}-${variant}.png`) });
  }
  await tab.context().close();
}
await browser.close();
await home.end();
const images = readdirSync(folder).filter((name) => name.endsWith(".png")).map((name) => join(folder, name));
try {
  execFileSync("pngquant", ["--force", "--ext", ".png", "--quality", "60-90", "--speed", "1", ...images]);
} catch {
  console.error("pngquant is not installed: the images are not compressed");
}
