//! Live sessions while the worker is killed repeatedly: the memories are the same as without kills.

use std::{
    fs,
    io::Write as _,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::home::{Home, eventually, settings};

/// Seeded random numbers, so that a failing run can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Step of a session: new transcript lines, and the hook that runs after them.
#[derive(Clone)]
struct Step {
    session: String,
    transcript: Vec<Value>,
    event: &'static str,
    fields: Value,
}

/// Steps of a session, in the client's order: the last message reaches the transcript after the hook.
struct Script {
    session: String,
    prompt: String,
    late: Vec<Value>,
    steps: Vec<Step>,
}

impl Script {
    fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            prompt: String::new(),
            late: Vec::new(),
            steps: Vec::new(),
        }
    }

    fn line(&self, kind: &str, content: &Value) -> Value {
        json!({"type": kind, "sessionId": self.session, "uuid": format!("{}-{}-{}", self.session, self.steps.len(), self.late.len()),
            "promptId": self.prompt, "timestamp": "2026-11-15T10:00:00.000Z", "message": {"role": kind, "content": content}})
    }

    fn step(&mut self, event: &'static str, transcript: Vec<Value>, mut fields: Value) {
        fields["session_id"] = json!(self.session);
        fields["prompt_id"] = json!(self.prompt);
        let mut lines = std::mem::take(&mut self.late);
        lines.extend(transcript);
        self.steps.push(Step {
            session: self.session.clone(),
            transcript: lines,
            event,
            fields,
        });
    }

    fn prompt(&mut self, id: &str, text: &str) {
        self.prompt = format!("{}-{id}", self.session);
        let line = self.line("user", &json!(text));
        self.step("user-prompt-submit", Vec::new(), json!({"prompt": text}));
        self.late.push(line);
    }

    fn tool(&mut self, said: &str, tool: &str, input: &Value, response: Value) {
        let id = format!("toolu_{}_{}", self.session, self.steps.len());
        let mut lines = Vec::new();
        if !said.is_empty() {
            lines.push(self.line("assistant", &json!([{"type": "text", "text": said}])));
        }
        lines.push(self.line(
            "assistant",
            &json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]),
        ));
        let fields = json!({"tool_name": tool, "tool_use_id": id, "tool_input": input});
        match response {
            Value::String(error) => {
                let mut fields = fields;
                fields["error"] = json!(error);
                self.step("post-tool-use-failure", lines, fields);
            }
            response => {
                let mut fields = fields;
                fields["tool_response"] = response;
                self.step("post-tool-use", lines, fields);
            }
        }
    }

    fn edit(&mut self, said: &str, file: &str, old: &str, new: &str) {
        let patch = json!([{"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1,
            "lines": [format!("-{old}"), format!("+{new}")]}]);
        self.tool(
            said,
            "Edit",
            &json!({"file_path": format!("/work/shop/{file}"), "old_string": old, "new_string": new}),
            json!({"filePath": format!("/work/shop/{file}"), "structuredPatch": patch}),
        );
    }

    fn stop(&mut self, message: &str) {
        let line = self.line("assistant", &json!([{"type": "text", "text": message}]));
        self.step("stop", Vec::new(), json!({"last_assistant_message": message}));
        self.late.push(line);
    }
}

/// Returns a session with a bug fix, an interrupted attempt, a long refactoring and the same fix again.
fn script(session: &str, part: &str, long: usize) -> Vec<Step> {
    let mut script = Script::new(session);
    script.step("session-start", Vec::new(), json!({"source": "startup"}));
    script.prompt("p1", &format!("The {part} drops the last row, fix it"));
    script.tool(
        "I'll run the tests first.",
        "Bash",
        &json!({"command": format!("cargo test {part}")}),
        json!(format!("Exit code 101\ntest {part}::keeps_the_last_row ... FAILED\nassertion `left == right` failed\n  left: 9\n right: 10")),
    );
    script.edit(
        &format!("The {part} drops the last row because its range ends before `len`."),
        &format!("src/{part}.rs"),
        "for n in 0..rows.len() - 1",
        "for n in 0..rows.len()",
    );
    script.tool(
        "",
        "Bash",
        &json!({"command": format!("cargo test {part}")}),
        json!({"stdout": "test result: ok. 12 passed; 0 failed", "stderr": "", "interrupted": false}),
    );
    script.stop(&format!(
        "The {part} keeps the last row: its range ended before `len`. All 12 tests pass.\n\nNext steps: the same range is in the {part} of refunds."
    ));
    script.prompt("p2", &format!("Make the {part} stream its rows"));
    script.edit(
        "I'll try an iterator first.",
        &format!("src/{part}.rs"),
        "Vec<Row>",
        "impl Iterator<Item = Row>",
    );
    // Interrupted with Esc.
    script.prompt("p3", &format!("Rename Row to Record in the {part}"));
    for n in 0..long {
        script.edit("", &format!("src/{part}/part{n}.rs"), "Row", "Record");
    }
    script.stop(&format!("`Row` is called `Record` now, all over the {part}."));
    script.prompt("p4", &format!("The {part} drops the last row, fix it"));
    script.edit(
        &format!("The {part} drops the last row because its range ends before `len`."),
        &format!("src/{part}.rs"),
        "for n in 0..rows.len() - 1",
        "for n in 0..rows.len()",
    );
    script.stop(&format!(
        "The {part} keeps the last row: its range ended before `len`."
    ));
    script.step("session-end", Vec::new(), json!({"reason": "other"}));
    script.steps
}

