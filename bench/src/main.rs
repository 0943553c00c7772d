//! Benchmarks of backstory: latency of hooks, durability under kills, search and recall quality.
//!
//! `cargo run --release -p backstory-bench -- [latency|parallel|kill|fire|instructions|distill|gate|search|picker|secrets|serve|tokens|all]
//! [--quick] [--rounds N] [--transcripts DIR] [--list|--scores] [--report-only] [--million] [--json FILE] [--product FILE]`.
//! Times are only reported; lost events and a relevance gate below its limits fail the run.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod ablate;
mod audience;
mod audit;
mod before_command;
mod branches;
mod distill;
mod durability;
mod experiment;
mod false_fire;
mod fire;
mod gate;
mod home;
mod instructions;
mod latency;
mod memories;
mod orientation;
mod parallel;
mod payload;
#[path = "../../crates/server/tests/it/person.rs"]
mod person;
mod priority;
mod process;
mod programs;
mod random;
mod report;
mod search;
mod secrets;
mod store;
mod team_fire;
mod team_load;
mod team_measure;
#[path = "../../crates/server/tests/it/team_server.rs"]
mod team_server;
mod text;
mod tokens;
mod turns;
mod worklog;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
};

use anyhow::{Context, Result, bail};
use programs::Programs;
use report::Section;

/// Shared state of all benchmarks.
#[derive(Debug)]
pub(crate) struct Bench {
    programs: Programs,
    /// Folder that is kept between runs.
    out: PathBuf,
    /// Temporary folder of this run.
    run: PathBuf,
    project: PathBuf,
    rounds: usize,
    quick: bool,
    /// Past sessions to import.
    transcripts: Option<PathBuf>,
    gate: gate::Options,
    /// Numbers of memories to search, one store each.
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

/// Command-line arguments.
#[derive(Debug, Default)]
struct Arguments {
    benchmark: Option<String>,
    quick: bool,
    rounds: Option<usize>,
    json: Option<PathBuf>,
    product: Option<PathBuf>,
    transcripts: Option<PathBuf>,
    gate: gate::Options,
    million: bool,
    help: bool,
}

const HELP: &str = "\
Measures the release binary of backstory. Times are only reported; lost events and a relevance gate below its limits fail
the run.

  latency       hooks compared with an empty process, with different stores and worker states
  instructions  the same, counted in instructions
  parallel      16 concurrent hooks; all events must arrive while the worker is killed
  kill          hooks killed at random times
  fire          100,000 events of 2,000 sessions from hooks to memories, with 50 kills of workers and hooks; --quick:
                2,000 events, 10 kills. Fails if an event is lost or duplicated
  distill       time from the end of a turn to its summary; import of past sessions: speed and memory (with
                --transcripts); 8 concurrent sessions: maximum age of an undistilled event
  gate          36 past sessions of three projects, then 120 prompts: which of them recall memories. Fails if fewer than
                45 of 60 related prompts recall the expected memory, or more than 1 of 60 unrelated ones recalls any
  search        search and the hooks that search, with 10,000 and 100,000 memories of one project: warm, whole process,
                resident memory; speed of import and embedding
  picker        the picker in tmux with 100,000 memories: time to the first frame, and from a key to its results; --quick:
                10,000. Fails above 50 ms and 16 ms (p95)
  serve         200 listeners and 50 requests per second for a minute while a session is captured: latency of hooks,
                missed events, resident memory
  tokens        model tokens for past sessions (with --transcripts), compared with one call per tool use. Fails above
                3,000 tokens per memory, or if the alternatives take less than 15 times as many
  all           all of these
  ablate FOLDER FACTS.jsonl  shows what each source of memories contributes to holding facts about sessions
  secrets [--list]  how many generated secrets are redacted, and how much of text without secrets. Fails below its limits
  before-command [--list] FOLDER...  replays transcripts, one project per folder: how often the remedy comes before a
                command that failed before, how often anything comes before a command without history, and the time.
                Fails below 70 % or above 0.5 %
  false-fire [--list] [--questions N] SET.jsonl...  conversations as projects: how often a question recalls the session that
                answers it, how often anything comes in a foreign project or for an everyday prompt. Fails below 85 % or
                above 2 % and 1 %
  branches      the check of branches with 10,000 turns on 200 branches. Fails if a state is wrong, above 10 s or 50 MB
  experiment [MONTHS] [--seed N] [--hooks PROGRAM]  simulates months of an experiment with and without an effect: how often
                the interval covers the truth; with --hooks through the hooks of a built program. Fails below 90 %, or above
                10 % of months with an effect where there is none
  team-fire [--quick]  16 writers and 8 readers of the team server, 100,000 records, while the server and PostgreSQL are
                killed 20 times; --quick: 2,000 records, 4 kills. Fails if a record is missed or doubled
  team-server [--quick]  search, pull and push of the team server with 1,000,000 records in 1,000 projects, 50 clients at
                once, first join; --quick: 60,000 records
  worklog FILE  shows what the built-in rules read from a transcript: --log (the default), --items, --memories

