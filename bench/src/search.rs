//! How fast memory is found again among 10,000, 100,000 and a million memories, with the binary that users get.

mod hooks;
mod past;
mod questions;
mod vectors;
mod warm;

use std::{
    fs::{self, File},
    path::PathBuf,
    process::Stdio,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use backstory_embed::{Encoder, Quantised};
use serde_json::{Value, json};

use crate::{
    Bench,
    distil::processor_time,
    home::Home,
    report::{Samples, Section, rounded},
};
use past::Past;

/// So many memories at most are embedded by the product: more would take too long.
const EMBEDDED: usize = 10_000;

/// How many memories are made, one store after the other.
pub(crate) fn sizes(asked: &str, quick: bool, million: bool) -> Vec<usize> {
    let mut sizes = match (asked, quick) {
        ("all", true) => vec![2_000],
        (_, true) => vec![10_000],
        (_, false) => vec![10_000, 100_000],
    };
    if million {
        sizes.push(1_000_000);
    }
    sizes
}

/// What was promised of a number.
#[derive(Clone, Copy, Debug)]
enum Promise {
    AtMost(f64),
    AtLeast(f64),
    NoOps(f64),
    None,
}

impl Promise {
    fn shown(self) -> Value {
        match self {
            Self::AtMost(most) => json!(format!("<= {most:.0}")),
            Self::AtLeast(least) => json!(format!(">= {least:.0}")),
            Self::NoOps(most) => json!(format!("<= {most:.0} no-ops")),
            Self::None => Value::Null,
        }
    }

    fn verdict(self, value: f64, no_ops: Option<f64>) -> &'static str {
        let is_kept = match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
            Self::NoOps(most) => no_ops.is_some_and(|no_ops| no_ops <= most),
            Self::None => return "",
        };
        if is_kept { "ok" } else { "OVER" }
    }
}

/// A home with memories, and what they are made of.
#[derive(Debug)]
struct Found<'b> {
    bench: &'b Bench,
    past: Past,
    home: Home,
    root: PathBuf,
    count: usize,
}

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let columns = &[
        "memories", "what", "runs", "p50", "p95", "worst", "unit", "no-ops", "promise", "",
    ];
    let mut section = Section::new("Search among many memories of one project", columns);
    let mut real: Vec<Quantised> = Vec::new();
    for count in &bench.search {
        let root = bench.folder(&format!("search-{count}"));
        let found = Found {
            bench,
            past: Past::new(),
            home: Home::create(root.clone(), &bench.programs.product, None)?,
            root: root.clone(),
            count: *count,
        };
        found.import(&mut section)?;
        if *count <= EMBEDDED {
            found.embed(&mut section)?;
            real = vectors::read(&root.join("vectors"))?;
        } else {
            vectors::write(&root.join("vectors"), &found.home.database(), &real)?;
        }
        warm::measure(&found, &mut section)?;
        hooks::measure(&found, &mut section)?;
        // A million memories take gigabytes.
        drop(found);
        fs::remove_dir_all(&root)?;
    }
    section.note(format!(
        "load average {}",
        fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()
    ));
    section.note("memories: made up, of a Zipf-like vocabulary of 30,000 words; a third observations, the others passages; sessions of 40");
    section.note(format!(
        "past {EMBEDDED} memories the vectors are those of the first {EMBEDDED} again with noise, written by the benchmark: what they \
        cost is real, what they mean is not"
    ));
    section.note("questions: 200 of 2 to 8 words of a memory; a tenth with a word of nine in ten memories, a tenth with no word that is known");
    section.note("warm: took_ms of search --stdin --json, all questions once before; whole process: from before posix_spawn to after wait");
    section.note("a promise is held against p50; told: how often a hook had something to say. A hook gives up after 50 ms");
    Ok(section)
}

