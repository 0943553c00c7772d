//! Latency of each hook as a whole process, compared with a process that does nothing.

use std::{
    fs::{self, File},
    process::Command,
    time::Instant,
};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    Bench,
    home::Home,
    payload::{self, Shape, Size, payload},
    process,
    random::Random,
    report::{Samples, Section, micros, rounded},
};

/// State of the worker during a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worker {
    Up,
    Down,
    Hung,
}

impl Worker {
    fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Hung => "hung",
        }
    }
}

/// One hook with one payload.
#[derive(Debug)]
pub(crate) struct Case {
    shape: Shape,
    size: Size,
    pub(crate) command: Command,
    input: String,
    pub(crate) samples: Samples,
}

/// Store and worker state under which cases are measured, with a no-op of its own as the unit.
struct Condition {
    store: &'static str,
    worker: Worker,
    home: Home,
    cases: Vec<Case>,
    noop: Command,
    noop_samples: Samples,
}

/// Runs of the no-op per round.
pub(crate) const NOOPS: usize = 3;

/// Every hook at every size.
const ALL: [(Shape, Size); 20] = [
    (Shape::Bash, Size::SMALL),
    (Shape::Bash, Size::MEDIUM),
    (Shape::Bash, Size::LARGE),
    (Shape::Secrets, Size::MEDIUM),
    (Shape::Secrets, Size::LARGE),
    (Shape::Edit, Size::SMALL),
    (Shape::Edit, Size::MEDIUM),
    (Shape::Edit, Size::LARGE),
    (Shape::Write, Size::SMALL),
    (Shape::Write, Size::MEDIUM),
    (Shape::Write, Size::LARGE),
    (Shape::Prompt, Size::SMALL),
    (Shape::Prompt, Size::MEDIUM),
    (Shape::Prompt, Size::LARGE),
    (Shape::Stop, Size::SMALL),
    (Shape::Stop, Size::MEDIUM),
    (Shape::SessionStart, Size::MIN),
    (Shape::PreToolUse, Size::SMALL),
    (Shape::PreToolUse, Size::MEDIUM),
    (Shape::Statusline, Size::MIN),
];

/// Hooks with a limit.
const CORE: [(Shape, Size); 8] = [
    (Shape::Bash, Size::SMALL),
    (Shape::Bash, Size::MEDIUM),
    (Shape::Bash, Size::LARGE),
    (Shape::Prompt, Size::SMALL),
    (Shape::Prompt, Size::MEDIUM),
    (Shape::Prompt, Size::LARGE),
    (Shape::SessionStart, Size::MIN),
    (Shape::Statusline, Size::MIN),
];

/// Returns the limit of a hook, as a multiple of the no-op's median. A prompt hook may recall memories: `search` measures that.
pub(crate) fn limit(shape: Shape, size: Size) -> Option<f64> {
    match shape.hook() {
        "post-tool-use" => match size {
            Size::SMALL => Some(2.0),
            Size::MEDIUM => Some(2.6),
            Size::LARGE => Some(8.0),
            _ => None,
        },
        "session-start" => Some(10.0),
        // 1 ms more than the no-op, which takes about 1/6 ms.
        "statusline" => Some(7.0),
        _ => None,
    }
}

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let columns = &[
        "store",
        "worker",
        "hook",
        "payload",
        "size",
        "runs",
        "median us",
        "p95 us",
        "p99 us",
        "ratio",
        "limit",
        "",
    ];
    let mut section = Section::new("Latency of one hook, whole process", columns);
    let mut conditions = conditions(bench, &mut section)?;
    let mut random = Random::new(5);
    let probe = bench.folder("probe");
    fs::create_dir_all(&probe)?;
    let mut creations = Samples::default();
    for round in 0..bench.rounds {
        let start = Instant::now();
        File::create_new(probe.join(round.to_string()))?;
        creations.add(start.elapsed());
        for condition in &mut conditions {
            // With a live worker each run waits until it is idle, so a third of the rounds is enough.
            if condition.worker != Worker::Up || round % 3 == 0 {
                condition.round(&mut random)?;
            }
        }
    }
    conditions
        .iter()
        .for_each(|condition| condition.rows(&mut section));
    section.note(format!(
        "creating an empty file takes {:.0} us: about 8 on a quiet ext4, 250 after many deletions nearby",
        creations.median()
    ));
    section.note(
        "from before posix_spawn to after wait; input and output through pipes; runs shuffled in every round",
    );
    section.note("the no-op is static, with the same profile and target; its stdin is closed immediately");
    section.note("ratio of medians to the no-op under the same conditions in the same rounds");
    section.note("down: the spool is emptied between rounds; hung: stopped; up: idle when the hook starts");
    Ok(section)
}

