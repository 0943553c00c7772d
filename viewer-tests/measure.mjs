// Measures the response time of each page. Run it against a worker with a large store, such as generate.mjs creates.
// Usage: node measure.mjs ORIGIN TOKEN-FILE [rounds]

import { readFileSync } from "node:fs";

const [origin, tokenFile, rounds = "21"] = process.argv.slice(2);
const headers = { authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}`, accept: "text/html" };
const json = async (path) => (await fetch(origin + path, { headers })).json();

const projects = (await json("/api/projects")).items.sort((one, other) => other.observations - one.observations);
const project = encodeURIComponent(projects[0].id);
const newest = (await json("/api/observations?limit=1")).items[0];
const file = newest.files_modified[0];
const words = encodeURIComponent(newest.title.split(" ").slice(0, 3).join(" "));
const sessions = (await json("/api/sessions?limit=100")).items.sort((one, other) => other.events - one.events);

const pages = {
  "Now": "/",
  "Now, a project": `/?project=${project}`,
  "Now, older": `/?after=${Date.parse("2025-06-01T00:00:00Z")}-2-1`,
  "Search, no words": "/search",
  "Search, words": `/search?q=${words}`,
  "Search, words in a project": `/search?q=${words}&project=${project}`,
  "Search, words and a type": `/search?q=${words}&type=bugfix`,
  "Search, words, a file and a date": `/search?q=${words}&file=${encodeURIComponent(file)}&since=2025-01-01`,
  "Search, type only": "/search?type=decision",
  "Search, file only": `/search?file=${encodeURIComponent(file)}`,
  "Search, concept in a project": `/search?concept=gotcha&project=${project}`,
  "Sessions": "/sessions",
  "Sessions of a project": `/sessions?project=${project}`,
  "Session": `/sessions/${encodeURIComponent(sessions[0].session_id)}`,
  "Session, replay": `/sessions/${encodeURIComponent(sessions[0].session_id)}?turn=1`,
  "Projects": "/projects",
  "Project": `/projects/${project}`,
  "Memory": `/memories/${newest.id}`,
  "Memory, edit": `/memories/${newest.id}?edit`,
  "Files": "/files",
  "File": `/files?path=${encodeURIComponent(file)}`,
  "File, unknown": "/files?path=nosuchfile.rs",
  "Recall": "/recall",
  "Context": `/context?project=${project}`,
  "Health": "/status",
  "Settings": "/settings",
  "Not found": "/nowhere",
};

console.log("| page | median ms | worst ms | KB |\n|---|---:|---:|---:|");
for (const [name, path] of Object.entries(pages)) {
  const times = [];
  let bytes = 0;
  for (let n = 0; n < Number(rounds); n++) {
    const start = performance.now();
    const response = await fetch(origin + path, { headers });
    bytes = (await response.text()).length;
    times.push(performance.now() - start);
    if (response.status !== 200 && name !== "Not found") throw new Error(`${path}: ${response.status}`);
  }
  times.sort((one, other) => one - other);
  console.log(`| ${name} | ${times[times.length >> 1].toFixed(1)} | ${times.at(-1).toFixed(1)} | ${(bytes / 1024).toFixed(0)} |`);
}
