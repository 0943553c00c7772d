// Sample data: weeks of work in three projects, reported through the real hooks and then moved back in time.

import { readFileSync } from "node:fs";
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

const TITLES = [
  ["discovery", "Tile requests at night come from one crawler", "src/log.rs"], ["bugfix", "Retina tiles have the right scale", "src/scale.rs"],
  ["refactor", "`TileStore` and `StyleStore` share one pool", "src/pool.rs"], ["feature", "Labels are placed in the reader's language", "src/labels.rs"],
  ["change", "Dependencies are up to date", "Cargo.lock"], ["decision", "Coordinates are kept as integers of a centimeter", "src/geo.rs"],
  ["discovery", "Coastlines are cut at the antimeridian", "src/geo.rs"], ["bugfix", "The legend no longer overlaps the scale bar", "src/style.rs"],
  ["feature", "Styles can be previewed before they are published", "src/style.rs"], ["bugfix", "Empty tiles answer 204 instead of an empty body", "src/tiles.rs"],
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

// Moves a session back in time; earlier turns move further than later ones.
function moveBack(session, ms) {
  const of = `(select id from session where session_id = '${session}')`;
  const spread = 9 * 60 * 1000;
  return `
    update session set started_at = started_at - ${ms} - ${spread}, last_event_at = last_event_at - ${ms}, ended_at = ended_at - ${ms} where session_id = '${session}';
    update turn set started_at = started_at - ${ms} - ${spread} / number, ended_at = ended_at - ${ms} - ${spread} / (number + 3) where session_db_id = ${of};
    update event set at = at - ${ms} where session_db_id = ${of};
    update observation set created_at = created_at - ${ms}, last_seen_at = last_seen_at - ${ms} where session_db_id = ${of};
    update summary set created_at = created_at - ${ms} where session_db_id = ${of};
    update passage set created_at = created_at - ${ms} where session_db_id = ${of};`;
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
  const moves = [];
  SESSIONS.forEach(([project, branch, age, turns], n) => {
    const session = `7f3a9c${n}0-51d2-4b8e-9a10-c0ffee0000${n}${n}`;
    home.repository(project, `https://github.com/acme/${project}.git`, branch);
    report(home, roots[project], session, turns);
    moves.push(moveBack(session, age));
  });
  [["bug-fix", 9 * DAY], ["refactor", 8 * DAY], ["investigation", 2 * DAY]].forEach(([name, age], n) => {
    moves.push(moveBack(replayRecorded(home, roots.shop, name, `recorded-${n}`), age));
  });
  home.drain();
  home.sql(moves.join(""));
  home.importLines(Array.from({ length: 90 }, (_, n) => {
    const [type, title, file] = TITLES[(n * 7) % TITLES.length];
    const at = Date.now() - DAY * (80 - ((n * 13) % 79)) - HOUR * (n % 9);
    return { kind: "observation", project: "github.com/acme/atlas", type, title: n < TITLES.length ? title : `${title}, part ${1 + Math.floor(n / TITLES.length)}`, narrative: `${title.replaceAll("`", "")}; found while working on ${file}.`, files_modified: [file], created_at: new Date(at).toISOString() };
  }));
  home.run(["remember", "Deploys go through the staging cluster first; production only on Tuesdays.", "--pin"], "", roots.atlas);
  home.run(["remember", "Never send test letters to the real list: use list 999."], "", roots.paperplane);
  report(home, roots.paperplane, "e51b7702-0a4c-4d0f-8f7e-2d1a90bb1234", NOW_RUNNING[2], false);
  home.drain();
  // Changed after its memory was made, so that the memory is stale.
  home.write(join(roots.atlas, "src/pool.rs"), "pub struct Pool { idle: Vec<Connection> }\n");
  const leak = home.sql("select id from observation where title like '%leak%' or title like '%handle%' order by id limit 1") || "1";
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
      context: "/context?project=github.com%2Facme%2Fatlas",
      status: "/status",
      settings: "/settings",
    },
  };
}
