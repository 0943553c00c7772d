//! How the runs of a turn ended: tests that pass, failures that were solved, failures that were not.

use backstory_model::ObservationType;

use super::draft::Draft;
use super::edits::Fate;
use super::evidence::{Evidence, Run};
use super::paths;
use super::shell::Purpose;
use super::text::{clip, code};
use super::title::{MAX_TITLE, fit};

const MAX_DRAFTS: usize = 2;

/// Facts about the last runs: which tests pass, and which failed before the change.
pub(super) fn facts(evidence: &Evidence) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for run in evidence
        .runs
        .iter()
        .rev()
        .filter(|run| matches!(run.purpose, Purpose::Test | Purpose::Build))
    {
        if seen.contains(&run.command.as_str()) || is_scratch_run(evidence, run) || run.agent_id.is_some() {
            continue;
        }
        seen.push(&run.command);
        if run.failed {
            continue;
        }
        let count = run
            .tests
            .map(|tests| format!(": {}", tests.shown()))
            .unwrap_or_default();
        match mended(evidence, run) {
            Some(error) => out.push(format!(
                "{} passes{count}; before the change it failed with {}",
                code(&clip(&run.command, 64)),
                code(&clip(error, 80))
            )),
            None if run.tests.is_some() => out.push(format!("{} passes{count}", code(&run.command))),
            None => {}
        }
        if out.len() == 2 {
            break;
        }
    }
    out
}

/// The failure that the change mended: it came before the first edit of what is no test, and not from the shell.
fn mended<'e>(evidence: &'e Evidence, run: &Run) -> Option<&'e str> {
    let edits = evidence.kept().filter(|edit| !paths::is_test(&edit.path));
    let change = edits
        .map(|edit| edit.step)
        .min()
        .or_else(|| evidence.kept().map(|edit| edit.step).min())?;
    evidence
        .runs
        .iter()
        .filter(|earlier| {
            earlier.command == run.command && earlier.failed && earlier.step < change.min(run.step)
        })
        .filter_map(|earlier| earlier.error.as_deref())
        .find(|error| !is_of_shell(error))
}

/// "cd: no such file or directory", "bash: foo: command not found": nothing was run at all.
fn is_of_shell(error: &str) -> bool {
    let lower = error.to_lowercase();
    let speaks = ["bash:", "sh:", "zsh:", "/bin/sh:", "/bin/bash:", "(eval):", "cd:"]
        .iter()
        .any(|shell| lower.starts_with(shell));
    speaks || lower.ends_with("command not found") || lower.contains("can't open file")
}

/// Failures of tests and builds that nothing solved, for the notes of the summary.
pub(super) fn unsolved(evidence: &Evidence) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for run in evidence
        .runs
        .iter()
        .rev()
        .filter(|run| matches!(run.purpose, Purpose::Test | Purpose::Build))
    {
        if seen.contains(&run.command.as_str()) {
            continue;
        }
        seen.push(&run.command);
        let later = evidence.runs.iter().any(|later| {
            // Tests that ran were built.
            let tries_it = later.purpose == run.purpose || later.purpose == Purpose::Test;
            later.step > run.step && !later.failed && tries_it && alike(later, run)
        });
        if !run.failed || later || is_scratch_run(evidence, run) {
            continue;
        }
        let count = run
            .tests
            .map(|tests| format!(" ({})", tests.shown()))
            .unwrap_or_default();
        match &run.error {
            Some(error) => out.push(format!("{} fails{count}: {}", code(&run.command), code(error))),
            None if !count.is_empty() => out.push(format!("{} fails{count}", code(&run.command))),
            None => {}
        }
        if out.len() == 3 {
            break;
        }
    }
    out.reverse();
    out
}

/// Whether two runs try the same, as far as the names of tests in them tell.
fn alike(one: &Run, other: &Run) -> bool {
    let (a, b) = (targets(&one.command), targets(&other.command));
    a.iter().any(|target| b.contains(target)) || a.is_empty() || b.is_empty()
}

/// The tests that a command names, without folders and endings.
fn targets(command: &str) -> Vec<&str> {
    let words = command.split_whitespace().filter(|word| !word.starts_with('-'));
    let parts = words
        .filter(|word| word.contains(['/', '.', ':']))
        .flat_map(|word| word.split(['/', '.', ':']));
    parts
        .filter(|part| {
            part.len() > 5 && part.to_lowercase().contains("test") && *part != "pytest" && *part != "runtests"
        })
        .collect()
}

/// Whether a run only tried a file that was thrown away.
fn is_scratch_run(evidence: &Evidence, run: &Run) -> bool {
    evidence.edits.iter().any(|edit| {
        (edit.fate == Fate::Undone || paths::is_scratch(&edit.path))
            && edit.created
            && run.command.contains(paths::name(&edit.path))
    })
}

