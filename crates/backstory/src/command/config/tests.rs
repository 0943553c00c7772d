use std::fs;

use backstory_engine::error::hints;
use clap::Parser as _;

use super::*;

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    config: ConfigArgs,
}

/// Folder with one `config.toml`.
struct Home(tempfile::TempDir);

impl Home {
    fn new(text: &str) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        let mut file = fs::File::create(home.file()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        home
    }

    fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join("config.toml")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    fn run_with(&self, env: &[(&str, &str)], args: &[&str]) -> String {
        let env: Vec<_> = env
            .iter()
            .map(|(name, text)| ((*name).into(), (*text).into()))
            .collect();
        let cli = match Cli::try_parse_from([&["config"], args].concat()) {
            Ok(cli) => cli,
            Err(error) => return format!("status 2\n{error}"),
        };
        let mut out = anstream::StripStream::new(Vec::new());
        let result = run(&cli.config, &self.file(), &env, &mut out);
        let mut shown = String::from_utf8(out.into_inner()).unwrap();
        match result {
            Ok(ConfigOutcome { messages, failed, .. }) => {
                shown.extend(messages.iter().map(|line| format!("stderr: {line}\n")));
                shown.push_str(if failed { "status 1\n" } else { "" });
            }
            Err(error) => {
                shown.push_str(&format!("stderr: error: {error:#}\n"));
                shown.extend(hints(&error).iter().map(|hint| format!("hint: {hint}\n")));
                shown.push_str("status 1\n");
            }
        }
        shown
            .replace(self.0.path().to_str().unwrap(), "HOME")
            .replace("HOME\\", "HOME/")
    }

    fn run(&self, args: &[&str]) -> String {
        self.run_with(&[], args)
    }
}

