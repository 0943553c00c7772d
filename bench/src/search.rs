//! Search in 10,000, 100,000 and a million memories, with the release binary.

mod hooks;
mod past;
mod picker;
mod queries;
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
use backstory_embed::{Encoder, Quantized};
use serde_json::{Value, json};

use crate::{
    Bench,
    distill::processor_time,
    home::Home,
    report::{Samples, Section, rounded},
};
use past::Past;
pub(crate) use picker::measure as measure_picker;

/// Maximum number of memories that the product embeds; more would take too long.
const MAX_EMBEDDED: usize = 10_000;

/// Returns the numbers of memories, one store each.
pub(crate) fn sizes(selected: &str, quick: bool, million: bool) -> Vec<usize> {
    let mut sizes = match (selected, quick) {
        ("all", true) => vec![2_000],
        (_, true) => vec![10_000],
        (_, false) => vec![10_000, 100_000],
    };
    if million {
        sizes.push(1_000_000);
    }
    sizes
}

/// Limit of a measured value.
#[derive(Clone, Copy, Debug)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
    NoOps(f64),
    None,
}

impl Limit {
    fn shown(self) -> Value {
        match self {
            Self::AtMost(max) => json!(format!("<= {max:.0}")),
            Self::AtLeast(min) => json!(format!(">= {min:.0}")),
            Self::NoOps(max) => json!(format!("<= {max:.0} no-ops")),
            Self::None => Value::Null,
        }
    }

    fn verdict(self, value: f64, no_ops: Option<f64>) -> &'static str {
        let is_met = match self {
            Self::AtMost(max) => value <= max,
            Self::AtLeast(min) => value >= min,
            Self::NoOps(max) => no_ops.is_some_and(|no_ops| no_ops <= max),
            Self::None => return "",
        };
        if is_met { "ok" } else { "OVER" }
    }
}

/// A home with generated memories.
#[derive(Debug)]
struct SearchSetup<'b> {
    bench: &'b Bench,
    past: Past,
    home: Home,
    root: PathBuf,
    count: usize,
}

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let columns = &[
        "memories", "what", "runs", "p50", "p95", "worst", "unit", "no-ops", "limit", "",
    ];
    let mut section = Section::new("Search in many memories of one project", columns);
    let mut real: Vec<Quantized> = Vec::new();
    for count in &bench.search {
        let root = bench.folder(&format!("search-{count}"));
        let setup = SearchSetup {
            bench,
            past: Past::new(),
            home: Home::create(root.clone(), &bench.programs.product, None)?,
            root: root.clone(),
            count: *count,
        };
        setup.import(&mut section)?;
        if *count <= MAX_EMBEDDED {
            setup.embed(&mut section)?;
            real = vectors::read(&root.join("vectors"))?;
        } else {
            vectors::write(&root.join("vectors"), &setup.home.database(), &real)?;
        }
        warm::measure(&setup, &mut section)?;
        hooks::measure(&setup, &mut section)?;
        // Removed immediately: a million memories take gigabytes.
        drop(setup);
        fs::remove_dir_all(&root)?;
    }
    section.note(format!(
        "load average {}",
        fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()
    ));
    section.note("memories: generated from a Zipf-like vocabulary of 30,000 words; a third observations, the others passages; 40 per session");
    section.note(format!(
        "beyond {MAX_EMBEDDED} memories the benchmark writes the vectors of the first {MAX_EMBEDDED} again with noise: their cost is \
        real, their meaning is not"
    ));
    section.note("queries: 200 of 2 to 8 words of a memory; a tenth with a word of 90 % of memories, a tenth with unknown words only");
    section.note("warm: took_ms of search --stdin --json after one run of all queries; whole process: from before posix_spawn to after wait");
    section.note(
        "limits apply to p50; injected: how often a hook injected something. A hook gives up after 50 ms",
    );
    Ok(section)
}

impl SearchSetup<'_> {
    /// Adds a row with repeated measurements, in milliseconds.
    fn times(&self, section: &mut Section, what: &str, samples: &Samples, noop: Option<f64>, limit: Limit) {
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
            limit.shown(),
            json!(limit.verdict(p50, no_ops)),
        ]);
    }

    /// Adds a row with one value.
    fn number(&self, section: &mut Section, what: &str, value: f64, unit: &str, limit: Limit) {
        section.row(vec![
            json!(self.count),
            json!(what),
            json!(1),
            rounded(value),
            Value::Null,
            Value::Null,
            json!(unit),
            Value::Null,
            limit.shown(),
            json!(limit.verdict(value, None)),
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
        let report: Value = serde_json::from_slice(&imported.stdout)?;
        section.check(
            format!("all {} lines are imported", self.count),
            report["imported"] == json!(self.count),
        );
        fs::remove_file(&lines)?;
        let speed = self.count as f64 / took.as_secs_f64();
        self.number(section, "import jsonl", took.as_secs_f64(), "s", Limit::None);
        self.number(section, "import jsonl", speed, "memories/s", Limit::None);
        let size = fs::metadata(self.home.database())?.len();
        self.number(section, "database", size as f64 / 1e6, "MB", Limit::None);
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
            // After the process has exited the last value counts.
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
        self.number(section, "index --wait", took, "s", Limit::None);
        self.number(section, "index --wait", count / took, "memories/s", Limit::None);
        let what = format!("index --wait, memories of {tokens:.0} tokens");
        self.number(
            section,
            &what,
            each,
            "memories/s per core",
            Limit::AtLeast(60.0 * 128.0 / tokens),
        );
        Ok(())
    }

    /// Returns the average number of tokens per memory that affect its vector.
    fn tokens(&self) -> f64 {
        const SAMPLE: usize = 40;
        const MAX: usize = 256;
        let mut encoder = Encoder::new();
        let mut sum = 0;
        for number in 0..SAMPLE {
            let text = self.past.memory(number * self.count / SAMPLE).text();
            let whole = encoder.encode(&text, MAX);
            let (mut low, mut high) = (2, MAX);
            while low < high {
                let middle = (low + high) / 2;
                match encoder.encode(&text, middle) == whole {
                    true => high = middle,
                    false => low = middle + 1,
                }
            }
            sum += high;
        }
        sum as f64 / SAMPLE as f64
    }
}
