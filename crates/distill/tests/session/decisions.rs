//! Decisions of the user in made-up sessions.

use super::actions::{edit, handover, prose, report, text_of, titles, turn};
use backstory_distill::{Action, compose};
use backstory_model::ObservationType;

#[test]
fn answers_queued_messages_and_refusals_are_kept_verbatim() {
    let memory = compose(&[turn(
        1,
        "Wire the reviewer into CI",
        vec![
            Action::UserAnswer {
                question: "How should the job sign in?".to_owned(),
                answer: "API key secret".to_owned(),
                choice: None,
            },
            prose("Amending the commit with the lint fix."),
            Action::UserMessage("oh, please don't amend commits - it breaks our review links".to_owned()),
            Action::Refused {
                tool: "Bash".to_owned(),
                target: Some("git push --force".to_owned()),
                words: Some("never force-push shared branches, others build on them".to_owned()),
            },
            edit(".github/workflows/review.yml"),
            report("The workflow in `.github/workflows/review.yml` runs the reviewer on every pull request."),
        ],
    )]);
    let decisions: Vec<&str> = memory
        .observations
        .iter()
        .filter(|one| one.observation.kind == ObservationType::Decision)
        .map(|one| one.observation.title.as_str())
        .collect();
    assert_eq!(
        decisions,
        [
            "API key secret (How should the job sign in?)",
            "Please don't amend commits - it breaks our review links",
            "Never force-push shared branches, others build on them",
        ]
    );
    assert_eq!(memory.handover.decisions, decisions);
    assert!(text_of(&memory).contains("Said when refusing `git push --force`"));
}

#[test]
fn a_decision_in_a_turn_without_edits_is_remembered() {
    let words = "We decided to use Postgres instead of MySQL because we need JSONB indexes.";
    let memory = compose(&[turn(1, words, vec![report("Understood.")])]);
    assert_eq!(titles(&memory), [words.trim_end_matches('.')]);
    assert_eq!(memory.observations[0].observation.kind, ObservationType::Decision);
}

#[test]
fn a_later_decision_replaces_the_one_before_it() {
    let memory = compose(&[
        turn(
            1,
            "Set up sign-in",
            vec![Action::UserAnswer {
                question: "Which sign-in?".to_owned(),
                answer: "OAuth app".to_owned(),
                choice: None,
            }],
        ),
        turn(
            2,
            "actually lets go with the API key you recommended",
            vec![
                edit("ci.yml"),
                report("`ci.yml` reads the API key from the secret `REVIEW_KEY`."),
            ],
        ),
    ]);
    let text = text_of(&memory);
    assert!(!text.contains("OAuth"), "{text}");
    assert!(text.contains("go with the API key"), "{text}");
}

#[test]
fn decisions_are_rules_that_outlive_their_request() {
    let work = || vec![edit("a.py"), report("Changed `a.py`.")];
    let handover = handover(vec![
        ("Add session hooks to `a.py`", work()),
        ("don't give it a number and put it into the header", work()),
        ("yeah it doesn't make sense to commit in a broken state", work()),
        ("Add the tests for `a.py`", work()),
    ]);
    assert_eq!(
        handover.decisions,
        ["It doesn't make sense to commit in a broken state"]
    );
    assert!(
        !handover.requests.iter().any(|line| line.contains("broken state")),
        "{:?}",
        handover.requests
    );
}

/// Returns the decisions that a message of the user leaves while the agent works.
fn decided_by(words: &str) -> Vec<String> {
    let memory = compose(&[turn(
        1,
        "Speed up the import",
        vec![
            Action::UserMessage(words.to_owned()),
            edit("src/import.rs"),
            report("`import` now reads files in parallel."),
        ],
    )]);
    let observations = memory.observations.into_iter();
    observations
        .filter(|one| one.observation.kind == ObservationType::Decision)
        .map(|one| one.observation.title)
        .collect()
}

#[test]
fn an_answer_about_the_next_step_is_no_decision() {
    let decisions = |question: &str, answer: &str| {
        let memory = compose(&[turn(
            1,
            "Speed up the import",
            vec![Action::UserAnswer {
                question: question.to_owned(),
                answer: answer.to_owned(),
                choice: None,
            }],
        )]);
        memory.observations.len()
    };
    assert_eq!(decisions("Which format should the import write?", "Parquet"), 1);
    assert_eq!(decisions("What should I do next?", "Write the documentation"), 0);
    assert_eq!(
        decisions("Is it ready to merge?", "Run the slow tests once more"),
        0
    );
}

#[test]
fn an_order_about_something_named_elsewhere_is_no_decision() {
    assert_eq!(
        decided_by("please don't write the index on every single save"),
        ["Please don't write the index on every single save"]
    );
    assert!(decided_by("please don't do it on every single save").is_empty());
    assert_eq!(
        decided_by("put the defaults in a separate config file of the worker"),
        ["Put the defaults in a separate config file of the worker"]
    );
    assert!(decided_by("put this in a separate config file of the worker").is_empty());
}

#[test]
fn a_pasted_document_is_not_the_voice_of_the_user() {
    let review = "We should never log the token, because the build output is public. ".repeat(5);
    assert_eq!(decided_by(&review).len(), 1);
    assert!(decided_by(&format!("from the review:\n\n## Security\n\n{review}")).is_empty());
}

#[test]
fn a_correction_or_a_wait_is_no_decision() {
    for words in [
        "I mostly meant we should never look further back than the commit in `sessions`",
        "No don't set `gc.auto` on the repository, let's see if it keeps happening",
    ] {
        let memory = compose(&[turn(1, words, vec![report("Stopped.")])]);
        assert_eq!(titles(&memory), Vec::<String>::new(), "{words}");
    }
}

#[test]
fn a_request_about_entries_of_a_list_titles_no_change() {
    let memory = compose(&[turn(
        1,
        "Remove the first two tests",
        vec![
            edit("tests/compat.rs"),
            report(
                "- Removed `round_trip` and `reads_twice` from `compat.rs`, because they tested the JSON library\n- Added `reads_files_of_version_1`\n",
            ),
        ],
    )]);
    assert!(
        titles(&memory).iter().all(|title| !title.contains("first two")),
        "{:?}",
        titles(&memory)
    );
}
