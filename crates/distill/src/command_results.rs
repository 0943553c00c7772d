//! Results of commands, for recall before the next run: what passed, and what failed until another command worked.
//!
//! A lesson needs proof: the command failed, nothing in the project changed, and another invocation of the same program or
//! with the same arguments passed soon after. A failure that an edit fixed is about the code, not about the command.

use std::collections::HashMap;

use backstory_model::{CommandKey, CommandLesson, CommandResult, Timestamp};

use crate::evidence::{KeyedCommand, keyed_commands};
use crate::{Action, CommandRun, Purpose, RunOutcome, TurnLog};

/// A command that passes later than this many runs after a failure is other work.
const MAX_RUNS: usize = 6;
/// The longest command that is quoted, in bytes.
const MAX_COMMAND: usize = 200;
const MAX_ERROR: usize = 120;

/// Returns the last result of each invocation of a session.
pub(crate) fn command_results(logs: &[TurnLog]) -> Vec<CommandResult> {
    let mut results = Results::default();
    for log in logs {
        // Another request is other work.
        if !log.machine_made {
            results.open.clear();
        }
        for entry in &log.entries {
            let place = Place {
                turn: log.number,
                at: entry.at,
            };
            match &entry.action {
                Action::Run(run) => results.run(run, place),
                Action::Change(change) if !change.scratch => {
                    results.open.retain(|failure| failure.cause != Cause::Unknown);
                }
                _ => {}
            }
        }
    }
    let mut found: Vec<CommandResult> = results.last.into_values().collect();
    found.sort_by_key(|result| (result.at, result.key));
    found
}

/// The turn and time of a run.
#[derive(Clone, Copy)]
struct Place {
    turn: u32,
    at: Timestamp,
}

/// The reason of a failure, as far as the error line tells.
#[derive(Debug, PartialEq, Eq)]
enum Cause {
    /// The program is not installed.
    MissingProgram,
    /// The program rejects an option.
    RejectedFlag(String),
    /// Anything else.
    Unknown,
}

/// A failure without a remedy so far.
struct Failure {
    key: CommandKey,
    cause: Cause,
    command: KeyedCommand,
    purpose: Purpose,
    error: Option<String>,
    place: Place,
    /// Number of runs since.
    runs: usize,
}

#[derive(Default)]
struct Results {
    last: HashMap<CommandKey, CommandResult>,
    open: Vec<Failure>,
}

impl Results {
    fn run(&mut self, run: &CommandRun, place: Place) {
        for failure in &mut self.open {
            failure.runs += 1;
        }
        self.open.retain(|failure| failure.runs <= MAX_RUNS);
        match run.outcome {
            RunOutcome::Passed => self.pass(run, place),
            RunOutcome::Failed => self.open.extend(failure(run, place)),
            RunOutcome::Unknown => {}
        }
    }

    fn pass(&mut self, run: &CommandRun, place: Place) {
        for command in keyed_commands(&run.command) {
            if !command.is_hidden {
                for key in command.keys() {
                    self.open.retain(|failure| failure.key != key);
                    self.put(key, place, None);
                }
            }
            let mut open = std::mem::take(&mut self.open);
            open.retain(|failure| {
                let is_remedy = is_remedy(failure, &command);
                if is_remedy {
                    let lesson = CommandLesson {
                        failed: quoted(&failure.command),
                        error: failure.error.clone(),
                        remedy: quoted(&command),
                    };
                    self.put(failure.key, failure.place, Some(lesson));
                }
                !is_remedy
            });
            self.open = open;
        }
    }

    fn put(&mut self, key: CommandKey, place: Place, lesson: Option<CommandLesson>) {
        let result = CommandResult {
            key,
            turn: place.turn,
            at: place.at,
            lesson,
        };
        self.last.insert(key, result);
    }
}

/// Reads a failed run; `None` if it is not certain which command failed, or if it says nothing about later runs.
fn failure(run: &CommandRun, place: Place) -> Option<Failure> {
    let text = run.failed_part.as_deref().unwrap_or(&run.command);
    let mut commands = keyed_commands(text);
    let line = run.error.as_ref().map(|error| error.line.as_str());
    // `a && b`: the error may still name the program or the option.
    let cause = |command: &KeyedCommand| cause(command, line.unwrap_or_default());
    let at = match commands.iter().position(|one| cause(one) != Cause::Unknown) {
        Some(at) => at,
        None if commands.len() == 1 => 0,
        None => return None,
    };
    let command = commands.swap_remove(at);
    let cause = cause(&command);
    let is_conflict = line.is_some_and(|line| line.to_ascii_lowercase().contains("conflict"));
    let key = match &cause {
        Cause::MissingProgram => command.program_key(),
        Cause::RejectedFlag(flag) => command.flag_key(flag),
        // A search without a match, a merge with conflicts, a check that found something: the command did its work.
        Cause::Unknown if run.purpose == Purpose::Inspect || is_conflict => return None,
        Cause::Unknown if is_check(run.purpose) && line.is_none_or(is_finding) => return None,
        Cause::Unknown => command.invocation_key()?,
    };
    Some(Failure {
        key,
        cause,
        command,
        purpose: run.purpose,
        error: line.map(|line| cut(line, MAX_ERROR).to_owned()),
        place,
        runs: 0,
    })
}

