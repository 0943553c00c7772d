// Sample data: weeks of work in three projects, reported through the real hooks and then moved back in time.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const HOUR = 3600 * 1000;
const DAY = 24 * HOUR;

const read = (path, content) => ({ tool: "Read", input: { file_path: path }, response: { type: "text", file: { filePath: path, content } } });
const edit = (path, old, now) => ({ tool: "Edit", input: { file_path: path, old_string: old, new_string: now }, response: { filePath: path } });
const write = (path, content) => ({ tool: "Write", input: { file_path: path, content }, response: { type: "create", filePath: path } });
const bash = (command, stdout) => ({ tool: "Bash", input: { command }, response: { stdout, stderr: "", interrupted: false } });
const failed = (command, error) => ({ tool: "Bash", input: { command }, error });
const grep = (pattern) => ({ tool: "Grep", input: { pattern, output_mode: "files_with_matches" }, response: { filenames: [], numFiles: 2 } });

// Each entry: project, branch, age, and turns of [prompt, actions, final message].
const SESSIONS = [
  ["atlas", "main", 34 * DAY, [
    ["We need an API for map tiles. Start with axum, keep tiles in SQLite, and write down why.", [
      write("src/tiles.rs", "pub struct TileStore;"), write("src/main.rs", "fn main() {}"), bash("cargo test", "test result: ok. 6 passed"),
    ], "Tiles are served at `/tiles/{z}/{x}/{y}`. I decided to keep tiles in one SQLite file instead of loose files because a backup is then a single copy and reads stay below a millisecond. All 6 tests pass.\n\nNext: add ETags, so that browsers can keep tiles."],
  ]],
  ["atlas", "main", 27 * DAY, [
    ["Browsers fetch every tile again. Make them cacheable.", [
      read("src/tiles.rs", "pub fn tile()"), edit("src/tiles.rs", "Response::new(bytes)", "cached(bytes, hash)"), bash("cargo test cache", "test result: ok. 3 passed"),
    ], "Tile responses now carry an ETag made of the content hash and answer 304 when it matches. The cause of the repeated fetches was a missing `Cache-Control` header. 3 new tests pass."],
    ["Also for the style JSON, please.", [
      edit("src/style.rs", "Json(style)", "cached(style)"), bash("cargo test", "test result: ok. 11 passed"),
    ], "The style JSON has an ETag too. It must not be cached longer than a minute, since editors publish styles during the day."],
  ]],
  ["atlas", "feature/vector-tiles", 12 * DAY, [
    ["Tiles at zoom 14 are 2 MB. Switch to vector tiles with zstd.", [
      grep("fn encode"), read("src/encode.rs", "fn encode_png()"), write("src/vector.rs", "pub fn encode_vector() {}"),
      failed("cargo test vector", "Exit code 101\nthread 'vector::tests::round_trip' panicked at src/vector.rs:88:\nassertion failed: left == right, winding order of polygon 3 is reversed"),
      edit("src/vector.rs", "ring.points()", "ring.points().rev()"), bash("cargo test vector", "test result: ok. 9 passed"),
    ], "Vector tiles at zoom 14 are 61 KB now, down from 2.1 MB. The round trip failed because exterior rings must be clockwise in tile coordinates, where y points down; `encode_vector` reverses them now. 9 tests pass.\n\nNext steps: drop features smaller than a pixel; measure on a phone."],
    ["Which compression level?", [
      bash("cargo bench compress", "level 3: 1.9 ms, 61 KB\nlevel 9: 7.4 ms, 57 KB\nlevel 19: 48 ms, 55 KB"),
    ], "I chose zstd level 3: level 9 saves 7 % of the bytes but takes four times as long, and tiles are encoded on request. Warning: do not raise it without caching the encoded tiles."],
  ]],
  ["atlas", "feature/vector-tiles", 3 * DAY, [
    ["The server runs out of file handles after a day. Find out why.", [
      bash("ls /proc/4211/fd | wc -l", "8123"), grep("Connection::open"), read("src/pool.rs", "Connection::open(path)"),
      edit("src/pool.rs", "Connection::open(path)?", "self.idle.pop().map_or_else(|| Connection::open(path), Ok)?"), bash("cargo test pool", "test result: ok. 4 passed"),
    ], "The handle leak is fixed: `Pool::get` opened a new SQLite connection whenever all were busy and never closed it. Connections go back to the pool now, at most 8. After 10,000 requests the process holds 14 handles."],
  ]],
  ["paperplane", "main", 20 * DAY, [
    ["Letters with images arrive without them in Outlook. Why?", [
      read("src/mail/compose.ts", "attach(image)"), bash("npm test -- compose", "12 passing"), edit("src/mail/compose.ts", "multipart/mixed", "multipart/related"),
    ], "Inline images now reach Outlook: it only shows them when the parts are `multipart/related` and their Content-ID stands in angle brackets. Gmail accepts both. 12 tests pass."],
  ]],
  ["paperplane", "fix/unsubscribe", 5 * DAY, [
    ["People who unsubscribed still got the May letter. Fix it and add a test.", [
      grep("unsubscribed_at"), read("src/lists/recipients.ts", "select * from member"), failed("npm test -- recipients", "Exit code 1\n1) leaves out who unsubscribed:\n   AssertionError: expected 3 to equal 2"),
      edit("src/lists/recipients.ts", "where list_id = $1", "where list_id = $1 and unsubscribed_at is null"), write("test/recipients.test.ts", "it('leaves out who unsubscribed')"), bash("npm test", "48 passing"),
    ], "Recipients who unsubscribed are left out now, also when a letter was scheduled before they did: the list is read when the letter is sent, not when it is scheduled. The cause was that `recipients()` never looked at `unsubscribed_at`. 48 tests pass."],
    ["Should we also tell them why they got it?", [], "I would not write to them: an apology is one more letter that they did not want. Decision: the support page says what happened."],
  ]],
];

