//! The picker in a terminal of tmux: the time to its first frame, and from a key to the frame with its results.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{Limit, SearchSetup, past::Past, vectors};
use crate::{
    Bench,
    home::{Home, until},
    process,
    report::{Samples, Section},
};

/// Memories whose vectors the product computes; those of the others are these with noise.
const EMBEDDED: usize = 500;

/// The pause between two keys: a fast typist.
const PAUSE: Duration = Duration::from_millis(60);

/// The limits of the first frame and of a key, in milliseconds.
const FIRST_FRAME: f64 = 50.0;
const KEY: f64 = 16.0;

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let columns = &[
        "memories", "what", "runs", "p50", "p95", "worst", "unit", "no-ops", "limit", "",
    ];
    let mut section = Section::new("The picker", columns);
    let count = if bench.quick { 10_000 } else { 100_000 };
    let real = {
        let setup = setup(bench, EMBEDDED)?;
        setup.import(&mut section)?;
        let output = setup.home.command(&["index", "--wait"]).output()?;
        ensure!(output.status.success(), "index --wait failed");
        vectors::read(&setup.root.join("vectors"))?
    };
    let setup = setup(bench, count)?;
    setup.import(&mut section)?;
    vectors::write(&setup.root.join("vectors"), &setup.home.database(), &real)?;
    let rounds = if bench.quick { 3 } else { 10 };
    let (mut first, mut keys) = (Samples::default(), Samples::default());
    for round in 0..rounds {
        let words = setup.past.memory(round * count / rounds).text();
        let words: Vec<&str> = words.split_whitespace().take(5).collect();
        let run = run(&setup, round, &words.join(" "))?;
        first.add(run.first_frame);
        for key in run.keys {
            keys.add(key);
        }
    }
    setup.times(&mut section, "first frame", &first, None, Limit::None);
    setup.times(&mut section, "key to results", &keys, None, Limit::None);
    section.check(
        format!("the first frame takes at most {FIRST_FRAME} ms (p50)"),
        first.percentile(50) / 1_000.0 <= FIRST_FRAME,
    );
    section.check(
        format!("a key takes at most {KEY} ms (p95)"),
        keys.percentile(95) / 1_000.0 <= KEY,
    );
    section.note("first frame: from before the process starts to its first frame with rows; key: from reading it to the frame with its results");
    section.note(format!(
        "load average {}",
        fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()
    ));
    fs::remove_dir_all(&setup.root)?;
    Ok(section)
}

fn setup(bench: &Bench, count: usize) -> Result<SearchSetup<'_>> {
    let root = bench.folder(&format!("picker-{count}"));
    Ok(SearchSetup {
        bench,
        past: Past::new(),
        home: Home::create(root.clone(), &bench.programs.product, None)?,
        root,
        count,
    })
}

/// The times of one run.
struct Run {
    first_frame: Duration,
    keys: Vec<Duration>,
}

/// Starts the picker, types a text and leaves.
fn run(setup: &SearchSetup<'_>, round: usize, text: &str) -> Result<Run> {
    let report = setup.root.join("picker.json");
    let start = setup.root.join("picker.start");
    let script = setup.root.join("picker.sh");
    let product = &setup.bench.programs.product;
    File::create(&script)?.write_all(
        format!(
            "cd '{}'\nexport HOME='{root}' BACKSTORY_HOME='{root}' BACKSTORY_NO_WORKER=1 BACKSTORY_DEBUG=1\n\
            date +%s%N > '{}'\n'{}' 2> '{report}.part'\nmv '{report}.part' '{report}'\n",
            setup.bench.project.display(),
            start.display(),
            product.display(),
            root = setup.root.display(),
            report = report.display(),
        )
        .as_bytes(),
    )?;
    let terminal = Terminal::run(setup.root.join(format!("tmux-{round}")), &script)?;
    until("the first frame", || {
        ensure!(
            !report.exists(),
            "the picker ended before its first frame: {}",
            fs::read_to_string(&report)?
        );
        Ok(terminal.tmux(&["capture-pane", "-p"])?.contains("result"))
    })?;
    for letter in text.chars() {
        terminal.tmux(&["send-keys", "-l", &letter.to_string()])?;
        sleep(PAUSE);
    }
    terminal.tmux(&["send-keys", "C-c"])?;
    until("the report", || Ok(report.exists()))?;
    let printed: Value = serde_json::from_str(&fs::read_to_string(&report)?)?;
    fs::remove_file(&report)?;
    let started: f64 = fs::read_to_string(&start)?.trim().parse()?;
    let shown = printed["first_frame_at_ms"].as_f64().context("no first frame")?;
    let keys = printed["keys_ms"].as_array().context("no keys")?;
    let millis = |millis: f64| Duration::from_secs_f64((millis / 1_000.0).max(0.0));
    Ok(Run {
        first_frame: millis(shown - started / 1e6),
        keys: keys.iter().filter_map(Value::as_f64).map(millis).collect(),
    })
}

/// A terminal of tmux. Each has a server of its own: the server of the last one may still be ending, and would take this
/// one with it.
struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    fn run(socket: PathBuf, script: &Path) -> Result<Self> {
        let terminal = Self { socket };
        // The server outlives the program, so that a screen can be read as long as one is waited for.
        let script = format!("sh '{}'; exec sleep 120", script.display());
        terminal.tmux(&["new-session", "-d", "-x", "120", "-y", "40", &script])?;
        Ok(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String> {
        let mut command: Command = process::command("tmux");
        let output = command
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(&self.socket)
            .args(arguments)
            .output()
            .context("could not run tmux")?;
        ensure!(
            output.status.success(),
            "tmux {} failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Fails if the server has ended already.
        self.tmux(&["kill-server"]).ok();
    }
}
