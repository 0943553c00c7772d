//! Whole processes that search: the command and the hooks.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{
    Limit, SearchSetup,
    past::{Memory, STOP_WORDS},
    queries::{TestQuery, queries},
};
use crate::{
    latency::NOOPS,
    process,
    random::Random,
    report::{Samples, Section},
};

/// Command or hook to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Search,
    Prompt,
    SessionStart,
    File,
    Failure,
}

const KINDS: [Kind; 5] = [
    Kind::Search,
    Kind::Prompt,
    Kind::SessionStart,
    Kind::File,
    Kind::Failure,
];

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Search => "search, whole process",
            Self::Prompt => "user-prompt-submit",
            Self::SessionStart => "session-start",
            Self::File => "pre-tool-use",
            Self::Failure => "post-tool-use-failure",
        }
    }

    fn limit(self, count: usize) -> Limit {
        match self {
            Self::Search if count <= 100_000 => Limit::AtMost(40.0),
            Self::Prompt => Limit::AtMost(25.0),
            Self::SessionStart => Limit::NoOps(10.0),
            _ => Limit::None,
        }
    }
}

/// Measurements of one kind.
#[derive(Debug)]
struct Case {
    kind: Kind,
    samples: Samples,
    injected: usize,
}

pub(super) fn measure(setup: &SearchSetup<'_>, section: &mut Section) -> Result<()> {
    // The first round warms up.
    let rounds = setup
        .bench
        .rounds
        .min(if setup.count > 100_000 { 100 } else { 200 })
        + 1;
    let queries = queries(&setup.past, setup.count);
    let mut cases = KINDS.map(|kind| Case {
        kind,
        samples: Samples::default(),
        injected: 0,
    });
    let mut noop = setup.home.inside(&setup.bench.programs.noop()?);
    let mut noops = Samples::default();
    let mut random = Random::new(19);
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..cases.len() + NOOPS).collect();
        random.shuffle(&mut order);
        for index in order {
            match cases.get_mut(index) {
                Some(case) => {
                    let input = setup.input(case.kind, round, &mut random);
                    case.run(setup, &queries[round % queries.len()], &input)?;
                }
                None => noops.add(process::run(&mut noop, b"")?.took),
            }
        }
        setup.home.clear_spool()?;
        if round == 0 {
            noops = Samples::default();
            cases.iter_mut().for_each(|case| {
                case.samples = Samples::default();
                case.injected = 0;
            });
        }
    }
    setup.times(section, "no-op", &noops, None, Limit::None);
    for case in &cases {
        let name = match case.kind {
            Kind::Search => case.kind.name().to_owned(),
            _ => format!(
                "{}, injected {} of {}",
                case.kind.name(),
                case.injected,
                rounds - 1
            ),
        };
        let limit = case.kind.limit(setup.count);
        setup.times(section, &name, &case.samples, Some(noops.median()), limit);
    }
    Ok(())
}

impl Case {
    fn run(&mut self, setup: &SearchSetup<'_>, query: &TestQuery, input: &Value) -> Result<()> {
        let mut command = match self.kind {
            Kind::Search => {
                let mut command = setup.home.command(&["search"]);
                command.args(&query.words);
                command
            }
            hook => setup.home.command(&["hook", hook.name()]),
        };
        command.current_dir(&setup.bench.project);
        let (finished, printed) = process::run_with_output(&mut command, input.to_string().as_bytes())?;
        ensure!(
            finished.status.success(),
            "{} failed: {}",
            self.kind.name(),
            finished.status
        );
        self.samples.add(finished.took);
        let output: Value = serde_json::from_slice(&printed).unwrap_or_default();
        self.injected += usize::from(output["hookSpecificOutput"]["additionalContext"].is_string());
        Ok(())
    }
}

impl SearchSetup<'_> {
    /// Returns the payload of a hook, in a session of its own.
    fn input(&self, kind: Kind, round: usize, random: &mut Random) -> Value {
        let (name, more) = match kind {
            Kind::Search => return Value::Null,
            Kind::Prompt => {
                let memory = self.random_memory(random, |memory| memory.is_observation);
                let mut words = memory.words(random);
                words.truncate(14);
                words.extend((0..6).map(|_| random.pick(&STOP_WORDS).to_owned()));
                random.shuffle(&mut words);
                ("UserPromptSubmit", json!({"prompt": words.join(" ")}))
            }
            Kind::SessionStart => ("SessionStart", json!({"source": "startup"})),
            Kind::File => {
                let memory = self.random_memory(random, |memory| memory.is_observation);
                let path = self.bench.project.join(&memory.file);
                let input = json!({"file_path": path, "old_string": "a", "new_string": "b"});
                ("PreToolUse", json!({"tool_name": "Edit", "tool_input": input}))
            }
            Kind::Failure => {
                let memory = self.random_memory(random, |memory| memory.error.is_some());
                let error = format!("Exit code 101\n{}", memory.error.unwrap_or_default());
                let input = json!({"command": "cargo test", "description": "Run the tests"});
                let more = json!({"tool_name": "Bash", "tool_input": input, "error": error});
                ("PostToolUseFailure", more)
            }
        };
        let session = format!("{}-{round}", kind.name());
        let mut payload = json!({
            "session_id": session,
            "transcript_path": format!("/home/dev/.claude/projects/-home-dev-acme/{session}.jsonl"),
            "cwd": self.bench.project,
            "permission_mode": "default",
            "hook_event_name": name,
            "tool_use_id": format!("toolu_{round}"),
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            payload[key] = value.clone();
        }
        payload
    }

    /// Returns a random memory that satisfies a predicate.
    fn random_memory(&self, random: &mut Random, predicate: impl Fn(&Memory) -> bool) -> Memory {
        loop {
            let memory = self.past.memory(random.below(self.count));
            if predicate(&memory) {
                return memory;
            }
        }
    }
}
