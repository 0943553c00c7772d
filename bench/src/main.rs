//! Measures backstory: what agents wait for, what arrives when processes are killed.
//!
//! `cargo run --release -p backstory-bench -- [latency|parallel|kill|fire|instructions|distil|gate|search|serve|tokens|all]
//! [--quick]
//! [--rounds N] [--transcripts DIR] [--list|--scores] [--report-only] [--million] [--json FILE] [--product FILE]`. Times are
//! reported, never failed on; a lost event fails, and so does memory that keeps silent or speaks up at the wrong prompts.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people at a terminal"
)]

mod audience;
mod audit;
mod distil;
mod durability;
mod fire;
mod gate;
mod home;
mod instructions;
mod latency;
mod memories;
mod orientation;
mod parallel;
mod payload;
mod priority;
mod process;
mod programs;
mod random;
mod report;
mod search;
mod store;
mod text;
mod tokens;
mod turns;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
};

use anyhow::{Context, Result, bail};
use programs::Programs;
use report::Section;

/// What all questions need.
#[derive(Debug)]
pub(crate) struct Bench {
    programs: Programs,
    /// What is kept from run to run.
    out: PathBuf,
    /// What is gone after this run.
    run: PathBuf,
    project: PathBuf,
    rounds: usize,
    quick: bool,
    /// Past sessions to import.
    transcripts: Option<PathBuf>,
    gate: gate::Wanted,
    /// How many memories are searched, one store after the other.
    search: Vec<usize>,
}

impl Bench {
    fn folder(&self, name: &str) -> PathBuf {
        self.run.join(name)
    }

    fn large_store(&self) -> Result<PathBuf> {
        let amount = match self.quick {
            true => store::Amount {
                events: 20_000,
                observations: 4_000,
            },
            false => store::Amount {
                events: 1_000_000,
                observations: 200_000,
            },
        };
        store::prepare(&self.out, &self.project, amount)
    }
}

/// What the command line asks for.
#[derive(Debug, Default)]
struct Arguments {
    question: Option<String>,
    quick: bool,
    rounds: Option<usize>,
    json: Option<PathBuf>,
    product: Option<PathBuf>,
    transcripts: Option<PathBuf>,
    gate: gate::Wanted,
    million: bool,
    help: bool,
}

const HELP: &str = "\
Measures backstory with the binary that users get. Times are reported, never failed on; a lost event fails, and so does
memory that keeps silent or speaks up at the wrong prompts.

  latency       what a hook costs next to an empty process, with stores and workers of all kinds
  instructions  the same, counted in instructions
  parallel      16 hooks at once, and whether all arrive while the worker is killed
  kill          hooks killed at random moments
  fire          100,000 events of 2,000 sessions from hooks to memories, with 50 kills of workers and hooks; --quick:
                2,000 events, 10 kills. Fails when anything is lost or doubled
  distil        from the end of a turn to its summary; importing past sessions: speed and memory (with --transcripts);
                8 sessions at once: how old the oldest event gets before it is distilled
  gate          36 past sessions of three projects, then 120 prompts: which of them bring memories back. Fails when
                fewer than 45 of 60 related prompts bring what was meant, or more than 1 of 60 others brings anything
  search        search and the hooks that search, among 10,000 and 100,000 memories of one project: warm, as whole
                processes, and in memory; how fast memories are imported and embedded
  serve         200 listeners and 50 requests a second for a minute while a session is captured: what hooks notice, what
                listeners miss, how much memory it takes
  tokens        what a model is sent for past sessions (with --transcripts), next to one call for every tool use. Fails
                above 3,000 tokens a memory, or when the others take less than 15 times as many
  all           all of these

  --quick             a minute instead of ten
  --rounds N          how often each thing is measured
  --transcripts DIR   past sessions of Claude Code, for distil and tokens
  --list              for gate: each prompt with what came
  --report-only       for gate: a broken promise is no failure
  --scores            for gate: what search says to each prompt, and what every threshold would give
  --million           for search: among a million memories too; takes five minutes and 3 GB more
  --json FILE         writes the same as JSON
  --product FILE      measures this binary instead of building one
";

impl Arguments {
    fn read(words: impl Iterator<Item = String>) -> Result<Self> {
        let mut words = words;
        let mut arguments = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--quick" => arguments.quick = true,
                "--rounds" => arguments.rounds = Some(value()?.parse().context("--rounds needs a number")?),
                "--json" => arguments.json = Some(value()?.into()),
                "--product" => arguments.product = Some(value()?.into()),
                "--transcripts" => arguments.transcripts = Some(value()?.into()),
                "--list" => arguments.gate.show = gate::Show::List,
                "--scores" => arguments.gate.show = gate::Show::Scores,
                "--report-only" => arguments.gate.promise = gate::Promise::Reported,
                "--million" => arguments.million = true,
                "--help" | "-h" | "help" => arguments.help = true,
                "latency" | "parallel" | "kill" | "fire" | "instructions" | "distil" | "gate" | "search"
                | "serve" | "tokens" | "all" => {
                    arguments.question = Some(word);
                }
                _ => bail!("unknown argument {word}\nhint: --help lists them"),
            }
        }
        Ok(arguments)
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    if arguments.help {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    }
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    let run = out.join(format!("run-{}", std::process::id()));
    fs::create_dir_all(&out)?;
    spread(&out);
    fs::create_dir_all(&run)?;
    let answer = answer(&arguments, &out, &run);
    fs::remove_dir_all(&run)?;
    let sections = answer?;
    if let Some(path) = &arguments.json {
        report::write_json(path, &sections)?;
    }
    Ok(if sections.iter().all(Section::holds) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Asks ext4 to put each run into another corner of the disk: where the last run's files were deleted a minute ago, it
/// creates files 30 times slower.
fn spread(folder: &Path) {
    // Another file system, or no such program: then it stays as it is.
    process::command("chattr")
        .arg("+T")
        .arg(folder)
        .stderr(Stdio::null())
        .status()
        .ok();
}

/// One question and its answer.
type Measure = fn(&Bench) -> Result<Section>;

fn answer(arguments: &Arguments, out: &Path, run: &Path) -> Result<Vec<Section>> {
    let asked = arguments.question.as_deref().unwrap_or("all");
    let bench = Bench {
        programs: Programs::prepare(arguments.product.as_deref(), run)?,
        out: out.to_owned(),
        run: run.to_owned(),
        project: out.join("project"),
        rounds: arguments.rounds.unwrap_or(if arguments.quick { 30 } else { 300 }),
        quick: arguments.quick,
        transcripts: arguments.transcripts.clone(),
        gate: arguments.gate,
        search: search::sizes(asked, arguments.quick, arguments.million),
    };
    home::create_project(&bench.project)?;
    priority::come_first();
    let questions: [(&str, Measure); 14] = [
        ("latency", latency::measure),
        ("latency", orientation::measure),
        ("instructions", instructions::measure),
        ("parallel", parallel::latency),
        ("parallel", parallel::arrival),
        ("kill", durability::measure),
        ("fire", fire::measure),
        ("distil", distil::wait),
        ("distil", distil::import),
        ("distil", distil::crowd),
        ("gate", gate::measure),
        ("search", search::measure),
        ("serve", audience::measure),
        ("tokens", tokens::measure),
    ];
    let mut sections = Vec::new();
    for (name, measure) in questions {
        if asked == "all" || asked == name {
            let section = measure(&bench)?;
            section.print();
            sections.push(section);
        }
    }
    Ok(sections)
}