const NOW_RUNNING = ["paperplane", "main", [
  ["Speed up the import of large member lists: 200,000 rows take nine minutes.", [
    read("src/lists/import.ts", "for (const row of rows) await insert(row)"), bash("npm run profile", "94 % in insert()"),
  ]],
]];

// Memories of an earlier store: type, title, what it says, file, and age in days.
const HISTORY = [
  ["discovery", "Tile requests at night come from one crawler", "It ignores robots.txt and asks for zoom 18 of the whole sea.", "src/log.rs", 341],
  ["bugfix", "Retina tiles have the right scale", "The pixel ratio was applied twice, in the style and in the renderer.", "src/scale.rs", 334],
  ["refactor", "`TileStore` and `StyleStore` share one pool", "Each had its own eight connections.", "src/pool.rs", 320],
  ["feature", "Labels are placed in the reader's language", "From `Accept-Language`, with the local name as a fallback.", "src/labels.rs", 312],
  ["decision", "Coordinates are kept as integers of a centimeter", "Floats differ between machines, so tiles had different hashes.", "src/geo.rs", 298],
  ["discovery", "Coastlines are cut at the antimeridian", "A polygon that crosses it is two polygons in the source data.", "src/geo.rs", 291],
  ["bugfix", "The legend no longer overlaps the scale bar", "Both were anchored to the same corner below 400 pixels.", "src/style.rs", 280],
  ["feature", "Styles can be previewed before they are published", "A preview has its own URL, which nobody can guess and no cache keeps.", "src/style.rs", 266],
  ["bugfix", "Empty tiles answer 204 instead of an empty body", "Some clients tried to decode zero bytes as PNG.", "src/tiles.rs", 259],
  ["decision", "Old tiles are served while new ones are rendered", "A map with a stale corner is better than one with a hole.", "src/render.rs", 240],
  ["feature", "Contour lines every ten meters", "Rendered from the elevation model at zoom 12 and above.", "src/contours.rs", 226],
  ["discovery", "The elevation model has holes north of 60 degrees", "They are marked with -32768, not with a missing value.", "src/contours.rs", 225],
  ["bugfix", "Contour lines no longer cross lakes", "Water is cut out before the lines are drawn.", "src/contours.rs", 219],
  ["change", "The renderer runs in its own process", "A crash in the font library took the whole server down.", "src/render.rs", 201],
  ["refactor", "One function reads all headers of a request", "Four handlers parsed `Accept-Language` in four ways.", "src/request.rs", 187],
  ["decision", "Fonts are subset at build time", "A subset per language is 90 KB; loading the whole font took 11 MB per process.", "build.rs", 176],
  ["bugfix", "Street names repeat along long streets", "The distance was measured in tiles instead of pixels.", "src/labels.rs", 160],
  ["discovery", "SQLite is faster with `mmap_size` of 1 GB", "Reading a tile takes 0.4 ms instead of 0.9.", "src/tiles.rs", 148],
  ["feature", "Tiles can be exported as one file", "For maps on devices without a network.", "src/export.rs", 133],
  ["bugfix", "An export that is cancelled leaves no file behind", "It is written under another name and renamed at the end.", "src/export.rs", 131],
  ["change", "Logs are JSON lines", "The search in the old format could not tell a path from a message.", "src/log.rs", 118],
  ["decision", "Requests without a zoom are answered with 400", "Guessing zoom 0 hid errors of three clients for weeks.", "src/request.rs", 104],
  ["refactor", "Geometry has no dependency on rendering", "So that the exporter can use it.", "src/geo.rs", 97],
  ["bugfix", "Bridges are drawn above the roads below them", "The layer tag is a number, and it was compared as text.", "src/style.rs", 83],
  ["discovery", "Half of all requests are for 2 % of the tiles", "City centers at zoom 13 to 15.", "src/log.rs", 71],
  ["feature", "Popular tiles are rendered before they are asked for", "After each import, the 20,000 most requested of the last week.", "src/render.rs", 66],
  ["change", "The import reads changes of a day instead of the planet", "It takes 4 minutes instead of 9 hours.", "src/import.rs", 58],
  ["bugfix", "Deleted ways vanish from the map", "The import of changes skipped deletions.", "src/import.rs", 52],
  ["decision", "No tile is older than a week", "Editors expect to see their changes; the nightly run renders what is older.", "src/render.rs", 41],
  ["refactor", "The style is checked when it is loaded", "A typo in a layer name was found at the first request.", "src/style.rs", 30],
  ["feature", "Maps can be turned by the reader", "Labels stay upright; icons too.", "src/labels.rs", 19],
  ["discovery", "Phones ask for tiles of zoom 22, which does not exist", "The client multiplies the zoom by the pixel ratio.", "src/log.rs", 7],
];