const fn is_check(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Test | Purpose::Build | Purpose::Lint)
}

/// Reports whether an error line is a finding about the code: a failed test, a position in a file.
fn is_finding(line: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "fail",
        "panicked",
        "assert",
        "expected",
        "error[",
        "issues",
        "mismatch",
        "traceback",
    ];
    let lower = line.to_ascii_lowercase();
    let is_position = |word: &str| {
        let mut parts = word.split(':').skip(1);
        parts
            .next()
            .is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    SIGNS.iter().any(|sign| lower.contains(sign)) || line.split_whitespace().next().is_some_and(is_position)
}

fn cause(command: &KeyedCommand, line: &str) -> Cause {
    let lower = line.to_ascii_lowercase();
    let names = |word: &str| {
        line.split(|c: char| c.is_whitespace() || "'`\":‘’,".contains(c))
            .any(|part| part == word)
    };
    let is_missing = ["command not found", "not found in path", "is not recognized"]
        .iter()
        .any(|sign| lower.contains(sign));
    if is_missing && names(command.program()) {
        return Cause::MissingProgram;
    }
    const REJECTIONS: [&str; 9] = [
        "unknown flag",
        "unknown option",
        "unknown shorthand",
        "unrecognized option",
        "unrecognized argument",
        "unexpected argument",
        "invalid option",
        "illegal option",
        "flag provided but not defined",
    ];
    if REJECTIONS.iter().any(|sign| lower.contains(sign)) {
        let is_named = |flag: &&str| names(flag) || names(flag.trim_start_matches('-'));
        if let Some(flag) = command.flags().find(is_named) {
            return Cause::RejectedFlag(flag.to_owned());
        }
    }
    Cause::Unknown
}

/// Reports whether a command that passed does what the failed one was for.
fn is_remedy(failure: &Failure, passed: &KeyedCommand) -> bool {
    let failed = &failure.command;
    let is_same_program = failed.program() == passed.program() && failed.subcommand() == passed.subcommand();
    let arguments = |command: &KeyedCommand| command.words.get(1..).unwrap_or_default().to_vec();
    let is_variant = failed.program() != passed.program()
        && failed.words.len() > 1
        && arguments(failed) == arguments(passed);
    // `uv run pytest a.py` for `pytest a.py`.
    let is_wrapped = passed.words.len() > failed.words.len() && passed.words.ends_with(&failed.words);
    let runs_it = |command: &KeyedCommand| {
        let program = failed.program();
        command.words[1..]
            .iter()
            .any(|word| word.rsplit('/').next() == Some(program))
    };
    match &failure.cause {
        Cause::MissingProgram => {
            failed.program() != passed.program() && (is_variant || is_wrapped || runs_it(passed))
        }
        Cause::RejectedFlag(flag) => is_same_program && !passed.flags().any(|known| known == flag),
        Cause::Unknown if is_variant || is_wrapped => true,
        Cause::Unknown => {
            let ends_it = |flag: &str| matches!(flag, "--continue" | "--abort" | "--skip" | "--help" | "-h");
            let has_all = failed.words.iter().all(|word| passed.words.contains(word));
            let shares_target = failed
                .targets()
                .any(|target| passed.targets().any(|other| other == target));
            is_same_program
                && !passed.flags().any(ends_it)
                && failed.invocation_key() != passed.invocation_key()
                // A check of less says nothing about the rest.
                && if is_check(failure.purpose) { has_all } else { shares_target }
        }
    }
}

/// Quotes words again where the shell needs it.
fn quoted(command: &KeyedCommand) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=~".contains(c);
    let words = command.words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    let line = words.collect::<Vec<_>>().join(" ");
    let line = line.lines().next().unwrap_or_default();
    cut(line, MAX_COMMAND).to_owned()
}

fn cut(text: &str, most: usize) -> &str {
    text[..text.floor_char_boundary(most)].trim_end()
}
