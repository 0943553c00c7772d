//! False alarms of recall at a prompt, on conversations.
//!
//! `cargo run --release -p backstory-bench -- false-fire [--product FILE] [--list] [--questions N] SET.jsonl...`. A set has one
//! JSON object per line: documents (`{"t": "doc", "g": GROUP, "sess" or "parent": SESSION, "text": …, "role": …}`) and questions
//! (`{"t": "q", "g": GROUP, "text": …, "rel": [document or session ids]}`). `docs/how-it-works.md` has the protocol.
//!
//! Every group becomes a project, and its sessions run through the hooks of the real binary. Then every prompt is sent by
//! `hook user-prompt-submit`, as the client sends it, from a session of its own.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use rusqlite::{Connection, OptionalExtension as _};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    gate::handles::handles,
    home::{self, Home},
    process,
    programs::Programs,
    report::Samples,
};

/// Runs the benchmark; returns true if all limits are met.
pub(crate) fn print(words: impl Iterator<Item = String>) -> Result<bool> {
    let mut options = Options::default();
    let mut words = words;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--product" => {
                options.product = Some(PathBuf::from(words.next().context("--product needs a file")?));
            }
            "--questions" => {
                let count = words.next().context("--questions needs a number")?;
                options.questions = Some(count.parse().context("--questions needs a number")?);
            }
            "--list" => options.list = true,
            flag if flag.starts_with("--") => bail!("unknown argument {flag}"),
            file => options.sets.push(PathBuf::from(file)),
        }
    }
    ensure!(!options.sets.is_empty(), "name sets: false-fire SET.jsonl...");
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    let run = out.join(format!("run-{}", std::process::id()));
    fs::create_dir_all(&run)?;
    let counts = measure(&options, &run);
    fs::remove_dir_all(&run)?;
    Ok(counts?.report())
}

#[derive(Debug, Default)]
struct Options {
    product: Option<PathBuf>,
    sets: Vec<PathBuf>,
    /// Questions per group; all if absent.
    questions: Option<usize>,
    list: bool,
}

/// One line of a set.
#[derive(Debug, Deserialize)]
struct Line {
    t: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    g: String,
    #[serde(default)]
    text: String,
    sess: Option<String>,
    parent: Option<String>,
    role: Option<String>,
    #[serde(default)]
    rel: Vec<String>,
}

/// A group of a set: sessions in their order, and questions.
#[derive(Debug, Default)]
struct Group {
    /// Turns of each session, as prompt and answer.
    sessions: Vec<(String, Vec<(String, String)>)>,
    /// Sessions by the id of a document.
    documents: HashMap<String, String>,
    questions: Vec<Line>,
}

fn groups(set: &Path) -> Result<BTreeMap<String, Group>> {
    let text = fs::read_to_string(set).with_context(|| format!("could not read {}", set.display()))?;
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let mut first_speaker: HashMap<String, String> = HashMap::new();
    for line in text.lines() {
        let line: Line =
            serde_json::from_str(line).with_context(|| format!("{} is no set", set.display()))?;
        let group = groups.entry(line.g.clone()).or_default();
        if line.t == "q" {
            group.questions.push(line);
        } else if let ("doc", Some(session)) = (line.t.as_str(), line.parent.as_ref().or(line.sess.as_ref()))
        {
            let session = session.clone();
            group.documents.insert(line.id.clone(), session.clone());
            // The one who speaks first takes the place of the user.
            let speaker = line.text.split(':').next().unwrap_or_default();
            let first = first_speaker
                .entry(format!("{} {session}", line.g))
                .or_insert_with(|| speaker.to_owned());
            let is_prompt = line
                .role
                .as_deref()
                .map_or(speaker == first, |role| role == "user");
            if group.sessions.last().is_none_or(|(name, _)| *name != session) {
                group.sessions.push((session, Vec::new()));
            }
            if let Some((_, turns)) = group.sessions.last_mut() {
                match turns.last_mut() {
                    Some((_, answer)) if !is_prompt => {
                        answer.push_str(&line.text);
                        answer.push('\n');
                    }
                    _ => turns.push((line.text, String::new())),
                }
            }
        }
    }
    groups.retain(|_, group| !group.sessions.is_empty());
    Ok(groups)
}

