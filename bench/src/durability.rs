//! Kills hooks at random times. The event of every hook that exited or had printed its answer must be stored.

use std::{
    collections::HashSet,
    io::Read,
    process::Stdio,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::Result;
use serde_json::json;

use crate::{
    Bench, audit,
    home::Home,
    payload::{Shape, Size, payload},
    process,
    random::Random,
    report::Section,
};

const HOOKS: usize = 500;

/// Maximum time from start to kill, in microseconds.
const MAX_DELAY_US: usize = 1500;

/// One in this many hooks is not killed.
const SPARED: usize = 5;

/// Outcome of one hook.
struct HookResult {
    id: String,
    exited: bool,
    answered: bool,
}

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let mut section = Section::new("Hooks killed at random times", &["what", "count"]);
    let home = Home::create(bench.folder("kill"), &bench.programs.product, None)?;
    let mut random = Random::new(7);
    let results = (0..HOOKS)
        .map(|number| run_hook(bench, &home, number, &mut random))
        .collect::<Result<Vec<_>>>()?;
    home.ingest()?;

    let events = audit::events(&home.database())?;
    let stored = audit::counts(&events);
    let is_stored = |result: &&HookResult| stored.contains_key(result.id.as_str());
    let count = |which: &dyn Fn(&&HookResult) -> bool| results.iter().filter(which).count();
    section.row(vec![json!("hooks"), json!(HOOKS)]);
    section.row(vec![
        json!("exited with 0"),
        json!(count(&|result| result.exited)),
    ]);
    section.row(vec![json!("killed"), json!(count(&|result| !result.exited))]);
    section.row(vec![
        json!("killed after the answer"),
        json!(count(&|result| !result.exited && result.answered)),
    ]);
    section.row(vec![
        json!("killed, but stored"),
        json!(count(&|result| !result.exited && is_stored(result))),
    ]);
    section.row(vec![json!("events stored"), json!(events.len())]);
    section.note(format!(
        "killed 0-{MAX_DELAY_US} us after the start; one in {SPARED} is not killed"
    ));

    section.check(
        "the event of every hook that exited 0 is stored",
        results
            .iter()
            .filter(|result| result.exited)
            .all(|result| is_stored(&result)),
    );
    section.check(
        "the event of every hook that had answered is stored",
        results
            .iter()
            .filter(|result| result.answered)
            .all(|result| is_stored(&result)),
    );
    let known: HashSet<&str> = results.iter().map(|result| result.id.as_str()).collect();
    section.check(
        "no event is duplicated or unknown",
        stored.iter().all(|(id, count)| *count == 1 && known.contains(id)),
    );
    section.check(
        "pragma integrity_check is ok",
        audit::is_intact(&home.database())?,
    );
    section.check("the spool is empty", home.spooled()?.is_empty());
    Ok(section)
}

fn run_hook(bench: &Bench, home: &Home, number: usize, random: &mut Random) -> Result<HookResult> {
    let id = format!("toolu_kill_{number:04}");
    let size = if number.is_multiple_of(5) {
        Size::MEDIUM
    } else {
        Size::SMALL
    };
    let input = payload(Shape::Bash, size, &bench.project, "kill", &id);
    let spared = random.below(SPARED) == 0;
    let delay = Duration::from_micros(random.below(MAX_DELAY_US + 1) as u64);

    let mut command = home.command(&["hook", "post-tool-use"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let start = Instant::now();
    if let Some(mut stdin) = child.stdin.take() {
        // Fits into the pipe buffer, so this does not wait for the hook.
        process::feed(&mut stdin, input.as_bytes())?;
    }
    if !spared {
        // Sleeps instead of spinning, because the hook may need the processor.
        sleep(delay.saturating_sub(start.elapsed()));
        child.kill()?;
    }
    let mut answer = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut answer)?;
    }
    let status = child.wait()?;
    Ok(HookResult {
        id,
        exited: status.code() == Some(0),
        answered: !answer.is_empty(),
    })
}
