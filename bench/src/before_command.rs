//! Recall before a command, on replayed transcripts.
//!
//! `cargo run --release -p backstory-bench -- before-command [--product FILE] [--list] FOLDER...`. A folder of transcripts is
//! one project. Its sessions are replayed in the order of time through the hooks of the real binary; the worker distills after
//! each session. Before each shell command `hook pre-tool-use` runs, as the client runs it, and its answer is counted:
//!
//! - *repeats*: the command failed in an earlier turn, or one of the same program with the option that its error names; in
//!   that turn, with no edit in between and within six commands, another command of the same program or with the same
//!   arguments passed; and it has not passed since. Checks are left out: what they find is about the code. Expected: the command
//!   that passed.
//! - *without history*: no command of this program has failed before. Expected: silence.
//!
//! Both are decided here from exit codes and words, not by the code under test. A session hears of an invocation once, so a
//! second repeat in the same session is not counted.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use backstory_distill::{ToolOutcome, ToolUse, TurnInput, TurnStep};
use backstory_model::Timestamp;
use serde_json::{Value, json};

use crate::{
    home::{self, Home},
    process,
    programs::Programs,
    report::Samples,
    worklog,
};

/// Replays folders of transcripts; returns true if all limits are met.
pub(crate) fn print(words: impl Iterator<Item = String>) -> Result<bool> {
    let (mut folders, mut product, mut list) = (Vec::new(), None, false);
    let mut words = words;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--product" => product = Some(PathBuf::from(words.next().context("--product needs a file")?)),
            "--list" => list = true,
            flag if flag.starts_with("--") => bail!("unknown argument {flag}"),
            folder => folders.push(PathBuf::from(folder)),
        }
    }
    ensure!(
        !folders.is_empty(),
        "name folders of transcripts: before-command FOLDER..."
    );
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    let run = out.join(format!("run-{}", std::process::id()));
    fs::create_dir_all(&run)?;
    let counts = replay_all(&folders, product.as_deref(), &run, list);
    fs::remove_dir_all(&run)?;
    Ok(counts?.report())
}

fn replay_all(folders: &[PathBuf], product: Option<&Path>, run: &Path, list: bool) -> Result<Counts> {
    let programs = Programs::prepare(product, run)?;
    // Built like the product, if it was built here.
    let beside = product.map(|path| path.with_file_name("backstory-noop"));
    let noop = match beside.filter(|path| path.exists()) {
        Some(path) => path,
        None => programs.noop()?,
    };
    let mut counts = Counts {
        list,
        ..Counts::default()
    };
    for (at, folder) in folders.iter().enumerate() {
        let home = Home::create(run.join(format!("home-{at}")), &programs.product, None)?;
        let project = run.join(format!("project-{at}"));
        home::create_project(&project)?;
        let mut replay = Replay {
            home,
            project,
            noop: noop.clone(),
            history: History::default(),
            counts: &mut counts,
        };
        for session in sessions(folder)? {
            replay.session(&session)?;
        }
    }
    Ok(counts)
}

/// One transcript.
struct Session {
    id: String,
    turns: Vec<TurnInput>,
}

/// Reads the transcripts of a folder, oldest first.
fn sessions(folder: &Path) -> Result<Vec<Session>> {
    let mut found: Vec<(Timestamp, Session)> = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let turns = worklog::read(&path)?;
        let first = turns
            .iter()
            .flat_map(|turn| &turn.steps)
            .find_map(|step| match step {
                TurnStep::Tool(tool) => Some(tool.at),
                _ => None,
            });
        let id = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        found.extend(first.map(|first| (first, Session { id, turns })));
    }
    ensure!(
        !found.is_empty(),
        "{} has no transcripts (*.jsonl)",
        folder.display()
    );
    found.sort_by(|one, other| (one.0, &one.1.id).cmp(&(other.0, &other.1.id)));
    Ok(found.into_iter().map(|(_, session)| session).collect())
}

struct Replay<'c> {
    home: Home,
    project: PathBuf,
    noop: PathBuf,
    history: History,
    counts: &'c mut Counts,
}

