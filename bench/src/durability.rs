//! Kills hooks at random moments: whoever came to its end, or had answered, must find its event in the store.

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

/// The latest moment at which a hook is killed, in microseconds after it was started.
const LATEST: usize = 1500;

/// One of so many is left alone.
const SPARED: usize = 5;

/// How a hook ended.
struct End {
    id: String,
    exited: bool,
    answered: bool,
}

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let mut section = Section::new("Hooks killed at random moments", &["what", "count"]);
    let home = Home::create(bench.folder("kill"), &bench.programs.product, None)?;
    let mut random = Random::new(7);
    let ends = (0..HOOKS)
        .map(|number| one(bench, &home, number, &mut random))
        .collect::<Result<Vec<_>>>()?;
    home.take_in()?;

    let events = audit::events(&home.database())?;
    let stored = audit::counts(&events);
    let is_stored = |end: &&End| stored.contains_key(end.id.as_str());
    let count = |which: &dyn Fn(&&End) -> bool| ends.iter().filter(which).count();
    section.row(vec![json!("hooks"), json!(HOOKS)]);
    section.row(vec![json!("exited with 0"), json!(count(&|end| end.exited))]);
    section.row(vec![json!("killed"), json!(count(&|end| !end.exited))]);
    section.row(vec![
        json!("killed after the answer"),
        json!(count(&|end| !end.exited && end.answered)),
    ]);
    section.row(vec![
        json!("killed, and stored all the same"),
        json!(count(&|end| !end.exited && is_stored(end))),
    ]);
    section.row(vec![json!("events stored"), json!(events.len())]);
    section.note(format!(
        "killed 0-{LATEST} us after the start; one of {SPARED} is left alone"
    ));

    section.check(
        "every hook that exited with 0 has its event",
        ends.iter().filter(|end| end.exited).all(|end| is_stored(&end)),
    );
    section.check(
        "every hook that had answered has its event",
        ends.iter().filter(|end| end.answered).all(|end| is_stored(&end)),
    );
    let known: HashSet<&str> = ends.iter().map(|end| end.id.as_str()).collect();
    section.check(
        "no event is doubled or made up",
        stored.iter().all(|(id, count)| *count == 1 && known.contains(id)),
    );
    section.check(
        "pragma integrity_check is ok",
        audit::is_intact(&home.database())?,
    );
    section.check("the spool is empty", home.spooled()?.is_empty());
    Ok(section)
}

fn one(bench: &Bench, home: &Home, number: usize, random: &mut Random) -> Result<End> {
    let id = format!("toolu_kill_{number:04}");
    let size = if number.is_multiple_of(5) {
        Size::MEDIUM
    } else {
        Size::SMALL
    };
    let input = payload(Shape::Bash, size, &bench.project, "kill", &id);
    let spared = random.below(SPARED) == 0;
    let moment = Duration::from_micros(random.below(LATEST + 1) as u64);

    let mut command = home.command(&["hook", "post-tool-use"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let start = Instant::now();
    if let Some(mut stdin) = child.stdin.take() {
        // Fits into a pipe: does not wait for the hook.
        process::feed(&mut stdin, input.as_bytes())?;
    }
    if !spared {
        // Asleep, not spinning: the hook may need the processor.
        sleep(moment.saturating_sub(start.elapsed()));
        child.kill()?;
    }
    let mut answer = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut answer)?;
    }
    let status = child.wait()?;
    Ok(End {
        id,
        exited: status.code() == Some(0),
        answered: !answer.is_empty(),
    })
}