  --quick             a minute instead of ten
  --rounds N          number of measurements
  --transcripts DIR   past sessions of Claude Code, for distill and tokens
  --list              for gate: print each prompt with its result
  --report-only       for gate: report missed limits without failing
  --scores            for gate: print search scores, and the effect of each threshold
  --million           for search: also with a million memories; takes five more minutes and 3 GB
  --json FILE         write the results as JSON
  --product FILE      measure this binary instead of building one
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
                "--report-only" => arguments.gate.limits = gate::Limits::Reported,
                "--million" => arguments.million = true,
                "--help" | "-h" | "help" => arguments.help = true,
                "latency" | "parallel" | "kill" | "fire" | "instructions" | "distill" | "gate" | "search"
                | "picker" | "serve" | "tokens" | "all" => {
                    arguments.benchmark = Some(word);
                }
                _ => bail!("unknown argument {word}\nhint: --help lists them"),
            }
        }
        Ok(arguments)
    }
}

fn main() -> Result<ExitCode> {
    let mut words = std::env::args().skip(1);
    let tool = words.next();
    if tool.as_deref() == Some("ablate") {
        ablate::print(words)?;
        return Ok(ExitCode::SUCCESS);
    }
    if tool.as_deref() == Some("secrets") {
        let passed = secrets::print(words)?;
        return Ok(if passed {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    if let Some(tool @ ("before-command" | "false-fire")) = tool.as_deref() {
        let passed = match tool {
            "before-command" => before_command::print(words)?,
            _ => false_fire::print(words)?,
        };
        return Ok(if passed {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    if tool.as_deref() == Some("branches") {
        branches::print()?;
        return Ok(ExitCode::SUCCESS);
    }
    if tool.as_deref() == Some("experiment") {
        experiment::print(words)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(tool @ ("team-fire" | "team-server")) = tool.as_deref() {
        return measure_team(tool, words);
    }
    if tool.as_deref() == Some("worklog") {
        worklog::print(words)?;
        return Ok(ExitCode::SUCCESS);
    }
    let arguments = Arguments::read(std::env::args().skip(1))?;
    if arguments.help {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    }
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    let run = out.join(format!("run-{}", std::process::id()));
    fs::create_dir_all(&out)?;
    spread_inodes(&out);
    fs::create_dir_all(&run)?;
    let sections = run_benchmarks(&arguments, &out, &run);
    fs::remove_dir_all(&run)?;
    let sections = sections?;
    if let Some(path) = &arguments.json {
        report::write_json(path, &sections)?;
    }
    Ok(if sections.iter().all(Section::passed) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs a benchmark of the team server, which needs no product.
fn measure_team(tool: &str, mut words: impl Iterator<Item = String>) -> Result<ExitCode> {
    let is_quick = match words.next().as_deref() {
        None => false,
        Some("--quick") => true,
        Some(other) => bail!("unknown argument {other}\nhint: --help lists them"),
    };
    let section = if tool == "team-fire" {
        team_fire::measure(is_quick)?
    } else {
        team_measure::measure(is_quick)?
    };
    section.print();
    Ok(if section.passed() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Asks ext4 to place each run in another block group: creating files where the last run's files were just deleted is 30
/// times slower.
fn spread_inodes(folder: &Path) {
    // Fails on other file systems or without the program, which only makes the run slower.
    process::command("chattr")
        .arg("+T")
        .arg(folder)
        .stderr(Stdio::null())
        .status()
        .ok();
}

/// Function that runs one benchmark.
type Measure = fn(&Bench) -> Result<Section>;

fn run_benchmarks(arguments: &Arguments, out: &Path, run: &Path) -> Result<Vec<Section>> {
    let selected = arguments.benchmark.as_deref().unwrap_or("all");
    let bench = Bench {
        programs: Programs::prepare(arguments.product.as_deref(), run)?,
        out: out.to_owned(),
        run: run.to_owned(),
        project: out.join("project"),
        rounds: arguments.rounds.unwrap_or(if arguments.quick { 30 } else { 300 }),
        quick: arguments.quick,
        transcripts: arguments.transcripts.clone(),
        gate: arguments.gate,
        search: search::sizes(selected, arguments.quick, arguments.million),
    };
    home::create_project(&bench.project)?;
    priority::raise();
    let benchmarks: [(&str, Measure); 15] = [
        ("latency", latency::measure),
        ("latency", orientation::measure),
        ("instructions", instructions::measure),
        ("parallel", parallel::latency),
        ("parallel", parallel::arrival),
        ("kill", durability::measure),
        ("fire", fire::measure),
        ("distill", distill::wait),
        ("distill", distill::import),
        ("distill", distill::concurrent),
        ("gate", gate::measure),
        ("search", search::measure),
        ("picker", search::measure_picker),
        ("serve", audience::measure),
        ("tokens", tokens::measure),
    ];
    let mut sections = Vec::new();
    for (name, measure) in benchmarks {
        if selected == "all" || selected == name {
            let section = measure(&bench)?;
            section.print();
            sections.push(section);
        }
    }
    Ok(sections)
}
