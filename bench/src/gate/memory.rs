//! A home with all past sessions of `data/gate`.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::Write,
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use backstory_capture::spool::{self, Durability, Spool};
use backstory_model::Timestamp;

use super::past::{Project, Prompt, Session, projects};
use crate::{Bench, home, home::Home, process};

/// The home, its projects and its session ids.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) home: Home,
    pub(super) projects: Vec<(PathBuf, Project)>,
    /// Session ids by project and name.
    ids: HashMap<(String, String), String>,
}

/// A prompt with its project and the expected sessions.
#[derive(Debug)]
pub(super) struct GatePrompt<'m> {
    pub(super) prompt: &'m Prompt,
    pub(super) project: &'m str,
    pub(super) root: &'m PathBuf,
    /// Sessions of which one should be recalled; empty if none should.
    pub(super) expected: Vec<&'m str>,
}

impl GatePrompt<'_> {
    pub(super) fn is_related(&self) -> bool {
        !self.expected.is_empty()
    }

    /// Describes how the prompt resembles past work.
    pub(super) fn way(&self) -> String {
        let mark = match (self.prompt.far, self.prompt.shares) {
            (true, _) => ", few words in common",
            (_, true) => ", some words in common",
            _ => "",
        };
        format!("{}{mark}", self.prompt.way)
    }

    pub(super) fn one_line(&self) -> String {
        let words: Vec<&str> = self.prompt.text.split_whitespace().collect();
        words.join(" ")
    }
}

impl Memory {
    /// Runs all sessions through the real hooks in chronological order, and distills them.
    pub(super) fn prepare(bench: &Bench) -> Result<Self> {
        let home = Home::create(bench.folder("gate"), &bench.programs.product, None)?;
        let mut memory = Self {
            home,
            projects: Vec::new(),
            ids: HashMap::new(),
        };
        for project in projects()? {
            let root = bench.folder("gate-projects").join(&project.name);
            home::create_repository(&root, &project.remote)?;
            memory.projects.push((root, project));
        }
        let ages = memory.replay(bench)?;
        memory.backdate(bench, &ages)?;
        memory.home.ingest()?;
        let done = process::run(&mut memory.home.command(&["index", "--wait"]), b"")?;
        ensure!(done.status.success(), "index --wait failed");
        Ok(memory)
    }

    /// Runs the hooks of all sessions. Returns the age of each session in days, by id.
    fn replay(&mut self, bench: &Bench) -> Result<HashMap<String, u32>> {
        let mut sessions: Vec<(&PathBuf, &str, &Session)> = Vec::new();
        for (root, project) in &self.projects {
            sessions.extend(
                project
                    .sessions
                    .iter()
                    .map(|past| (root, project.name.as_str(), past)),
            );
        }
        sessions.sort_by_key(|(.., past)| std::cmp::Reverse(past.days_ago));
        let mut ages = HashMap::new();
        for (number, (root, project, past)) in sessions.into_iter().enumerate() {
            let id = format!("{:08x}-5e55-4000-8000-{number:012x}", number + 1);
            let transcript = bench.folder("gate-transcripts").join(format!("{id}.jsonl"));
            fs::create_dir_all(bench.folder("gate-transcripts"))?;
            let recording = past.record(&id, root, &transcript);
            File::create(&transcript)?.write_all(recording.transcript.as_bytes())?;
            for (hook, payload) in recording.hooks {
                let mut command = self.home.command(&["hook", hook]);
                let ran = process::run(command.current_dir(root), payload.to_string().as_bytes())?;
                ensure!(ran.status.success(), "a hook failed: {}", ran.status);
            }
            ages.insert(id.clone(), past.days_ago);
            self.ids.insert((project.to_owned(), past.name.clone()), id);
        }
        Ok(ages)
    }

    /// Backdates the spooled events, because hooks always record the current time. One event every 20 seconds.
    fn backdate(&self, bench: &Bench, ages: &HashMap<String, u32>) -> Result<()> {
        const DAY: Duration = Duration::from_hours(24);
        const STEP: Duration = Duration::from_secs(20);
        let spool = Spool::new(bench.folder("gate").join("spool"));
        let mut starts: HashMap<String, (Timestamp, u32)> = HashMap::new();
        let keys = spool.pending()?;
        let events: Vec<_> = keys.iter().map(|key| spool.read(key)).collect::<Result<_, _>>()?;
        for (number, (old, mut event)) in keys.iter().zip(events).enumerate() {
            let days = ages
                .get(&event.session_id)
                .context("an event of an unknown session")?;
            let (start, count) = starts.entry(event.session_id.clone()).or_insert((event.at, 0));
            event.at = *start - DAY * *days + STEP * *count;
            *count += 1;
            let at = event.at.since(Timestamp::EPOCH);
            event.key = spool::key(at, u32::try_from(number)?, event.kind);
            spool.put(&event, Durability::Normal)?;
            spool.remove([old.as_str()])?;
        }
        Ok(())
    }

    /// Returns all prompts, related ones first.
    pub(super) fn prompts(&self) -> Result<Vec<GatePrompt<'_>>> {
        let mut all = Vec::new();
        for related in [true, false] {
            for (root, project) in &self.projects {
                let prompts = if related {
                    &project.related
                } else {
                    &project.unrelated
                };
                for prompt in prompts {
                    let expected = prompt.expect.iter().map(|name| self.id(&project.name, name));
                    all.push(GatePrompt {
                        prompt,
                        project: &project.name,
                        root,
                        expected: expected.collect::<Result<_>>()?,
                    });
                    ensure!(
                        related != prompt.expect.is_empty(),
                        "{}: `expect` must be set for related prompts only",
                        prompt.text
                    );
                }
            }
        }
        Ok(all)
    }

    fn id(&self, project: &str, name: &str) -> Result<&str> {
        let key = (project.to_owned(), name.to_owned());
        let id = self.ids.get(&key);
        Ok(id.with_context(|| format!("{project} has no session {name}"))?)
    }

    /// Returns the name of a session by id.
    pub(super) fn name<'a>(&'a self, id: &'a str) -> &'a str {
        let mut sessions = self.ids.iter();
        sessions
            .find(|(_, other)| *other == id)
            .map_or(id, |((_, name), _)| name)
    }
}
