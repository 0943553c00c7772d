//! What the user chose among options.

use backstory_distill::{Action, AnswerChoice, compose};

use crate::actions::{report, text_of, titles, turn};

const OPTIONS: &str = "I read `loader.py`.\n\n**Next question:** When should the index be built?\n\n| Option | Description |\n|---|---|\n| **A. At startup (Recommended)** | Build it once, before the first request. |\n| **B. On demand** | Build it with the first query. |\n\nI recommend **Option A** because:\n- Requests stay fast\n\nWhich do you prefer?";

#[test]
fn a_picked_option_is_a_decision_with_its_alternatives() {
    let memory = compose(&[
        turn(1, "Plan the index", vec![report(OPTIONS)]),
        turn(2, "A.", vec![report("OK.")]),
    ]);
    assert_eq!(titles(&memory), ["At startup (When should the index be built?)"]);
    let text = text_of(&memory);
    for part in [
        "before the first request",
        "Not chosen: On demand",
        "Requests stay fast",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        memory
            .handover
            .decisions
            .iter()
            .any(|line| line.starts_with("At startup")),
        "{:?}",
        memory.handover
    );
}

#[test]
fn options_without_an_answer_are_open_and_no_finding() {
    let memory = compose(&[turn(1, "Plan the index", vec![report(OPTIONS)])]);
    assert_eq!(titles(&memory), [""; 0]);
    assert_eq!(
        memory.handover.open,
        ["Asked, not answered: When should the index be built? A. At startup; B. On demand"]
    );
}

#[test]
fn a_rejected_option_is_not_chosen() {
    let memory = compose(&[
        turn(1, "Plan the index", vec![report(OPTIONS)]),
        turn(
            2,
            "Option A doesn't work since the disk is empty at startup",
            vec![report("OK.")],
        ),
    ]);
    assert!(!text_of(&memory).contains("Not chosen"), "{}", text_of(&memory));
}

#[test]
fn an_answer_to_a_question_of_the_agent_keeps_what_was_offered() {
    let answer = Action::UserAnswer {
        question: "Where should the keys of `sign` be kept?".to_owned(),
        answer: "Keychain".to_owned(),
        choice: Some(AnswerChoice {
            details: Some("The system asks before each use".to_owned()),
            others: vec!["File".to_owned()],
        }),
    };
    let text = text_of(&compose(&[turn(1, "Sign the builds", vec![answer])]));
    assert!(
        text.contains("The system asks before each use. Not chosen: File."),
        "{text}"
    );
}

#[test]
fn answers_to_numbered_questions_are_no_choice_among_them() {
    let questions = "A plan for `list`.\n\n**Open questions:**\n\n1. **Orphaned sessions**: Sessions without a branch. Should we show them?\n2. **Depth limit**: How far back should `list` look?\n3. **Collapse**: Which branch is open by default?\n\nWhich do you prefer?";
    let memory = compose(&[
        turn(1, "Plan the list", vec![report(questions)]),
        turn(2, "1. no 2. 50 commits 3. the current one", vec![report("OK.")]),
    ]);
    let text = text_of(&memory);
    assert!(!text.contains("Not chosen"), "{text}");
}

#[test]
fn several_picked_numbers_are_all_chosen() {
    let options = "The agent is logged nowhere yet.\n\nWhere should `with_agent` be called?\n\n1. **`registry.py`** - `agent_name` is known there\n2. **`handlers.py`** - six handlers call it\n3. **`git_hooks.py`** - it has to be detected first\n\nWould you like me to implement these changes?";
    let memory = compose(&[
        turn(1, "Where is the agent logged?", vec![report(options)]),
        turn(2, "Implement 1,2 and 3.", vec![report("OK.")]),
    ]);
    assert!(!text_of(&memory).contains("Not chosen"), "{}", text_of(&memory));
}

#[test]
fn a_directive_is_named_by_the_subject_of_its_message() {
    let memory = compose(&[turn(
        1,
        "Can we rewrite the attribution guide for new readers? Also never give it a number or a date in the file.",
        vec![report("OK.")],
    )]);
    assert_eq!(titles(&memory), ["Rewrite the attribution guide for new readers"]);
    assert!(
        text_of(&memory).contains("never give it a number"),
        "{}",
        text_of(&memory)
    );
}