/// A group with its folder.
struct Project {
    root: PathBuf,
    group: Group,
}

fn measure(options: &Options, run: &Path) -> Result<Counts> {
    let programs = Programs::prepare(options.product.as_deref(), run)?;
    let home = Home::create(run.join("home"), &programs.product, None)?;
    let mut projects = Vec::new();
    for set in &options.sets {
        for (name, group) in groups(set)? {
            let number = projects.len();
            let root = run.join(format!("project-{number}"));
            home::create_repository(
                &root,
                &format!("https://github.com/acme/conversation-{number}.git"),
            )?;
            println!("{}: {name}, {} sessions", set.display(), group.sessions.len());
            projects.push(Project { root, group });
        }
    }
    ensure!(projects.len() > 1, "a foreign project is needed: name more sets");
    let asking = Asking { home, options };
    for (number, project) in projects.iter().enumerate() {
        asking.replay(number, project)?;
        asking.home.ingest()?;
    }
    let done = process::run(&mut asking.home.command(&["index", "--wait"]), b"")?;
    ensure!(done.status.success(), "index --wait failed");
    let connection = Connection::open(asking.home.database())?;
    let mut counts = Counts::default();
    for (number, project) in projects.iter().enumerate() {
        let foreign = &projects[(number + 1) % projects.len()];
        let most = options.questions.unwrap_or(usize::MAX);
        for question in project.group.questions.iter().take(most) {
            let said = asking.ask(&project.root, &question.text, &mut counts.time)?;
            let is_answered = said
                .as_deref()
                .is_some_and(|said| names_session(&connection, said, number, project, question));
            counts.own.add(said.is_some());
            counts.answered.add(is_answered);
            if !is_answered {
                asking.show("not answered", &question.text, said.as_deref());
            }
            let said = asking.ask(&foreign.root, &question.text, &mut counts.time)?;
            counts.foreign.add(said.is_some());
            if said.is_some() {
                asking.show("foreign", &question.text, said.as_deref());
            }
        }
        for prompt in everyday() {
            let said = asking.ask(&project.root, &prompt, &mut counts.time)?;
            counts.everyday.add(said.is_some());
            if said.is_some() {
                asking.show("everyday", &prompt, said.as_deref());
            }
        }
    }
    Ok(counts)
}

/// Reports whether an injected text has a memory of a session that answers a question.
fn names_session(
    connection: &Connection,
    said: &str,
    number: usize,
    project: &Project,
    question: &Line,
) -> bool {
    let relevant: Vec<String> = question
        .rel
        .iter()
        .map(|id| session_id(number, project.group.documents.get(id).unwrap_or(id)))
        .collect();
    handles(said).iter().any(|handle| {
        let sql = format!(
            "select session.session_id from {} as memory join session on session.id = memory.session_db_id where memory.id = ?1",
            handle.table
        );
        let session: Option<String> = connection
            .query_row(&sql, [handle.id], |row| row.get(0))
            .optional()
            .ok()
            .flatten();
        session.is_some_and(|session| relevant.contains(&session))
    })
}

fn session_id(project: usize, session: &str) -> String {
    format!("project-{project}-{session}")
}

struct Asking<'o> {
    home: Home,
    options: &'o Options,
}