/// Memories of failures that another command or an installation solved: traps of this machine or project.
pub(super) fn drafts(evidence: &Evidence) -> Vec<Draft> {
    let mut out: Vec<Draft> = test_runner(evidence).into_iter().collect();
    for (index, run) in evidence.runs.iter().enumerate() {
        let Some(error) = run
            .error
            .as_ref()
            .filter(|_| run.failed && run.agent_id.is_none())
        else {
            continue;
        };
        let later = &evidence.runs[index + 1..evidence.runs.len().min(index + 12)];
        let Some(draft) =
            other_program(run, error, later).or_else(|| installation(evidence, run, error, later))
        else {
            continue;
        };
        if !out.iter().any(|known| {
            known.repeats(&draft) || known.title.split(' ').next() == draft.title.split(' ').next()
        }) {
            out.push(draft);
        }
        if out.len() == MAX_DRAFTS {
            break;
        }
    }
    out
}

/// "`a` failed with `b`", short enough to be kept whole.
fn failed_with(command: &str, error: &str) -> String {
    format!(
        "{} failed with {}",
        code(&clip(command, 80)),
        code(&clip(error, 96))
    )
}

/// One way to run the tests fails on this machine, another works.
fn test_runner(evidence: &Evidence) -> Option<Draft> {
    let ran =
        |run: &&Run| run.purpose == Purpose::Test && run.agent_id.is_none() && !is_scratch_run(evidence, run);
    let works = evidence
        .runs
        .iter()
        .rev()
        .filter(ran)
        .find(|run| !run.failed && run.tests.is_some())?;
    let good = runner(&works.command);
    let could_not = |run: &&Run| {
        run.failed
            && run.tests.is_none_or(|tests| tests.passed == 0)
            && runner(&run.command) != good
            && alike(run, works)
    };
    let broken = evidence
        .runs
        .iter()
        .filter(ran)
        .filter(|run| run.step < works.step)
        .find(could_not)?;
    let title = fit(&format!(
        "{} runs the tests here; {} fails",
        code(&good),
        code(&runner(&broken.command))
    ))?;
    let mut draft = Draft::new(ObservationType::Discovery, title, works.step, 61);
    let count = works
        .tests
        .map(|tests| format!(": {}", tests.shown()))
        .unwrap_or_default();
    draft.facts = vec![format!("{} passes{count}", code(&works.command))];
    draft.facts.extend(
        broken
            .error
            .as_ref()
            .map(|error| failed_with(&broken.command, error)),
    );
    draft.concepts = vec!["gotcha"];
    draft.evidence = [&broken.id, &works.id].into_iter().flatten().cloned().collect();
    Some(draft)
}

/// The program of a command with what chooses the tool: `python3 -m pytest`, `cargo test`, `python3 tests/runtests.py`.
fn runner(command: &str) -> String {
    let words: Vec<&str> = command
        .split_whitespace()
        .skip_while(|word| word.contains('='))
        .collect();
    let take = match words.as_slice() {
        [_, "-m", ..] => 3,
        [program, ..] if program.ends_with("pytest") || program.ends_with("tox") => 1,
        [_, "run", ..] => 3,
        _ => 2,
    };
    words.iter().take(take).copied().collect::<Vec<_>>().join(" ")
}

/// `python x` fails, `python3 x` works.
fn other_program(run: &Run, error: &str, later: &[Run]) -> Option<Draft> {
    let (program, arguments) = run.command.split_once(' ')?;
    let works = later.iter().find(|later| {
        !later.failed
            && later
                .command
                .split_once(' ')
                .is_some_and(|(other, rest)| rest == arguments && other != program && !other.contains('='))
    })?;
    let (other, _) = works.command.split_once(' ')?;
    let full = format!(
        "{} fails with {}; {} works",
        code(program),
        code(error),
        code(other)
    );
    let title = if full.chars().count() <= MAX_TITLE {
        full
    } else {
        format!("{} fails here; {} works", code(program), code(other))
    };
    let mut draft = Draft::new(ObservationType::Discovery, title, works.step, 62);
    draft.facts = vec![
        failed_with(&run.command, error),
        format!("{} ran without an error", code(&works.command)),
    ];
    draft.concepts = vec!["gotcha", "problem-solution"];
    draft.evidence = [&run.id, &works.id].into_iter().flatten().cloned().collect();
    Some(draft)
}

/// A command fails, something is installed, the same command works.
fn installation(evidence: &Evidence, run: &Run, error: &str, later: &[Run]) -> Option<Draft> {
    let works = later
        .iter()
        .find(|later| later.command == run.command && !later.failed)?;
    let between = |step: usize| step > run.step && step < works.step;
    if evidence.edits.iter().any(|edit| between(edit.step)) {
        return None;
    }
    let install = later
        .iter()
        .rfind(|later| later.purpose == Purpose::Install && !later.failed && between(later.step))?;
    let title = fit(&format!(
        "{} needs {} first",
        code(&run.command),
        code(&install.command)
    ))?;
    let mut draft = Draft::new(ObservationType::Discovery, title, works.step, 60);
    draft.facts = vec![format!("Before that, {}", failed_with(&run.command, error))];
    draft.concepts = vec!["problem-solution", "gotcha"];
    draft.evidence = [&run.id, &install.id, &works.id]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    Some(draft)
}
