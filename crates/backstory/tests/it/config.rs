//! `backstory config`, through the real binary.

use crate::home::{Home, settings};

#[test]
fn settings_are_listed_set_and_unset() {
    let home = Home::new();
    assert_eq!(
        home.ok(&["config", "path"]),
        format!("{}\n", home.path().join("config.toml").display())
    );
    settings().bind(|| insta::assert_snapshot!("config_list", home.ok(&["config", "list"])));
    home.ok(&["config", "set", "context.full", "3"]);
    assert_eq!(home.ok(&["config", "get", "context.full"]), "3\n");
    home.ok(&["config", "unset", "context.full"]);
    assert_eq!(home.ok(&["config", "get", "context.full"]), "5\n");
}

#[test]
fn an_unknown_setting_is_rejected_with_a_suggestion() {
    let home = Home::new();
    let cases: [&[&str]; 3] = [
        &["config", "set", "context.ful", "3"],
        &["config", "set", "context.full", "many"],
        &["config", "get", "nonsense"],
    ];
    let mut said = String::new();
    for arguments in cases {
        let output = home.run(arguments, b"");
        assert_eq!(output.status.code(), Some(1));
        said.push_str(&String::from_utf8(output.stderr).unwrap());
    }
    settings().bind(|| insta::assert_snapshot!("config_refused", said));
    assert!(!home.path().join("config.toml").exists());
}