impl Replay<'_> {
    fn session(&mut self, session: &Session) -> Result<()> {
        let mut asked = HashSet::new();
        for (number, turn) in session.turns.iter().enumerate() {
            let prompt_id = format!("{}-{number}", session.id);
            let base = json!({"session_id": session.id, "prompt_id": prompt_id, "cwd": self.project});
            let prompt = turn.prompt.as_deref().unwrap_or("Go on with the work");
            self.hook("user-prompt-submit", &base, json!({"prompt": prompt}))?;
            for step in &turn.steps {
                let TurnStep::Tool(tool) = step else { continue };
                let command = tool.input.get("command").and_then(Value::as_str);
                if let Some(command) = command.filter(|_| tool.name == "Bash") {
                    self.before(&base, command, &mut asked)?;
                    self.history.ran(command, &tool.outcome);
                } else if matches!(tool.name.as_str(), "Edit" | "Write" | "MultiEdit") {
                    self.history.edited();
                }
                self.after(&base, tool)?;
            }
            let message = turn.last_message.as_deref().unwrap_or("Done.");
            self.hook("stop", &base, json!({"last_assistant_message": message}))?;
            self.history.end_turn();
            self.home.ingest()?;
        }
        Ok(())
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

    fn before(&mut self, base: &Value, command: &str, asked: &mut HashSet<String>) -> Result<()> {
        let input = json!({"tool_name": "Bash", "tool_input": {"command": command}});
        let start = Instant::now();
        let output = self.hook("pre-tool-use", base, input)?;
        self.counts.hook.add(start.elapsed());
        let start = Instant::now();
        process::run_with_output(&mut self.home.inside(&self.noop), b"{}")?;
        self.counts.noop.add(start.elapsed());
        let output: Value = serde_json::from_str(&output).unwrap_or_default();
        let said = output["hookSpecificOutput"]["additionalContext"].as_str();
        self.counts.commands += 1;
        if let Some(remedies) = self.history.remedies(command) {
            if asked.insert(normalized(command)) {
                let is_told =
                    said.is_some_and(|said| remedies.iter().any(|remedy| said.contains(remedy.as_str())));
                self.counts.repeats += 1;
                self.counts.told += usize::from(is_told);
                self.counts
                    .show(if is_told { "told" } else { "MISSED" }, command, said);
            }
        } else if self.history.is_without(command) {
            self.counts.without_history += 1;
            self.counts.false_alarms += usize::from(said.is_some());
            if said.is_some() {
                self.counts.show("FALSE", command, said);
            }
        } else if said.is_some() {
            self.counts.others += 1;
            self.counts.show("other", command, said);
        }
        Ok(())
    }

    fn after(&self, base: &Value, tool: &ToolUse) -> Result<()> {
        let mut fields = json!({"tool_name": tool.name, "tool_input": tool.input, "tool_use_id": tool.id});
        match &tool.outcome {
            ToolOutcome::Answered(answer) => {
                fields["tool_response"] = answer.clone();
                self.hook("post-tool-use", base, fields).map(drop)
            }
            ToolOutcome::Failed(error) => {
                fields["error"] = error.as_str().into();
                self.hook("post-tool-use-failure", base, fields).map(drop)
            }
            ToolOutcome::Refused(_) | ToolOutcome::Unknown => Ok(()),
        }
    }
}

/// Failures and passes of a project, as the exit codes tell.
#[derive(Default)]
struct History {
    /// Failed commands with the commands that passed instead.
    fixed: HashMap<String, Vec<String>>,
    /// The same of the running turn: it counts from the next turn on.
    fixed_now: HashMap<String, Vec<String>>,
    /// Programs of which a command has failed.
    failed: HashSet<String>,
    /// Failures of the running turn: the command, and the number of commands since.
    open: Vec<(String, usize)>,
}

impl History {
    fn ran(&mut self, command: &str, outcome: &ToolOutcome) {
        const MAX_COMMANDS: usize = 6;
        let command = normalized(command);
        for (_, runs) in &mut self.open {
            *runs += 1;
        }
        self.open.retain(|(_, runs)| *runs <= MAX_COMMANDS);
        match outcome {
            ToolOutcome::Failed(error)
                if error.starts_with("Exit code") || error.starts_with("Error: Exit") =>
            {
                self.failed.extend(program(&command).map(ToOwned::to_owned));
                // Searches fail when nothing is found, merges when there are conflicts.
                let option = rejected_option(&command, error);
                if let Some(option) = option {
                    self.open.push((option, 0));
                } else if !is_search(&command) && !error.to_lowercase().contains("conflict") {
                    self.open.push((command, 0));
                }
            }
            ToolOutcome::Answered(_) => {
                for key in keys(&command) {
                    self.fixed.remove(&key);
                    self.fixed_now.remove(&key);
                    self.open.retain(|(failed, _)| *failed != key);
                }
                let fixed = self.open.extract_if(.., |(failed, _)| is_fix(failed, &command));
                for (failed, _) in fixed {
                    self.fixed_now.entry(failed).or_default().push(command.clone());
                }
            }
            _ => {}
        }
    }

    /// An edit may be the fix.
    fn edited(&mut self) {
        self.open.clear();
    }

    fn end_turn(&mut self) {
        self.open.clear();
        self.fixed.extend(self.fixed_now.drain());
    }

    /// Returns the first words of the commands that worked instead; they are compared with the output.
    fn remedies(&self, command: &str) -> Option<Vec<String>> {
        let fixes = keys(&normalized(command)).find_map(|key| self.fixed.get(&key))?;
        Some(
            fixes
                .iter()
                .map(|fix| fix.split('#').next().unwrap_or(fix).trim().to_owned())
                .collect(),
        )
    }

    fn is_without(&self, command: &str) -> bool {
        let command = normalized(command);
        let programs: Vec<&str> = command.split([';', '|', '&', '\n']).filter_map(program).collect();
        !programs.iter().any(|program| self.failed.contains(*program))
    }
}

