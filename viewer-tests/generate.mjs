// Generates a large store for `backstory import jsonl`, one JSON object per line. Deterministic.
// Usage: node generate.mjs [observations [evidence items per observation]]

const count = Number(process.argv[2] ?? 100000);
const evidence = Number(process.argv[3] ?? 0);
let state = 20260301;
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const pick = (list) => list[Math.floor(random() * list.length)];

const syllables = "ba co di fu ga he li mo nu pe qui ro sa te vi wo xa ya ze bra cle dro fli gru".split(" ");
const vocabulary = Array.from({ length: 12000 }, (_, n) => {
  const length = 2 + (n % 3);
  return Array.from({ length }, () => pick(syllables)).join("");
});
// Few words are frequent and most are rare, as in natural language.
const word = () => vocabulary[Math.floor(vocabulary.length * random() ** 3)];
const sentence = (length) => {
  const words = Array.from({ length }, word).join(" ");
  return words[0].toUpperCase() + words.slice(1);
};

const types = ["decision", "bugfix", "feature", "refactor", "discovery", "change"];
const concepts = ["how-it-works", "what-changed", "problem-solution", "gotcha", "pattern", "trade-off"];
const files = Array.from({ length: 4000 }, () => `src/${word()}/${word()}.rs`);
// Most memories belong to one project, which is the hard case.
const projects = ["github.com/acme/monolith", ...Array.from({ length: 9 }, (_, n) => `github.com/acme/service-${n}`)];

const start = Date.parse("2024-01-01T00:00:00Z");
const end = Date.parse("2026-11-01T00:00:00Z");
const lines = [];
for (let n = 0; n < count; n++) {
  const session = Math.floor(n / 20);
  const project = session % 10 < 7 ? projects[0] : projects[1 + (session % 9)];
  const at = new Date(start + ((end - start) * n) / count).toISOString();
  const common = { project, session_id: `made-up-${session}`, created_at: at };
  if (n % 5 === 0) lines.push({ kind: "prompt", ...common, text: sentence(14) });
  lines.push({
    kind: "observation", ...common, type: pick(types), title: sentence(8), subtitle: sentence(10), narrative: sentence(40),
    facts: [sentence(9), sentence(7)], concepts: [pick(concepts)], files_read: [pick(files)], files_modified: [pick(files)],
  });
  for (let item = 0; item < evidence; item++) lines.push({ kind: "passage", ...common, text: sentence(30) });
  if (n % 20 === 19) lines.push({ kind: "summary", ...common, request: sentence(8), completed: sentence(20), learned: sentence(14), next_steps: sentence(12), files_edited: [pick(files)] });
  if (lines.length > 5000) flush();
}
flush();

function flush() {
  process.stdout.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  lines.length = 0;
}
