// Runs axe-core on a page.

import { readFileSync } from "node:fs";

const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

// Returns the violations of accessibility rules, as text.
export async function violations(tab) {
  const run = async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations;
  // Evaluated through the debugger: the content security policy blocks injected scripts.
  await tab.evaluate(axe);
  const found = await tab.evaluate(run);
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).slice(0, 3).join("\n")}`);
}
