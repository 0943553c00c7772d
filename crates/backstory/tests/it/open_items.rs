//! Open items of a project: listed, ticked off, and opened again.

use serde_json::{Value, json};

use crate::{
    home::{Home, settings, text},
    memory::home_with_bug_fix,
};

fn items(home: &Home) -> Value {
    home.json(&["done", "--json"])
}

#[test]
fn a_ticked_item_leaves_the_context_and_the_hand_over_until_it_is_opened_again() {
    let home = home_with_bug_fix();
    let shown = |home: &Home| {
        [
            home.ok(&["context"]),
            home.ok(&["show", "S1"]),
            home.ok(&["session", "s1"]),
        ]
        .map(|page| page.to_lowercase().contains("bound the retries"))
    };
    assert_eq!(shown(&home), [true, true, true]);
    let listed = home.ok(&["done"]);
    let ticked = home.ok(&["done", "bound", "retries"]);
    assert_eq!(shown(&home), [false, false, true], "a turn keeps its own record");
    let after = home.ok(&["done"]);

    // Distilled again, the session states the same step.
    let before = items(&home);
    home.ok(&["reindex"]);
    home.drain();
    assert_eq!(items(&home), before);

    let key = before["done"][0]["key"].as_str().unwrap().to_owned();
    let opened = home.ok(&["done", "--undo", &key[..4]]);
    assert_eq!(items(&home)["open"][0]["key"], *key);
    assert_eq!(shown(&home), [true, true, true]);
    settings().bind(|| {
        insta::assert_snapshot!(
            "open_items",
            format!("{listed}\n$ done bound retries\n{ticked}\n$ done\n{after}\n$ done --undo\n{opened}")
        );
    });
}

#[test]
fn an_unknown_or_ambiguous_item_changes_nothing() {
    let home = Home::new();
    home.report(
        "user-prompt-submit",
        &json!({"prompt_id": "p1", "prompt": "Fix the upload"}),
    );
    home.report("stop", &json!({"prompt_id": "p1", "last_assistant_message":
        "Fixed the upload in `src/up.rs`.\n\nNext steps:\n- Bound the retries of the upload.\n- Bound the size of the upload."}));
    home.drain();
    let before = items(&home);
    for (words, message) in [
        (&["done", "bound"][..], "`bound` matches 2 items"),
        (
            &["done", "nonsense"],
            "no item has the key or the words `nonsense`",
        ),
        (&["done", "--undo", "bound"], "no item has"),
    ] {
        let output = home.run(words, b"");
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let printed = text(&output.stderr);
        assert!(printed.contains(message), "{printed}");
    }
    assert_eq!(items(&home), before);
}