function report(home, root, session, turns, isOver = true) {
  const common = { session_id: session, cwd: root };
  home.hook("session-start", { ...common, source: "startup" });
  let uses = 0;
  for (const [prompt, actions, message] of turns) {
    home.hook("user-prompt-submit", { ...common, prompt });
    for (const { tool, input, response, error } of actions) {
      const at = input.file_path ? { ...input, file_path: join(root, input.file_path) } : input;
      const payload = { ...common, tool_name: tool, tool_input: at, tool_use_id: `${session}-${uses++}` };
      if (error) home.hook("post-tool-use-failure", { ...payload, error });
      else home.hook("post-tool-use", { ...payload, tool_response: response });
    }
    if (message) home.hook("stop", { ...common, last_assistant_message: message });
  }
  if (isOver) home.hook("session-end", { ...common, reason: "prompt_input_exit" });
}

// Moves a session and what it was told back in time; earlier turns move further than later ones.
function moveBack(home, session, ms) {
  const of = `(select id from session where session_id = '${session}')`;
  const spread = 9 * 60 * 1000;
  home.sql(`
    update session set started_at = started_at - ${ms} - ${spread}, last_event_at = last_event_at - ${ms}, ended_at = ended_at - ${ms} where session_id = '${session}';
    update turn set started_at = started_at - ${ms} - ${spread} / number, ended_at = ended_at - ${ms} - ${spread} / (number + 3) where session_db_id = ${of};
    update event set at = at - ${ms} where session_db_id = ${of};
    update observation set created_at = created_at - ${ms}, last_seen_at = last_seen_at - ${ms} where session_db_id = ${of};
    update summary set created_at = created_at - ${ms} where session_db_id = ${of};
    update passage set created_at = created_at - ${ms} where session_db_id = ${of};
    update recall_outcome set at = at - ${ms} where session_db_id = ${of};
    update session_impact set judged_to = judged_to - ${ms} where session_db_id = ${of};`);
  const log = join(home.folder, "home/.backstory/given", session);
  if (!existsSync(log)) return;
  const lines = readFileSync(log, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  home.write(log, lines.map((line) => `${JSON.stringify({ ...line, at: line.at - ms })}\n`).join(""));
}

// Replays a session from testdata that was recorded with a real client.
function replayRecorded(home, root, name, session) {
  const folder = new URL(`../testdata/sessions/${name}/`, import.meta.url);
  const text = (file) => readFileSync(new URL(file, folder), "utf8").replaceAll("/work/shop", root);
  const payloads = text("hooks.jsonl").trim().split("\n").map((line) => JSON.parse(line));
  const transcript = join(home.folder, `${session}.jsonl`);
  home.write(transcript, text("transcript.jsonl"));
  const events = { SessionStart: "session-start", UserPromptSubmit: "user-prompt-submit", PostToolUse: "post-tool-use", PostToolUseFailure: "post-tool-use-failure", Stop: "stop", SubagentStop: "subagent-stop", PreCompact: "pre-compact", SessionEnd: "session-end" };
  for (const payload of payloads) {
    const event = events[payload.hook_event_name];
    if (event) home.hook(event, { ...payload, transcript_path: transcript });
  }
  return payloads[0].session_id;
}

// Fills a home. Returns the URL path of each page by the name of its screenshot.
export function fill(home) {
  const roots = {
    atlas: home.repository("atlas", "https://github.com/acme/atlas.git", "feature/vector-tiles"),
    paperplane: home.repository("paperplane", "https://github.com/acme/paperplane.git"),
    shop: home.repository("shop", "https://github.com/acme/shop.git"),
  };
  home.write(join(roots.atlas, "src/pool.rs"), "pub struct Pool;\n");
  home.write(join(roots.atlas, "src/vector.rs"), "pub fn encode_vector() {}\n");
  home.importLines(HISTORY.map(([type, title, narrative, file, age]) => {
    const at = Date.now() - DAY * age - HOUR * (age % 9);
    return { kind: "observation", project: "github.com/acme/atlas", type, title, narrative, files_modified: [file], created_at: new Date(at).toISOString() };
  }));
  const work = SESSIONS.map(([project, branch, age, turns], n) => [age, () => {
    const session = `7f3a9c${n}0-51d2-4b8e-9a10-c0ffee0000${n}${n}`;
    home.repository(project, `https://github.com/acme/${project}.git`, branch);
    report(home, roots[project], session, turns);
    return session;
  }]);
  [["bug-fix", 9 * DAY], ["refactor", 8 * DAY], ["investigation", 2 * DAY]].forEach(([name, age], n) => {
    work.push([age, () => replayRecorded(home, roots.shop, name, `recorded-${n}`)]);
  });
  // The oldest first. What is older than ten days is distilled before the rest, so that later sessions are told about it.
  work.sort(([one], [other]) => other - one);
  for (const isOlder of [true, false]) {
    const wave = work.filter(([age]) => age > 10 * DAY === isOlder);
    const names = wave.map(([age, session]) => [session(), age]);
    home.drain();
    for (const [name, age] of names) moveBack(home, name, age);
  }
  home.run(["remember", "Deploys go through the staging cluster first; production only on Tuesdays.", "--pin"], "", roots.atlas);
  home.run(["remember", "Never send test letters to the real list: use list 999."], "", roots.paperplane);
  report(home, roots.paperplane, "e51b7702-0a4c-4d0f-8f7e-2d1a90bb1234", NOW_RUNNING[2], false);
  home.drain();
  // Changed after its memory was made, so that the memory is stale.
  home.write(join(roots.atlas, "src/pool.rs"), "pub struct Pool { idle: Vec<Connection> }\n");
  const leak = home.sql("select id from observation join observation_file on observation_id = id where path = 'src/pool.rs' and turn_id is not null limit 1");
  const vector = home.sql("select session_id from session where session_id like '7f3a9c2%'");
  return {
    pages: {
      now: "/",
      search: "/search?q=why%20are%20tiles%20fetched%20again",
      sessions: "/sessions",
      session: `/sessions/${vector}`,
      replay: `/sessions/${vector}?turn=1`,
      projects: "/projects",
      project: "/projects/github.com%2Facme%2Fatlas",
      memory: `/memories/${leak}`,
      edit: `/memories/${leak}?edit`,
      file: "/files?path=src%2Fpool.rs",
      files: "/files",
      recall: "/recall",
      context: "/context?project=github.com%2Facme%2Fatlas",
      status: "/status",
      settings: "/settings",
    },
  };
}