/// Returns the command itself and the program with each of its options.
fn keys(command: &str) -> impl Iterator<Item = String> {
    let options = command.split_whitespace().filter(|word| word.starts_with('-'));
    let options = options.filter_map(|option| Some(format!("{} {option}", two_words(command)?)));
    std::iter::once(command.to_owned()).chain(options)
}

fn two_words(command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    Some(format!("{} {}", words.next()?, words.next()?))
}

/// Returns the program with the option that an error names: `unknown flag: --stat`.
fn rejected_option(command: &str, error: &str) -> Option<String> {
    let line = error.lines().find(|line| {
        ["unknown", "unrecognized", "invalid option", "not defined"]
            .iter()
            .any(|sign| line.contains(sign))
    })?;
    let mut options = command
        .split_whitespace()
        .filter(|word| word.len() > 2 && word.starts_with('-'));
    let option = options.find(|option| line.contains(option.trim_start_matches('-')))?;
    Some(format!("{} {option}", two_words(command)?))
}

/// Reports whether a command that passed does the work of a failed one.
fn is_fix(failed: &str, passed: &str) -> bool {
    let words =
        |command: &str| -> Vec<String> { command.split_whitespace().map(ToOwned::to_owned).collect() };
    let (before, after) = (words(failed), words(passed));
    let is_simple = |command: &str| !command.contains([';', '|', '&', '\n']);
    if before.is_empty() || after.is_empty() || !is_simple(failed) || !is_simple(passed) || failed == passed {
        return false;
    }
    let is_check = ["test", "build", "lint", "check", "vet"]
        .iter()
        .any(|word| before.iter().any(|part| part.contains(word)));
    let same_program = before[0] == after[0] && before.get(1) == after.get(1);
    let same_arguments = before.len() > 1 && before[1..] == after[1..];
    let has_all = before.iter().all(|word| after.contains(word));
    let shares = before[1..].iter().skip(1).any(|word| after[1..].contains(word));
    let drops_option =
        before.len() == 3 && before[2].starts_with('-') && same_program && !after.contains(&before[2]);
    drops_option || (!is_check && (same_arguments || has_all || (same_program && shares)))
}

fn is_search(command: &str) -> bool {
    let searches = [
        "grep", "rg", "find", "ls", "cat", "test", "diff", "which", "head", "tail", "sed", "wc",
    ];
    program(command).is_some_and(|program| searches.contains(&program))
}

/// Returns the program of a command.
fn program(command: &str) -> Option<&str> {
    command.split_whitespace().find(|word| !word.contains('='))
}

/// Removes what differs between runs: the folder, variables, numbers and hashes, shortened output.
fn normalized(command: &str) -> String {
    let mut command = command.trim();
    while let Some((folder, rest)) = command
        .split_once("&&")
        .filter(|(first, _)| first.starts_with("cd "))
    {
        debug_assert!(folder.starts_with("cd "), "checked");
        command = rest.trim();
    }
    let mut text = command.replace(" 2>&1", "");
    for filter in ["| head", "| tail", "| grep"] {
        text.truncate(text.find(filter).unwrap_or(text.len()));
    }
    let is_hash = |word: &str| word.len() >= 7 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    let words = text.split_whitespace().map(|word| {
        if is_number(word) || is_hash(word) {
            "#"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[derive(Default)]
struct Counts {
    list: bool,
    commands: usize,
    repeats: usize,
    told: usize,
    without_history: usize,
    false_alarms: usize,
    others: usize,
    hook: Samples,
    noop: Samples,
}

impl Counts {
    fn show(&self, result: &str, command: &str, said: Option<&str>) {
        if self.list {
            let command: String = command.chars().take(160).collect();
            let said = said.unwrap_or_default().replace('\n', " ");
            println!("{result:<7} {}\n        {said}", command.replace('\n', "⏎"));
        }
    }

    fn report(&self) -> bool {
        /// Share of repeats with the remedy, and of other commands with anything, in percent.
        const MIN_TOLD: f64 = 70.0;
        const MAX_FALSE: f64 = 0.5;
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        let told = percent(self.told, self.repeats);
        let wrong = percent(self.false_alarms, self.without_history);
        println!("commands: {}", self.commands);
        println!(
            "repeats of a failure that another command fixed: {}, remedy injected {told:.0} %",
            self.repeats
        );
        println!(
            "commands without history: {}, anything injected {wrong:.2} % ({})",
            self.without_history, self.false_alarms
        );
        println!("other commands with an injection: {}", self.others);
        println!(
            "time of the hook: p50 {:.2} ms, p99 {:.2} ms; empty process p50 {:.2} ms",
            self.hook.median() / 1000.0,
            self.hook.percentile(99) / 1000.0,
            self.noop.median() / 1000.0
        );
        (self.repeats == 0 || told >= MIN_TOLD) && wrong <= MAX_FALSE
    }
}