impl Asking<'_> {
    /// Runs the sessions of a project through the hooks.
    fn replay(&self, number: usize, project: &Project) -> Result<()> {
        for (session, turns) in &project.group.sessions {
            let base = json!({"session_id": session_id(number, session), "cwd": project.root});
            for (prompt, answer) in turns {
                self.hook("user-prompt-submit", &base, json!({"prompt": prompt}))?;
                self.hook("stop", &base, json!({"last_assistant_message": answer}))?;
            }
            self.hook("session-end", &base, json!({"reason": "exit"}))?;
        }
        Ok(())
    }

    /// Sends a prompt from a new session; returns the injected text.
    fn ask(&self, root: &Path, prompt: &str, time: &mut Samples) -> Result<Option<String>> {
        let base = json!({"session_id": "asking", "cwd": root});
        let start = std::time::Instant::now();
        let output = self.hook("user-prompt-submit", &base, json!({"prompt": prompt}))?;
        time.add(start.elapsed());
        // No session has a memory of what it was told before.
        self.home.clear_injection_log()?;
        let output: Value = serde_json::from_str(&output).unwrap_or_default();
        let said = output["hookSpecificOutput"]["additionalContext"].as_str();
        Ok(said.map(ToOwned::to_owned))
    }

    fn hook(&self, event: &str, base: &Value, fields: Value) -> Result<String> {
        let mut payload = base.clone();
        if let (Value::Object(payload), Value::Object(fields)) = (&mut payload, fields) {
            payload.extend(fields);
        }
        let mut command = self.home.command(&["hook", event]);
        let (finished, output) = process::run_with_output(&mut command, payload.to_string().as_bytes())?;
        ensure!(finished.status.success(), "hook {event} failed");
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    fn show(&self, kind: &str, prompt: &str, said: Option<&str>) {
        if self.options.list {
            let said = said.unwrap_or("(nothing)").replace('\n', "\n    ");
            println!("{kind}: {prompt}\n    {said}");
        }
    }
}

/// Returns 300 prompts about no subject, as users type them all day.
fn everyday() -> Vec<String> {
    const ORDERS: [&str; 30] = [
        "run the tests",
        "commit this",
        "push it",
        "fix the lint errors",
        "format the code",
        "continue",
        "try that again",
        "undo the last change",
        "show me the diff",
        "explain what you did",
        "go ahead with the plan",
        "open a pull request",
        "write a commit message",
        "add a test for it",
        "clean that up",
        "rename the variable",
        "update the readme",
        "check if it builds",
        "look at the output",
        "make it shorter",
        "remove the comments",
        "do the next step",
        "review your changes",
        "run it once more",
        "use the other approach",
        "check the logs",
        "merge the branch",
        "summarize what changed",
        "stop and wait for me",
        "start the server",
    ];
    const ENDS: [&str; 10] = [
        "",
        " again",
        " please",
        " now",
        ", thanks",
        " and tell me the result",
        ", then stop",
        " first",
        ", it still fails",
        " when you are done",
    ];
    let with_ends = |order: &&str| ENDS.map(|end| format!("{order}{end}"));
    ORDERS.iter().flat_map(with_ends).collect()
}

/// Number of prompts of a kind, and of those with the counted result.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    all: usize,
    counted: usize,
}

impl Share {
    fn add(&mut self, is_counted: bool) {
        self.all += 1;
        self.counted += usize::from(is_counted);
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    fn percent(self) -> f64 {
        100.0 * self.counted as f64 / self.all.max(1) as f64
    }
}

#[derive(Default)]
struct Counts {
    own: Share,
    answered: Share,
    foreign: Share,
    everyday: Share,
    time: Samples,
}

impl Counts {
    fn report(&self) -> bool {
        const MIN_ANSWERED: f64 = 85.0;
        const MAX_FOREIGN: f64 = 2.0;
        const MAX_EVERYDAY: f64 = 1.0;
        for (name, share) in [
            ("questions in their own project: anything injected", self.own),
            (
                "questions in their own project: a session that answers",
                self.answered,
            ),
            ("questions in a foreign project: anything injected", self.foreign),
            ("everyday prompts: anything injected", self.everyday),
        ] {
            println!(
                "{name}: {} of {} ({:.1} %)",
                share.counted,
                share.all,
                share.percent()
            );
        }
        println!(
            "time of the hook: p50 {:.2} ms, p99 {:.2} ms",
            self.time.median() / 1000.0,
            self.time.percentile(99) / 1000.0
        );
        self.answered.percent() >= MIN_ANSWERED
            && self.foreign.percent() <= MAX_FOREIGN
            && self.everyday.percent() <= MAX_EVERYDAY
    }
}
