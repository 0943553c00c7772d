//! Compares a hook with well-known programs, and with a hook that starts the worker.

use std::{fs, process::Command};

use anyhow::{Context, Result};
use serde_json::json;

use crate::{
    Bench,
    home::Home,
    latency::{NOOPS, case, limit, numbers},
    payload::{Shape, Size},
    process,
    report::{Samples, Section},
};

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let columns = &[
        "program",
        "runs",
        "median us",
        "p95 us",
        "p99 us",
        "ratio",
        "limit",
        "",
    ];
    let mut section = Section::new("Compared with other programs", columns);
    let home = Home::create(bench.folder("orientation"), &bench.programs.product, None)?;
    let mut hook = case(bench, &home, Shape::Bash, Size::SMALL);
    let mut starting = case(bench, &home, Shape::Bash, Size::SMALL);
    starting.command.env_remove("BACKSTORY_NO_WORKER");
    let mut noop = (home.inside(&bench.programs.noop()?), Samples::default());
    let mut others: Vec<(&str, Command, Samples)> = Vec::new();
    for (name, program, arguments) in [
        ("sh -c :", "/bin/sh", ["-c", ":"]),
        ("python3 -c pass", "/usr/bin/python3", ["-c", "pass"]),
        ("node -e 0", "/usr/bin/node", ["-e", "0"]),
    ] {
        if fs::exists(program)? {
            let mut command = process::command(program);
            command.args(arguments);
            others.push((name, command, Samples::default()));
        }
    }
    hook.warm_up()?;
    for _ in 0..bench.rounds.min(40) {
        for _ in 0..NOOPS {
            noop.1.add(process::run(&mut noop.0, b"")?.took);
            hook.run()?;
        }
        for (_, command, samples) in &mut others {
            samples.add(process::run(command, b"")?.took);
        }
        home.clear_worker_start()?;
        starting.run()?;
        home.kill_started_worker()
            .context("the hook did not start a worker")?;
        home.clear_spool()?;
    }
    let unit = noop.1.median();
    let mut row = |name: &str, samples: &Samples, limit| {
        section.row(
            [
                vec![json!(name)],
                numbers(samples, samples.median() / unit, limit),
            ]
            .concat(),
        );
    };
    row("no-op", &noop.1, None);
    row(
        "post-tool-use, 1 KB",
        &hook.samples,
        limit(Shape::Bash, Size::SMALL),
    );
    row("post-tool-use, 1 KB, starts the worker", &starting.samples, None);
    others
        .iter()
        .for_each(|(name, _, samples)| row(name, samples, None));
    if let Some((_, _, node)) = others.iter().find(|(name, ..)| name.starts_with("node")) {
        let times = node.median() / hook.samples.median();
        let verdict = if times >= 80.0 { "ok" } else { "OVER" };
        section.note(format!(
            "post-tool-use takes 1/{times:.0} of node -e 0 (limit 1/80): {verdict}"
        ));
    }
    section.note("a hook starts a worker if there is none, at most every 5 seconds");
    Ok(section)
}
