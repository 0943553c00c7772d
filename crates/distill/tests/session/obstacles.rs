//! Failures of made-up sessions: obstacles that were resolved, attempts that did not work, traps.

use super::actions::{edit, handover, prose, report, run, text_of, titles, turn};
use backstory_distill::{Action, CommandRun, Purpose, RunOutcome, compose};
use backstory_model::ObservationType;

#[test]
fn an_obstacle_is_one_memory_with_cause_and_fix() {
    let memory = compose(&[turn(
        1,
        "Make CI pass",
        vec![
            run(
                "mise run test",
                Purpose::Test,
                Some("switch.go:12:3: missing cases in switch of type Action (exhaustive)"),
            ),
            prose(
                "The `exhaustive` check wants every `Action` in the switch, because `default` does not count here. Let me add them.",
            ),
            edit("switch.go"),
            run("mise run test", Purpose::Test, None),
            report("CI passes."),
        ],
    )]);
    assert_eq!(memory.observations.len(), 1, "{:?}", titles(&memory));
    let one = &memory.observations[0];
    assert_eq!(one.observation.kind, ObservationType::Bugfix);
    assert_eq!(
        one.error_signature.as_deref(),
        Some("switch.go:12:3: missing cases in switch of type action (exhaustive)")
    );
    assert!(
        one.observation
            .title
            .starts_with("The `exhaustive` check wants every `Action` in the switch")
    );
    assert!(
        one.observation
            .facts
            .iter()
            .any(|fact| fact.contains("missing cases in switch"))
    );
    assert!(
        one.observation
            .facts
            .iter()
            .any(|fact| fact.contains("Fix in `switch.go`") || fact.contains("Fixed in `switch.go`")),
        "{:?}",
        one.observation.facts
    );
    assert_eq!(one.observation.files_modified, ["switch.go"]);
    assert_eq!(memory.handover.traps.len(), 1);
}

#[test]
fn an_attempt_that_did_not_work_is_marked_as_rejected() {
    let error = Some("error: connection refused by db:5432");
    let memory = compose(&[turn(
        1,
        "Make the integration tests pass",
        vec![
            run("make integration", Purpose::Test, error),
            prose("The `pool_size` of 1 is too small, because every worker holds a connection."),
            edit("config/pool.toml"),
            run("make integration", Purpose::Test, error),
            prose("The container listens on `db:5433`, because `compose.yml` maps the port."),
            edit("compose.yml"),
            run("make integration", Purpose::Test, None),
            report("All integration tests pass."),
        ],
    )]);
    let rejected: Vec<_> = memory.observations.iter().filter(|one| one.rejected).collect();
    assert_eq!(rejected.len(), 1, "{:?}", titles(&memory));
    assert!(rejected[0].observation.title.contains("`pool_size`"));
    let resolved = memory
        .observations
        .iter()
        .find(|one| !one.rejected && one.error_signature.is_some())
        .expect("a resolved obstacle");
    assert!(
        resolved.observation.title.contains("`db:5433`"),
        "{}",
        resolved.observation.title
    );
    assert!(
        !resolved
            .observation
            .narrative
            .as_deref()
            .unwrap_or_default()
            .contains("pool_size")
    );
}

#[test]
fn the_same_obstacle_is_remembered_once() {
    let attempt = |number| {
        turn(
            number,
            "run the script",
            vec![
                run(
                    "python check.py",
                    Purpose::Other,
                    Some("SyntaxError: invalid syntax"),
                ),
                prose("The `python` here is version 2.7, so `check.py` needs `python3`."),
                run("python3 check.py", Purpose::Other, None),
                report("The script ran."),
            ],
        )
    };
    let memory = compose(&[attempt(1), attempt(2), attempt(3)]);
    assert_eq!(
        titles(&memory),
        ["`python` fails on `check.py`: `SyntaxError: invalid syntax`; `python3` works"]
    );
}

