//! How many instructions a hook takes in user space: a number that no other process disturbs.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{
    Bench,
    home::Home,
    payload::{Shape, Size, payload},
    process,
    report::Section,
};

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let mut section = Section::new(
        "Instructions in user space (callgrind)",
        &["program", "size", "instructions"],
    );
    let valgrind = Path::new("/usr/bin/valgrind");
    if !valgrind.exists() {
        section.note("not measured: there is no /usr/bin/valgrind");
        return Ok(section);
    }
    let home = Home::create(bench.folder("instructions"), &bench.programs.product, None)?;
    let under_valgrind = |program: &Path| {
        let mut command = home.inside(valgrind);
        command
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program);
        command
    };
    let noop = collected(&mut under_valgrind(&bench.programs.noop()?), b"")?;
    section.row(vec![json!("no-op"), json!("-"), noop]);
    let cases = [
        (Shape::Bash, Size::SMALL),
        (Shape::Bash, Size::MEDIUM),
        (Shape::Bash, Size::LARGE),
        (Shape::Secrets, Size::MEDIUM),
        (Shape::Prompt, Size::SMALL),
        (Shape::SessionStart, Size::MIN),
        (Shape::PreToolUse, Size::SMALL),
    ];
    let mut hook = |program: &Path, name: &str, shape: Shape, size: Size| -> Result<()> {
        let input = payload(shape, size, &bench.project, "instructions", "toolu_instructions");
        // The first one reads the settings and makes the folders.
        process::run(&mut home.command(&["hook", shape.hook()]), input.as_bytes())?;
        let mut command = under_valgrind(program);
        let count = collected(command.args(["hook", shape.hook()]), input.as_bytes())?;
        section.row(vec![json!(name), json!(size.to_string()), count]);
        Ok(())
    };
    for (shape, size) in cases {
        let name = format!("{} {}", shape.hook(), shape.name());
        hook(&bench.programs.product, &name, shape, size)?;
    }
    match bench.programs.without_arena()? {
        Some(program) => hook(
            &program,
            "post-tool-use Bash, without the arena allocator",
            Shape::Bash,
            Size::SMALL,
        )?,
        None => section.note("without the arena allocator: not measured, the product was given"),
    }
    Ok(section)
}

/// Reads the number off valgrind's report on stderr.
fn collected(command: &mut Command, input: &[u8]) -> Result<Value> {
    let streams = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = streams.spawn().context("could not start valgrind")?;
    if let Some(mut stdin) = child.stdin.take() {
        process::feed(&mut stdin, input)?;
    }
    let output = child.wait_with_output()?;
    let report = String::from_utf8_lossy(&output.stderr);
    let line = report
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .context("valgrind counted nothing")?;
    Ok(json!(line.1.trim().parse::<u64>()?))
}
