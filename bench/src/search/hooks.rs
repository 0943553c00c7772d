//! Whole processes that search: the command, and the hooks that an agent waits for.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{
    Found, Promise,
    past::{Memory, SMALL},
    questions::{Question, questions},
};
use crate::{
    latency::NOOPS,
    process,
    random::Random,
    report::{Samples, Section},
};

/// What is started.
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

    fn promise(self, count: usize) -> Promise {
        match self {
            Self::Search if count <= 100_000 => Promise::AtMost(40.0),
            Self::Prompt => Promise::AtMost(25.0),
            Self::SessionStart => Promise::NoOps(10.0),
            _ => Promise::None,
        }
    }
}

/// One kind with what was measured of it.
#[derive(Debug)]
struct Case {
    kind: Kind,
    samples: Samples,
    told: usize,
}

pub(super) fn measure(found: &Found<'_>, section: &mut Section) -> Result<()> {
    // The first round warms up.
    let rounds = found
        .bench
        .rounds
        .min(if found.count > 100_000 { 100 } else { 200 })
        + 1;
    let asked = questions(&found.past, found.count);
    let mut cases = KINDS.map(|kind| Case {
        kind,
        samples: Samples::default(),
        told: 0,
    });
    let mut noop = found.home.inside(&found.bench.programs.noop()?);
    let mut noops = Samples::default();
    let mut random = Random::new(19);
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..cases.len() + NOOPS).collect();
        random.shuffle(&mut order);
        for index in order {
            match cases.get_mut(index) {
                Some(case) => {
                    let input = found.input(case.kind, round, &mut random);
                    case.run(found, &asked[round % asked.len()], &input)?;
                }
                None => noops.add(process::run(&mut noop, b"")?.took),
            }
        }
        found.home.clear_spool()?;
        if round == 0 {
            noops = Samples::default();
            cases.iter_mut().for_each(|case| {
                case.samples = Samples::default();
                case.told = 0;
            });
        }
    }
    found.times(section, "no-op", &noops, None, Promise::None);
    for case in &cases {
        let name = match case.kind {
            Kind::Search => case.kind.name().to_owned(),
            _ => format!("{}, told {} of {}", case.kind.name(), case.told, rounds - 1),
        };
        let promise = case.kind.promise(found.count);
        found.times(section, &name, &case.samples, Some(noops.median()), promise);
    }
    Ok(())
}

impl Case {
    fn run(&mut self, found: &Found<'_>, question: &Question, input: &Value) -> Result<()> {
        let mut command = match self.kind {
            Kind::Search => {
                let mut command = found.home.command(&["search"]);
                command.args(&question.words);
                command
            }
            hook => found.home.command(&["hook", hook.name()]),
        };
        command.current_dir(&found.bench.project);
        let (ended, printed) = process::answer(&mut command, input.to_string().as_bytes())?;
        ensure!(
            ended.status.success(),
            "{} failed: {}",
            self.kind.name(),
            ended.status
        );
        self.samples.add(ended.took);
        let answer: Value = serde_json::from_slice(&printed).unwrap_or_default();
        self.told += usize::from(answer["hookSpecificOutput"]["additionalContext"].is_string());
        Ok(())
    }
}

impl Found<'_> {
    /// What a hook is told, in a session of its own.
    fn input(&self, kind: Kind, round: usize, random: &mut Random) -> Value {
        let (name, more) = match kind {
            Kind::Search => return Value::Null,
            Kind::Prompt => {
                let memory = self.like(random, |memory| memory.is_observation);
                let mut words = memory.words(random);
                words.truncate(14);
                words.extend((0..6).map(|_| random.pick(&SMALL).to_owned()));
                random.shuffle(&mut words);
                ("UserPromptSubmit", json!({"prompt": words.join(" ")}))
            }
            Kind::SessionStart => ("SessionStart", json!({"source": "startup"})),
            Kind::File => {
                let memory = self.like(random, |memory| memory.is_observation);
                let path = self.bench.project.join(&memory.file);
                let input = json!({"file_path": path, "old_string": "a", "new_string": "b"});
                ("PreToolUse", json!({"tool_name": "Edit", "tool_input": input}))
            }
            Kind::Failure => {
                let memory = self.like(random, |memory| memory.error.is_some());
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

    /// Any memory of a kind.
    fn like(&self, random: &mut Random, is_so: impl Fn(&Memory) -> bool) -> Memory {
        loop {
            let memory = self.past.memory(random.below(self.count));
            if is_so(&memory) {
                return memory;
            }
        }
    }
}
