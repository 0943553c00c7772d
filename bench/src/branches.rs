//! The check of branches: 10,000 turns on 200 branches, a quarter each merged, squashed, rebased and not merged.
//!
//! Half of the branches that were not merged are deleted. Fails if a state is wrong, or above its limits of time and memory.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs,
    path::Path,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use backstory_engine::{branches, clock::Clock, engine::Engine, environment::Environment, home::Home};
use backstory_model::{BranchState, Event, EventKind, EventSource, Host, ProjectIdentity, Timestamp};
use backstory_store::{SessionProjects, Store, TurnCommit};

use crate::process;

const BRANCHES: usize = 200;
const TURNS: usize = 50;
const COMMITS: usize = 5;

const MAX_TIME: Duration = Duration::from_secs(10);
const MAX_KB: u64 = 50 * 1024;

/// Runs the check twice: the second time nothing has changed.
pub(crate) fn print() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("backstory-branches-{}", std::process::id()));
    fs::remove_dir_all(&folder).ok();
    let result = run(&folder);
    fs::remove_dir_all(&folder).ok();
    result
}

fn run(folder: &Path) -> Result<()> {
    let root = folder.join("app");
    fs::create_dir_all(&root)?;
    let marks = repository(&root)?;
    let engine = Engine {
        home: Home::at(&folder.join("home")),
        clock: Clock::system(),
        environment: Environment::process(),
    };
    engine.home.create()?;
    let mut store = Store::open(&engine.home.database(), &engine.home.backups())?;
    store.set_bulk_mode()?;
    fill(&mut store, &root, &marks, engine.clock.timestamp())?;
    let before = peak_kb();
    let start = Instant::now();
    branches::check_branches(&engine, &mut store, &AtomicBool::new(false))?;
    let took = start.elapsed();
    let start = Instant::now();
    branches::check_branches(&engine, &mut store, &AtomicBool::new(false))?;
    let again = start.elapsed();
    let counts = counts(&store)?;
    println!("turns, branches        {}, {BRANCHES}", TURNS * BRANCHES);
    println!("first check            {:.2} s", took.as_secs_f64());
    println!("without a change       {:.2} s", again.as_secs_f64());
    println!(
        "peak resident memory   {} MB (before the check {} MB)",
        peak_kb() / 1024,
        before / 1024
    );
    for state in BranchState::ALL {
        println!("{:<22} {}", state.name(), counts.get(&Some(state)).unwrap_or(&0));
    }
    let quarter = TURNS * BRANCHES / 4;
    let wanted = [
        (BranchState::Merged, 3 * quarter),
        (BranchState::Working, quarter / 2),
        (BranchState::Abandoned, quarter / 2),
    ];
    for (state, wanted) in wanted {
        ensure!(
            counts.get(&Some(state)) == Some(&wanted),
            "{state}: expected {wanted}"
        );
    }
    ensure!(took < MAX_TIME, "the check took too long");
    ensure!(peak_kb() < MAX_KB, "the check took too much memory");
    Ok(())
}

