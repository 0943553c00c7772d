//! Counts the user-space instructions of a hook, which do not depend on other load on the machine.

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
        section.note("not measured: /usr/bin/valgrind is not installed");
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
        // The first run reads the settings and creates the folders.
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
        None => section.note("without the arena allocator: not measured with --product"),
    }
    Ok(section)
}

/// Parses the instruction count of valgrind's report on stderr.
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
        .context("no count in valgrind's report")?;
    Ok(json!(line.1.trim().parse::<u64>()?))
}