impl Found<'_> {
    /// Adds a row about one thing that was measured many times, in milliseconds.
    fn times(
        &self,
        section: &mut Section,
        what: &str,
        samples: &Samples,
        noop: Option<f64>,
        promise: Promise,
    ) {
        let [p50, p95, worst] = [50, 95, 100].map(|percent| samples.percentile(percent) / 1_000.0);
        let no_ops = noop.map(|noop| p50 * 1_000.0 / noop);
        section.row(vec![
            json!(self.count),
            json!(what),
            json!(samples.len()),
            rounded(p50),
            rounded(p95),
            rounded(worst),
            json!("ms"),
            no_ops.map_or(Value::Null, rounded),
            promise.shown(),
            json!(promise.verdict(p50, no_ops)),
        ]);
    }

    /// Adds a row with one number.
    fn number(&self, section: &mut Section, what: &str, value: f64, unit: &str, promise: Promise) {
        section.row(vec![
            json!(self.count),
            json!(what),
            json!(1),
            rounded(value),
            Value::Null,
            Value::Null,
            json!(unit),
            Value::Null,
            promise.shown(),
            json!(promise.verdict(value, None)),
        ]);
    }

    fn import(&self, section: &mut Section) -> Result<()> {
        let lines = self.root.join("memories.jsonl");
        self.past.write(&lines, self.count)?;
        let start = Instant::now();
        let imported = self
            .home
            .command(&["import", "jsonl", "-", "--json"])
            .current_dir(&self.bench.project)
            .stdin(File::open(&lines)?)
            .output()?;
        let took = start.elapsed();
        ensure!(
            imported.status.success(),
            "the import failed: {}",
            String::from_utf8_lossy(&imported.stderr)
        );
        let told: Value = serde_json::from_slice(&imported.stdout)?;
        section.check(
            format!("{} lines became memories", self.count),
            told["imported"] == json!(self.count),
        );
        fs::remove_file(&lines)?;
        let speed = self.count as f64 / took.as_secs_f64();
        self.number(section, "import jsonl", took.as_secs_f64(), "s", Promise::None);
        self.number(section, "import jsonl", speed, "memories/s", Promise::None);
        let size = fs::metadata(self.home.database())?.len();
        self.number(section, "database", size as f64 / 1e6, "MB", Promise::None);
        Ok(())
    }

    fn embed(&self, section: &mut Section) -> Result<()> {
        let start = Instant::now();
        let mut child = self
            .home
            .command(&["index", "--wait"])
            .stdout(Stdio::null())
            .spawn()?;
        let mut processor = Duration::ZERO;
        let ended = loop {
            // Gone between two looks: what was seen last stands.
            processor = processor_time(child.id()).unwrap_or_default().max(processor);
            if let Some(ended) = child.try_wait()? {
                break ended;
            }
            sleep(Duration::from_millis(5));
        };
        ensure!(ended.success(), "index --wait failed: {ended}");
        let took = start.elapsed().as_secs_f64();
        let tokens = self.tokens();
        let count = self.count as f64;
        let each = count / processor.as_secs_f64().max(0.01);
        self.number(section, "index --wait", took, "s", Promise::None);
        self.number(section, "index --wait", count / took, "memories/s", Promise::None);
        let what = format!("index --wait, memories of {tokens:.0} tokens");
        self.number(
            section,
            &what,
            each,
            "memories/s of a processor",
            Promise::AtLeast(60.0 * 128.0 / tokens),
        );
        Ok(())
    }

    /// Returns how many tokens of a memory the encoder reads, on average: more make no difference to its vector.
    fn tokens(&self) -> f64 {
        const SAMPLE: usize = 40;
        const MAX: usize = 256;
        let mut encoder = Encoder::new();
        let mut sum = 0;
        for number in 0..SAMPLE {
            let text = self.past.memory(number * self.count / SAMPLE).text();
            let whole = encoder.encode(&text, MAX);
            let (mut least, mut enough) = (2, MAX);
            while least < enough {
                let middle = (least + enough) / 2;
                match encoder.encode(&text, middle) == whole {
                    true => enough = middle,
                    false => least = middle + 1,
                }
            }
            sum += enough;
        }
        sum as f64 / SAMPLE as f64
    }
}
