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