/// Creates the repository; returns the commit of each mark.
fn repository(root: &Path) -> Result<HashMap<usize, String>> {
    let git = |arguments: &[&str], input: &[u8]| -> Result<()> {
        let mut command = process::command("/usr/bin/git");
        let finished = process::run(command.args(arguments).current_dir(root), input)?;
        ensure!(finished.status.success(), "git {arguments:?} failed");
        Ok(())
    };
    git(&["init", "--quiet", "--initial-branch=main"], b"")?;
    let mut stream = String::new();
    let mut mark = 0;
    let mut commit = |stream: &mut String,
                      branch: &str,
                      from: usize,
                      merge: Option<usize>,
                      files: &[(usize, usize)]| {
        mark += 1;
        let time = 1_700_000_000 + mark;
        let _ = write!(
            stream,
            "commit refs/heads/{branch}\nmark :{mark}\ncommitter A <a@example.com> {time} +0000\ndata 1\nx\n"
        );
        if from > 0 {
            let _ = writeln!(stream, "from :{from}");
        }
        if let Some(merge) = merge {
            let _ = writeln!(stream, "merge :{merge}");
        }
        for (branch, number) in files {
            let text = format!("line {branch} {number}\n");
            let _ = write!(
                stream,
                "M 100644 inline b{branch}/f{number}.txt\ndata {}\n{text}\n",
                text.len()
            );
        }
        mark
    };
    let base = commit(&mut stream, "main", 0, None, &[(9_999, 0)]);
    let mut main = base;
    for branch in 0..BRANCHES {
        let name = format!("b{branch}");
        let mut tip = base;
        let files: Vec<(usize, usize)> = (0..COMMITS).map(|number| (branch, number)).collect();
        for file in &files {
            tip = commit(&mut stream, &name, tip, None, &[*file]);
        }
        match branch % 4 {
            0 => main = commit(&mut stream, "main", main, Some(tip), &files),
            1 => main = commit(&mut stream, "main", main, None, &files),
            2 => {
                for file in &files {
                    main = commit(&mut stream, "main", main, None, &[*file]);
                }
            }
            _ => {}
        }
    }
    git(
        &["fast-import", "--quiet", "--export-marks=marks"],
        stream.as_bytes(),
    )?;
    let deleted: Vec<String> = (0..BRANCHES)
        .filter(|branch| branch % 8 == 7)
        .map(|branch| format!("delete refs/heads/b{branch}\n"))
        .collect();
    git(&["update-ref", "--stdin"], deleted.concat().as_bytes())?;
    let text = fs::read_to_string(root.join("marks"))?;
    let marks = text.lines().filter_map(|line| {
        let (mark, commit) = line.strip_prefix(':')?.split_once(' ')?;
        Some((mark.parse().ok()?, commit.to_owned()))
    });
    Ok(marks.collect())
}

/// Stores the turns, as if they had been recorded, with their commits.
fn fill(store: &mut Store, root: &Path, marks: &HashMap<usize, String>, now: Timestamp) -> Result<()> {
    let root = root.to_str().context("the temporary folder is not Unicode")?;
    let mut mark = 1;
    let mut commits: Vec<usize> = Vec::new();
    for branch in 0..BRANCHES {
        let first = mark + 1;
        mark += COMMITS + [1, 1, COMMITS, 0][branch % 4];
        let events: Vec<Event> = (0..TURNS)
            .flat_map(|turn| {
                commits.push(first + turn % COMMITS);
                [EventKind::UserPromptSubmit, EventKind::Stop]
                    .map(|kind| event(root, branch, turn, kind, now))
            })
            .collect();
        store.ingest_batch(&events, &SessionProjects::new())?;
    }
    let project = store.projects_on_branches(Timestamp::EPOCH)?;
    let turns = store.turns_on_branches(*project.first().context("no project")?)?;
    let work: Vec<_> = turns
        .iter()
        .map(|turn| {
            let branch: usize = turn.work.branch[1..].parse().unwrap_or_default();
            let number = usize::try_from(turn.number).unwrap_or_default() - 1;
            let commit = marks.get(&commits[branch * TURNS + number]).cloned();
            let work = TurnCommit {
                head: commit.clone(),
                commit,
                ..turn.work.clone()
            };
            (turn.turn_id, work)
        })
        .collect();
    Ok(store.store_turn_commits(&work)?)
}

fn event(root: &str, branch: usize, turn: usize, kind: EventKind, now: Timestamp) -> Event {
    let step = 2 * turn + usize::from(kind == EventKind::Stop);
    Event {
        key: format!("{branch:04}-{step:04}"),
        source: EventSource::Hook,
        kind,
        host: Host::claude_code(),
        at: now,
        session_id: format!("session-{branch}"),
        project: Some(ProjectIdentity {
            key: root.to_owned(),
            name: "app".to_owned(),
            root: root.to_owned(),
            branch: Some(format!("b{branch}")),
            worktree: None,
        }),
        payload: format!(r#"{{"prompt": "step {turn}", "cwd": "{root}"}}"#),
    }
}

fn counts(store: &Store) -> Result<HashMap<Option<BranchState>, usize>> {
    let mut counts = HashMap::new();
    for project in store.projects_on_branches(Timestamp::EPOCH)? {
        for turn in store.turns_on_branches(project)? {
            *counts.entry(turn.work.state).or_default() += 1;
        }
    }
    Ok(counts)
}

/// Returns the most resident memory of this process so far.
fn peak_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_default()
}