#[test]
fn a_compound_command_does_not_blame_its_first_part() {
    let failing = Action::Run(CommandRun {
        command: "sudo apt-get install -y gcc && cargo test".to_owned(),
        purpose: Purpose::Test,
        outcome: RunOutcome::Failed,
        failed_part: None,
        error: None,
        result_line: None,
        changed_files: None,
    });
    let memory = compose(&[turn(
        1,
        "Run the tests",
        vec![
            failing,
            prose("The linker needs `gcc`, because `ring` builds C code."),
            run("sudo apt-get install -y gcc", Purpose::Install, None),
            report("Installed."),
        ],
    )]);
    assert!(
        memory
            .observations
            .iter()
            .all(|one| !one.observation.title.contains("apt-get")),
        "{:?}",
        titles(&memory)
    );
    assert!(
        memory
            .handover
            .open
            .iter()
            .any(|item| item.contains("cargo test")),
        "{:?}",
        memory.handover.open
    );
}

#[test]
fn an_obstacle_without_a_stated_cause_is_no_memory() {
    let memory = compose(&[turn(
        1,
        "Make CI pass",
        vec![
            run(
                "npm run lint",
                Purpose::Lint,
                Some("src/a.ts:3:1: Unexpected console statement (no-console)"),
            ),
            prose("The `README` table is fine as it is."),
            edit("src/a.ts"),
            run("npm run lint", Purpose::Lint, None),
            run(
                "git rebase main",
                Purpose::Other,
                Some("error: could not apply 3999d95... more fixes"),
            ),
            prose("The `README` table needs no change."),
            edit("src/b.ts"),
            run("git rebase main", Purpose::Other, None),
            report("CI passes."),
        ],
    )]);
    assert_eq!(titles(&memory), [""; 0]);
}

#[test]
fn a_style_error_that_was_fixed_is_no_trap() {
    let traps = handover(vec![(
        "Share the path",
        vec![
            run(
                "make lint",
                Purpose::Lint,
                Some("string has 3 occurrences, make it a constant (goconst)"),
            ),
            Action::Prose("The linter wants a constant because the string is repeated.".to_owned()),
            edit("setup.go"),
            run("make lint", Purpose::Lint, None),
            report("`setup.go` uses one constant."),
        ],
    )])
    .traps;
    assert!(traps.is_empty(), "{traps:?}");
}

#[test]
fn a_failing_assertion_on_the_way_is_no_trap() {
    let traps = handover(vec![(
        "Count user lines correctly",
        vec![
            run("go test ./count", Purpose::Test, Some("lines = 12, want 10")),
            Action::Prose("The count is wrong because user lines are counted twice.".to_owned()),
            edit("count.go"),
            run("go test ./count", Purpose::Test, None),
            report("`count.go` counts each line once."),
        ],
    )])
    .traps;
    assert!(traps.is_empty(), "{traps:?}");
}

#[test]
fn a_remedy_that_was_only_weighed_is_no_reason() {
    let memory = compose(&[turn(
        1,
        "Make the build pass",
        vec![
            run("make build", Purpose::Build, Some("ld: undefined symbol: crc32")),
            prose("The simplest fix would be to pin `zlib`, because 1.3 renamed its symbols."),
            prose("The linker is probably too old, because `crc32` is a new symbol."),
            prose("`crc32` is missing because `build.rs` never links `zlib`."),
            edit("build.rs"),
            run("make build", Purpose::Build, None),
            report("The build passes."),
        ],
    )]);
    let text = text_of(&memory);
    assert!(text.contains("never links `zlib`"), "{text}");
    assert!(
        !text.contains("pin `zlib`") && !text.contains("too old"),
        "{text}"
    );
}

#[test]
fn a_failure_is_told_with_a_change_only_if_it_was_there_before() {
    let facts = |first: Vec<Action>| {
        let fails = run(
            "cargo test",
            Purpose::Test,
            Some("error: queue is full after 10 jobs"),
        );
        let rest = vec![
            fails,
            edit("src/queue.rs"),
            run("cargo test", Purpose::Test, None),
            report("`push` now waits for a free slot, because a full queue dropped jobs."),
        ];
        let actions = first.into_iter().chain(rest).collect();
        text_of(&compose(&[turn(1, "Jobs get lost", actions)]))
    };
    let failure = "Before, `cargo test` failed: `error: queue is full after 10 jobs`";
    assert!(facts(Vec::new()).contains(failure));
    assert!(!facts(vec![edit("src/queue.rs")]).contains(failure));
}