#[test]
fn list_shows_values_and_their_origin() {
    let home = Home::new("[context]\nfull = 7\nfulll = 8\n[capture]\nexclude = ['/a', '/b']\n");
    let env = [("BACKSTORY_UI_TIMEZONE", "UTC"), ("BACKSTORY_HTTP_PORT", "x")];
    insta::assert_snapshot!(home.run_with(&env, &["list"]), @"
      capture.skip_tools        ListMcpResourcesTool  default
                                SlashCommand
                                Skill
                                TodoWrite
                                AskUserQuestion
    * capture.exclude           /a, /b                config.toml:5
      capture.max_payload_kb    256                   default
      capture.redact            true                  default
      capture.durability        normal                default
      distill.provider          builtin               default
      distill.model             (empty)               default
      distill.base_url          (empty)               default
      distill.api_key_env       (empty)               default
      distill.api_key_file      (empty)               default
      distill.daily_tokens      200000                default
      distill.session_tokens    100000                default
      distill.prices            (empty)               default
      distill.concurrency       2                     default
      distill.max_input_tokens  6000                  default
      context.observations      50                    default
      context.team_percent      50                    default
      context.sessions          10                    default
    * context.full              7                     config.toml:2
      context.full_field        narrative             default
      context.types             decision              default
                                bugfix
                                feature
                                refactor
                                discovery
                                change
      context.concepts          (empty)               default
      context.budget_tokens     2000                  default
      context.prompt_tokens     500                   default
      context.on_start          true                  default
      context.on_prompt         true                  default
      context.on_file           true                  default
      context.on_error          true                  default
      context.withhold          0                     default
      recall.guard              warn                  default
      mcp.all_projects          false                 default
      worker.idle_minutes       30                    default
      worker.http               on                    default
      http.bind                 127.0.0.1             default
      http.port                 37777                 default
      retention.passages_days   365                   default
      retention.max_db_mb       2048                  default
      retention.backups         7                     default
      team.name                 (empty)               default
      team.share_mode           review                default
      team.share_summaries      false                 default
    * ui.timezone               UTC                   environment
      ui.receipts               start                 default
    stderr: config.toml:3: unknown key `context.fulll`; did you mean `context.full`?
    stderr: BACKSTORY_HTTP_PORT=x: expected a whole number from 0 to 65535
    status 1
    ");
}

#[test]
fn list_as_json_is_complete() {
    let home = Home::new("[context]\nfull = 7\n");
    let all: Json = serde_json::from_str(&home.run(&["list", "--json"])).unwrap();
    let settings = all["settings"].as_array().unwrap();
    assert_eq!(settings.len(), KEYS.len());
    assert_eq!(all["problems"], json!([]));
    let full = settings
        .iter()
        .find(|setting| setting["key"] == "context.full")
        .unwrap();
    insta::assert_snapshot!(full, @r#"{"key":"context.full","value":7,"source":"file","line":2,"environment":"BACKSTORY_CONTEXT_FULL","expected":"a whole number from 0 to 20"}"#);
}

#[test]
fn get_prints_the_bare_value() {
    let home = Home::new(
        "context.full = 7\nworker.http = true\ncapture.exclude = ['/a b', '/c']\nui.x = 1\nhttp.port = -1\n",
    );
    let table: &[&[&str]] = &[
        &["get", "capture.exclude"],
        &["get", "capture.exclude", "--json"],
        &["get", "worker.http"],
        &["get", "http.port"],
        &["get", "ui.timezone", "--json"],
        &["get", "full"],
        &["get", "context"],
        &["get", "nothing.like.it"],
        &["path"],
    ];
    let all: String = table
        .iter()
        .map(|args| format!("$ {}\n{}", args.join(" "), home.run(args)))
        .collect();
    insta::assert_snapshot!(all, @r#"
    $ get capture.exclude
    /a b
    /c
    stderr: config.toml:4: unknown key `ui.x`; `backstory config list` lists them
    stderr: config.toml:5: http.port = -1: expected a whole number from 0 to 65535
    $ get capture.exclude --json
    ["/a b","/c"]
    stderr: config.toml:4: unknown key `ui.x`; `backstory config list` lists them
    stderr: config.toml:5: http.port = -1: expected a whole number from 0 to 65535
    $ get worker.http
    on
    stderr: config.toml:4: unknown key `ui.x`; `backstory config list` lists them
    stderr: config.toml:5: http.port = -1: expected a whole number from 0 to 65535
    $ get http.port
    37777
    stderr: config.toml:4: unknown key `ui.x`; `backstory config list` lists them
    stderr: config.toml:5: http.port = -1: expected a whole number from 0 to 65535
    status 1
    $ get ui.timezone --json
    ""
    stderr: config.toml:4: unknown key `ui.x`; `backstory config list` lists them
    stderr: config.toml:5: http.port = -1: expected a whole number from 0 to 65535
    $ get full
    stderr: error: unknown setting `full`; did you mean `context.full`?
    status 1
    $ get context
    stderr: error: `context` is a section; its settings are context.observations, context.team_percent, context.sessions, context.full, context.full_field, context.types, context.concepts, context.budget_tokens, context.prompt_tokens, context.on_start, context.on_prompt, context.on_file, context.on_error, context.withhold
    status 1
    $ get nothing.like.it
    stderr: error: unknown setting `nothing.like.it`; `backstory config list` lists them
    status 1
    $ path
    HOME/config.toml
    "#);
}

#[test]
fn set_creates_a_file_that_only_the_owner_can_read() {
    let home = Home::empty();
    insta::assert_snapshot!(home.run(&["set", "context.full", "7"]), @"stderr: context.full is now 7");
    insta::assert_snapshot!(home.text(), @"
    # Settings of backstory. `backstory config list` shows all of them with their values;
    # only what differs from the defaults has to stand here.

    [context]
    full = 7
    ");
    assert_ne!(backstory_system::is_open_to_others(&home.file()), Some(true));
    assert_eq!(home.run(&["get", "context.full"]), "7\n");
    let names = fs::read_dir(home.0.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names
        .filter(|name| name != "config.toml" && name != "folder.lock")
        .collect();
    assert!(left.is_empty(), "no temporary file is left: {left:?}");
}

#[test]
fn set_rejects_invalid_values() {
    let before = "# mine\ncontext.full = 7\n";
    let home = Home::new(before);
    let table: &[&[&str]] = &[
        &["set", "context.full", "21"],
        &["set", "context.full", "-1"],
        &["set", "context.full", "1", "2"],
        &["set", "context.full", "--add", "1"],
        &["set", "capture.exclude", "--remove", "/a"],
        &["set", "context.types", "--add", "bugs"],
        &["set", "context.types", ""],
        &["set", "distill.api_key_env", "sk-ant-api03-secret"],
        &["set", "contxt.full", "1"],
        &["unset", "context.fulll"],
    ];
    let all: String = table
        .iter()
        .map(|args| format!("$ {}\n{}", args.join(" "), home.run(args)))
        .collect();
    insta::assert_snapshot!(all, @"
    $ set context.full 21
    stderr: error: context.full = 21: expected a whole number from 0 to 20
    status 1
    $ set context.full -1
    stderr: error: context.full = -1: expected a whole number from 0 to 20
    status 1
    $ set context.full 1 2
    stderr: error: context.full = 1 2: expected a whole number from 0 to 20
    status 1
    $ set context.full --add 1
    stderr: error: context.full is not a list; expected a whole number from 0 to 20
    status 1
    $ set capture.exclude --remove /a
    stderr: error: `/a` is not in capture.exclude
    status 1
    $ set context.types --add bugs
    stderr: error: context.types = decision, bugfix, feature, refactor, discovery, change, bugs: expected a list with at least one of decision, bugfix, feature, refactor, discovery, change
    status 1
    $ set context.types 
    stderr: error: context.types = (empty): expected a list with at least one of decision, bugfix, feature, refactor, discovery, change
    status 1
    $ set distill.api_key_env sk-ant-api03-secret
    stderr: error: distill.api_key_env = (not shown): expected the name of an environment variable (not the key itself), or empty
    status 1
    $ set contxt.full 1
    stderr: error: unknown setting `contxt.full`; did you mean `context.full`?
    status 1
    $ unset context.fulll
    stderr: error: unknown setting `context.fulll`; did you mean `context.full`?
    status 1
    ");
    assert_eq!(home.text(), before);
    for usage in [
        &["set", "context.full"][..],
        &["set", "capture.exclude", "a", "--add", "b"],
    ] {
        assert!(home.run(usage).starts_with("status 2"), "{usage:?}");
    }
}

#[test]
fn lists_are_set_and_edited() {
    let home = Home::new("[capture]\nexclude = ['/a'] # private\n");
    let table: &[(&[&str], &str)] = &[
        (
            &["set", "capture.exclude", "--add", "/b", "--add", "/c"],
            "['/a', \"/b\", \"/c\"]",
        ),
        (
            &["set", "capture.exclude", "--add", "/b"],
            "['/a', \"/b\", \"/c\"]",
        ),
        (
            &["set", "capture.exclude", "--remove", "/a", "--add", "/d"],
            "[\"/b\", \"/c\", \"/d\"]",
        ),
        (&["set", "capture.exclude", "x y", "z"], "[\"x y\", \"z\"]"),
        (&["set", "capture.exclude", ""], "[]"),
    ];
    for (args, list) in table {
        home.run(args);
        assert_eq!(
            home.text(),
            format!("[capture]\nexclude = {list} # private\n"),
            "{args:?}"
        );
    }
    assert_eq!(
        home.run(&["unset", "capture.exclude"]),
        "stderr: capture.exclude is reset to its default, (empty)\n"
    );
    home.run(&["set", "capture.skip_tools", "--remove", "Skill"]);
    assert_eq!(
        home.text(),
        "[capture]\nskip_tools = [\"ListMcpResourcesTool\", \"SlashCommand\", \"TodoWrite\", \"AskUserQuestion\"]\n"
    );
}

#[test]
fn set_rejects_a_broken_file_and_ignores_other_invalid_keys() {
    let broken = Home::new("[context]\nfull = = 7\n");
    insta::assert_snapshot!(broken.run(&["set", "context.full", "7"]), @"
    stderr: error: config.toml:2:8: not valid TOML: extra `=`; the file is ignored until this is fixed
    hint: fix HOME/config.toml manually first; it was not changed
    status 1
    ");
    insta::assert_snapshot!(broken.run(&["get", "context.full"]), @"
    5
    stderr: config.toml:2:8: not valid TOML: extra `=`; the file is ignored until this is fixed
    status 1
    ");
    assert_eq!(broken.text(), "[context]\nfull = = 7\n");

    let odd = Home::new("[context]\nfull = 'x'\nsessions = 0\n");
    let env = [("BACKSTORY_CONTEXT_FULL", "3")];
    insta::assert_snapshot!(odd.run_with(&env, &["set", "context.full", "7"]), @"
    stderr: context.full is now 7
    stderr: warning: BACKSTORY_CONTEXT_FULL is set and overrides this
    stderr: warning: config.toml:3: context.sessions = 0: expected a whole number from 1 to 50
    ");
    assert_eq!(odd.text(), "[context]\nfull = 7\nsessions = 0\n");
    assert!(
        Home::new("context = 5\n")
            .run(&["set", "context.full", "7"])
            .ends_with("status 1\n")
    );
}

#[test]
#[cfg(unix)]
fn a_link_and_the_mode_of_its_target_survive() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let home = Home::empty();
    let target = home.0.path().join("dotfiles/config.toml");
    symlink("dotfiles/config.toml", home.file()).unwrap();
    assert_eq!(
        home.run(&["set", "context.full", "7"]),
        "stderr: context.full is now 7\n"
    );
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(
        home.run(&["set", "context.full", "8"]),
        "stderr: context.full is now 8\n"
    );
    assert!(fs::symlink_metadata(home.file()).unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().ends_with("full = 8\n"));
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);

    let loops = Home::empty();
    symlink("config.toml", loops.file()).unwrap();
    assert!(loops.run(&["set", "context.full", "7"]).ends_with("status 1\n"));
}

#[test]
fn a_change_without_effect_does_not_write_the_file() {
    let home = Home::empty();
    insta::assert_snapshot!(home.run(&["unset", "context.full"]), @"stderr: context.full is not set in HOME/config.toml; it is at its default, 5");
    assert!(!home.file().exists());
    home.run(&["set", "context.full", "7"]);
    insta::assert_snapshot!(home.run(&["set", "context.full", "7"]), @"stderr: context.full is already 7");
}

#[test]
fn concurrent_changes_are_all_kept() {
    let home = Home::empty();
    let names = [
        "context.observations",
        "context.sessions",
        "context.full",
        "retention.backups",
        "http.port",
    ];
    std::thread::scope(|scope| {
        for name in names {
            let home = &home;
            scope.spawn(move || home.run(&["set", name, "17"]));
        }
    });
    for name in names {
        assert_eq!(home.run(&["get", name]), "17\n", "{name}");
    }
}