fn conditions(bench: &Bench, section: &mut Section) -> Result<Vec<Condition>> {
    let large = bench.large_store()?;
    let mut conditions = Vec::new();
    for (store, file) in [("empty", None), ("large", Some(large.as_path()))] {
        for worker in [Worker::Down, Worker::Up, Worker::Hung] {
            let root = bench.folder(&format!("latency-{store}-{}", worker.name()));
            let mut home = Home::create(root, &bench.programs.product, file)?;
            let shapes: &[(Shape, Size)] = if (store, worker) == ("empty", Worker::Down) {
                &ALL
            } else {
                &CORE
            };
            let mut cases: Vec<Case> = shapes
                .iter()
                .map(|(shape, size)| case(bench, &home, *shape, *size))
                .collect();
            let noop = home.inside(&bench.programs.noop()?);
            if worker == Worker::Down {
                let what = format!("every hook records its event, without secrets ({store} store)");
                section.check(what, all_record(&home, &mut cases)?);
            }
            if worker != Worker::Down {
                home.start_worker()?;
                // Once it has ingested an event, the database is open.
                cases.iter_mut().take(1).try_for_each(Case::warm_up)?;
                home.drain()?;
            }
            if worker == Worker::Hung {
                home.hang_worker()?;
            }
            conditions.push(Condition {
                store,
                worker,
                home,
                cases,
                noop,
                noop_samples: Samples::default(),
            });
        }
    }
    Ok(conditions)
}

/// Returns a hook with a payload.
pub(crate) fn case(bench: &Bench, home: &Home, shape: Shape, size: Size) -> Case {
    let command = home.command(&shape.arguments());
    let input = payload(shape, size, &bench.project, "latency", "toolu_latency");
    Case {
        shape,
        size,
        command,
        input,
        samples: Samples::default(),
    }
}

/// Runs every case once and checks the spool, because a failing hook would be fast.
fn all_record(home: &Home, cases: &mut [Case]) -> Result<bool> {
    let mut all = true;
    let secrets = payload::secrets();
    let forbidden = [payload::PRIVATE_WORD, &secrets[0], &secrets[1]];
    for case in cases {
        home.clear_spool()?;
        case.warm_up()?;
        let files = home.spooled()?;
        let text = files
            .first()
            .map(fs::read_to_string)
            .transpose()?
            .unwrap_or_default();
        let records = case.shape.records();
        let leaks: Vec<&str> = forbidden.into_iter().filter(|word| text.contains(word)).collect();
        if files.len() != usize::from(records) || !leaks.is_empty() {
            let name = (case.shape.hook(), case.shape.name());
            eprintln!(
                "{name:?} of {}: {} events, leaks {leaks:?}",
                case.size,
                files.len()
            );
            all = false;
        }
    }
    home.clear_spool()?;
    Ok(all)
}

impl Case {
    /// Runs once without measuring.
    pub(crate) fn warm_up(&mut self) -> Result<()> {
        self.run()?;
        self.samples = Samples::default();
        Ok(())
    }

    pub(crate) fn run(&mut self) -> Result<()> {
        let finished = process::run(&mut self.command, self.input.as_bytes())?;
        ensure!(
            finished.status.success(),
            "{} failed: {}",
            self.shape.hook(),
            finished.status
        );
        self.samples.add(finished.took);
        Ok(())
    }
}

impl Condition {
    fn round(&mut self, random: &mut Random) -> Result<()> {
        let mut order: Vec<usize> = (0..self.cases.len() + NOOPS).collect();
        random.shuffle(&mut order);
        for index in order {
            match self.cases.get_mut(index) {
                Some(case) => case.run()?,
                None => self.noop_samples.add(process::run(&mut self.noop, b"")?.took),
            }
            if self.worker == Worker::Up {
                self.home.drain()?;
            }
        }
        if self.worker != Worker::Up {
            self.home.clear_spool()?;
        }
        self.home.clear_injection_log()
    }

    fn rows(&self, section: &mut Section) {
        let mut row = |hook: &str, payload: &str, size: &str, samples: &Samples, limit: Option<f64>| {
            let ratio = samples.median() / self.noop_samples.median();
            let texts = [self.store, self.worker.name(), hook, payload, size].map(|text| json!(text));
            section.row([texts.to_vec(), numbers(samples, ratio, limit)].concat());
        };
        row("no-op", "-", "-", &self.noop_samples, None);
        for case in &self.cases {
            let (hook, name, size) = (case.shape.hook(), case.shape.name(), case.size.to_string());
            row(hook, name, &size, &case.samples, limit(case.shape, case.size));
        }
    }
}

/// Returns the cells of a row, from the count to the verdict.
pub(crate) fn numbers(samples: &Samples, ratio: f64, limit: Option<f64>) -> Vec<Value> {
    let [median, p95, p99] = [50, 95, 99].map(|percent| micros(samples.percentile(percent)));
    let verdict = match limit {
        Some(limit) if ratio > limit => "OVER",
        Some(_) => "ok",
        None => "",
    };
    vec![
        json!(samples.len()),
        median,
        p95,
        p99,
        rounded(ratio),
        limit.map_or(Value::Null, rounded),
        json!(verdict),
    ]
}