/// Returns four concurrent sessions, interleaved in a fixed order.
fn day() -> Vec<Step> {
    let mut dice = Dice(0x0dd);
    let mut scripts: Vec<std::vec::IntoIter<Step>> = [
        ("s1", "importer", 41),
        ("s2", "exporter", 3),
        ("s3", "invoice", 3),
        ("s4", "ledger", 3),
    ]
    .map(|(session, part, long)| script(session, part, long).into_iter())
    .into();
    let mut steps = Vec::new();
    while !scripts.is_empty() {
        let which = usize::try_from(dice.roll(scripts.len() as u64)).unwrap();
        match scripts[which].next() {
            Some(step) => steps.push(step),
            None => drop(scripts.remove(which)),
        }
    }
    steps
}

fn take(home: &Home, step: &Step) {
    let transcript = home.outside().join(format!("{}.jsonl", step.session));
    let mut file = fs::File::options()
        .append(true)
        .create(true)
        .open(&transcript)
        .unwrap();
    for line in &step.transcript {
        writeln!(file, "{line}").unwrap();
    }
    let mut fields = step.fields.clone();
    fields["transcript_path"] = json!(transcript);
    home.report(step.event, &fields);
}

fn worker(home: &Home) -> Child {
    home.command(&["worker", "run"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns all stored data, without times and row numbers.
fn kept(home: &Home) -> Vec<String> {
    let sql = "select 'session ' || session_id || ' ' || status || ' ' || coalesce(title, '-') || ' ' || coalesce(subtitle, '-')
            from session
        union all select 'event ' || session_id || ' ' || (select count(*) from event e where e.session_db_id = s.id and e.key <= event.key)
            || ' ' || kind || ' ' || state || ' ' || coalesce(tool_use_id, '-') || ' ' || coalesce((select number from turn where id = turn_id), '-')
            from event join session s on s.id = session_db_id
        union all select 'turn ' || session_id || ' ' || number || ' ' || (t.ended_at is not null) || ' ' || distilled || ' ' || coalesce(prompt, '-')
            from turn t join session s on s.id = session_db_id
        union all select 'observation ' || session_id || ' ' || number || ' ' || type || ' ' || o.title || ' ' || coalesce(o.subtitle, '-') || ' ' ||
            coalesce(narrative, '-') || facts || concepts || files_read || files_modified || evidence || ' seen ' || seen
            from observation o join session s on s.id = o.session_db_id join turn t on t.id = o.turn_id
        union all select 'summary ' || session_id || ' ' || number || ' ' || coalesce(request, '-') || ' ' || coalesce(investigated, '-') || ' ' ||
            coalesce(learned, '-') || ' ' || coalesce(completed, '-') || ' ' || coalesce(next_steps, '-') || ' ' || files_edited || coalesce(notes, '-')
            from summary m join session s on s.id = m.session_db_id join turn t on t.id = m.turn_id
        union all select 'passage ' || session_id || ' ' || number || ' ' || kind || ' ' || text
            from passage p join session s on s.id = p.session_db_id join turn t on t.id = p.turn_id
        union all select 'document ' || kind || ' ' || count(*) from document group by kind
        union all select 'words ' || count(*) from words where words match 'row OR record'
        order by 1";
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    let check: String = connection
        .query_row("pragma integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    connection
        .execute_batch("insert into words (words) values ('integrity-check')")
        .unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Prints only the differences.
fn assert_same(kept: &[String], expected: &[String]) {
    let lost: Vec<_> = expected.iter().filter(|row| !kept.contains(row)).collect();
    let new: Vec<_> = kept.iter().filter(|row| !expected.contains(row)).collect();
    assert!(
        lost.is_empty() && new.is_empty(),
        "lost: {lost:#?}\nnew: {new:#?}"
    );
    assert_eq!(kept.len(), expected.len(), "something is there twice");
}

#[test]
fn memories_are_the_same_as_if_the_worker_was_never_killed() {
    const KILLS: usize = 20;
    let day = day();
    let calm = Home::new();
    let mut quiet = worker(&calm);
    day.iter().for_each(|step| take(&calm, step));
    eventually("everything is distilled", || {
        let queue = calm.json(&["queue", "--json"]);
        queue["pending"] == 0 && queue["processing"] == 0
    });
    quiet.kill().unwrap();
    quiet.wait().unwrap();
    let expected = kept(&calm);
    // Time that a worker needs for everything, on this machine under its current load.
    let late = Home::new();
    day.iter().for_each(|step| take(&late, step));
    let start = Instant::now();
    late.drain();
    let range = u64::try_from(start.elapsed().as_millis()).unwrap();
    assert_same(&kept(&late), &expected);

    let home = Home::new();
    let mut dice = Dice(0x5eed);
    let mut at_work = 0;
    for round in 0..KILLS {
        let steps = &day[round * day.len() / KILLS..(round + 1) * day.len() / KILLS];
        thread::scope(|scope| {
            let mut victim = worker(&home);
            scope.spawn(|| steps.iter().for_each(|step| take(&home, step)));
            // From before it takes the lock to well after it has distilled.
            thread::sleep(Duration::from_millis(5 + dice.roll(range)));
            at_work += usize::from(home.path().join("worker.json").exists());
            victim.kill().unwrap();
            victim.wait().unwrap();
        });
    }
    assert!(at_work > KILLS / 4, "the kills came too early: {at_work}");
    home.drain();
    assert_eq!(home.json(&["queue", "--json"])["failed"], 0);
    assert_same(&kept(&home), &expected);
    // Shows that the compared data is substantial.
    let mut settings = settings();
    settings.add_filter(r" #\d+", " #[id]");
    settings.bind(|| insta::assert_snapshot!("survival", home.ok(&["session", "s2"])));
}
