//! What became of the work that memories are about, in real repositories.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use crate::home::Home;

/// A real repository beside a home.
struct Repository {
    home: Home,
    root: PathBuf,
}

impl Repository {
    fn new() -> Self {
        let home = Home::new();
        let root = home.outside().join("app");
        fs::create_dir(&root).unwrap();
        let repository = Self { home, root };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.commit_file("README", "An application.\n");
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.root, arguments)
    }

    fn git_in(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@example.com",
                "-c",
                "protocol.file.allow=always",
            ])
            .args(arguments)
            .env_clear()
            .env("HOME", self.home.outside().join("home"))
            .env("PATH", "/usr/bin:/bin")
            .current_dir(folder)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn commit_file(&self, name: &str, content: &str) {
        fs::write(self.root.join(name), content).unwrap();
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", &format!("Change {name}")]);
    }

    /// Runs a session that writes a file about a subject, and commits it.
    fn work(&self, subject: &str) {
        self.work_in(&self.root, subject, true);
    }

    fn work_in(&self, folder: &Path, subject: &str, commits: bool) {
        let report = |event: &str, mut fields: serde_json::Value| {
            fields["session_id"] = subject.into();
            fields["cwd"] = folder.to_str().unwrap().into();
            self.home.hook(event, fields.to_string().as_bytes());
        };
        let file = folder.join(format!("{subject}.rs"));
        report(
            "user-prompt-submit",
            json!({"prompt": format!("Make {subject} retry once")}),
        );
        let content = format!("fn {subject}() {{\n    retry(1);\n}}\n");
        fs::write(&file, &content).unwrap();
        report(
            "post-tool-use",
            json!({"tool_name": "Write", "tool_use_id": "t1", "tool_input": {"file_path": file, "content": content},
                "tool_response": {"type": "create", "filePath": file}}),
        );
        if commits {
            self.git_in(folder, &["add", "--all"]);
            let printed = self.git_in(folder, &["commit", "--message", &format!("Retry {subject} once")]);
            report(
                "post-tool-use",
                json!({"tool_name": "Bash", "tool_use_id": "t2",
                    "tool_input": {"command": format!("git commit -m 'Retry {subject} once'")},
                    "tool_response": {"stdout": printed, "stderr": ""}}),
            );
        }
        let said =
            format!("Fixed: `{subject}` now retries once, because the first call of {subject} often fails.");
        report("stop", json!({"last_assistant_message": said}));
        self.home.drain();
    }

    /// Returns the state of the work of a session, after a check.
    fn state(&self, subject: &str) -> String {
        self.home.drain();
        let states = self.home.rows(&format!(
            "select coalesce(state, 'unknown') from turn_git join turn on turn.id = turn_id
                join session on session.id = session_db_id where session_id = '{subject}'"
        ));
        assert_eq!(states.len(), 1, "{subject}");
        states[0].clone()
    }

    fn states<const N: usize>(&self, subjects: [&str; N]) -> [String; N] {
        subjects.map(|subject| self.state(subject))
    }

    /// Returns the context of a session in a folder.
    fn context(&self, folder: &Path) -> String {
        self.home.ok(&["context", "--cwd", folder.to_str().unwrap()])
    }

    /// Returns the line about a subject in the context of the repository.
    fn line(&self, subject: &str) -> String {
        let context = self.context(&self.root);
        let name = format!("Retry {subject} once");
        let line = context
            .lines()
            .find(|line| line.starts_with('#') && line.contains(&name));
        line.unwrap_or_else(|| panic!("{subject} is not in\n{context}"))
            .to_owned()
    }
}

#[test]
fn merged_work_is_merged_and_other_work_says_its_branch() {
    let repository = Repository::new();
    repository.git(&["switch", "--quiet", "--create", "feature/upload"]);
    repository.work("upload");
    assert_eq!(repository.state("upload"), "working");
    assert!(
        !repository.line("upload").contains("not merged"),
        "this branch has it"
    );
    repository.git(&["switch", "--quiet", "main"]);
    assert!(
        repository
            .line("upload")
            .contains("(on `feature/upload`, not merged)")
    );
    let explained = repository
        .home
        .command(&["context", "--explain"])
        .current_dir(&repository.root)
        .output()
        .unwrap();
    let explained = String::from_utf8(explained.stdout).unwrap();
    assert!(
        explained.contains("on `feature/upload`, not merged"),
        "{explained}"
    );

    repository.git(&["merge", "--quiet", "--no-ff", "feature/upload"]);
    assert_eq!(repository.state("upload"), "merged");
    assert!(!repository.line("upload").contains("not merged"));
    let id = repository.home.rows("select cast(id as text) from observation")[0].clone();
    let shown = repository.home.json(&["show", "--json", &id]);
    assert_eq!(shown[0]["branch"], "feature/upload");
    assert_eq!(shown[0]["branch_state"], "merged");
    assert_eq!(shown[0]["commit"].as_str().unwrap().len(), 40);
}

#[test]
fn a_squash_merge_is_recognized_after_the_branch_is_gone() {
    let repository = Repository::new();
    repository.git(&["switch", "--quiet", "--create", "feature/pay"]);
    repository.work("pay");
    repository.work("refund");
    repository.git(&["switch", "--quiet", "main"]);
    repository.commit_file("other", "Unrelated.\n");
    assert_eq!(repository.states(["pay", "refund"]), ["working", "working"]);
    repository.git(&["merge", "--quiet", "--squash", "feature/pay"]);
    repository.git(&["commit", "--quiet", "--message", "Payments (#3)"]);
    repository.git(&["branch", "--delete", "--force", "feature/pay"]);
    assert_eq!(repository.states(["pay", "refund"]), ["merged", "merged"]);
}

#[test]
fn a_rebase_merge_is_recognized_by_its_patches() {
    let repository = Repository::new();
    repository.git(&["switch", "--quiet", "--create", "feature/mail"]);
    repository.work("mail");
    repository.work("inbox");
    repository.git(&["switch", "--quiet", "main"]);
    repository.commit_file("other", "Unrelated.\n");
    repository.git(&["switch", "--quiet", "feature/mail"]);
    repository.git(&["rebase", "--quiet", "main"]);
    assert_eq!(
        repository.states(["mail", "inbox"]),
        ["working", "working"],
        "rewritten, not merged"
    );
    repository.git(&["switch", "--quiet", "main"]);
    repository.git(&["merge", "--quiet", "--ff-only", "feature/mail"]);
    repository.git(&["branch", "--delete", "feature/mail"]);
    assert_eq!(repository.states(["mail", "inbox"]), ["merged", "merged"]);
}

#[test]
fn a_cherry_pick_merges_one_commit_of_a_branch() {
    let repository = Repository::new();
    repository.git(&["switch", "--quiet", "--create", "feature/search"]);
    repository.work("search");
    let picked = repository.git(&["rev-parse", "HEAD"]);
    repository.work("ranking");
    repository.git(&["switch", "--quiet", "main"]);
    repository.commit_file("other", "Unrelated.\n");
    repository.git(&["cherry-pick", picked.trim()]);
    assert_eq!(repository.states(["search", "ranking"]), ["merged", "working"]);
}

#[test]
fn a_revert_supersedes_what_it_reverts_until_it_is_reverted_itself() {
    let repository = Repository::new();
    repository.git(&["switch", "--quiet", "--create", "feature/cache"]);
    repository.work("cache");
    repository.git(&["switch", "--quiet", "main"]);
    repository.git(&["merge", "--quiet", "--no-ff", "feature/cache"]);
    assert_eq!(repository.state("cache"), "merged");
    repository.git(&["revert", "--no-edit", "--mainline", "1", "HEAD"]);
    assert_eq!(repository.state("cache"), "abandoned");
    let line = repository.line("cache");
    assert!(line.contains("(tried on `feature/cache`, reverted)"), "{line}");
    repository.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(repository.state("cache"), "merged");
    assert!(!repository.line("cache").contains("tried"));

    // A session that reverts says why; its memory takes the place of the reverted one.
    repository.git(&["switch", "--quiet", "--create", "direct"]);
    repository.work("retry_pool");
    repository.git(&["switch", "--quiet", "main"]);
    repository.git(&["merge", "--quiet", "--ff-only", "direct"]);
    revert_in_session(&repository);
    assert_eq!(repository.state("retry_pool"), "abandoned");
    let superseded = repository.home.rows(
        "select by.title from observation as old join observation as by on by.id = old.superseded_by
            where old.title like '%retry_pool%'",
    );
    assert!(
        superseded.iter().any(|title| title.contains("Revert the pool")),
        "{superseded:?}"
    );
}

/// Runs a session that reverts the last commit.
fn revert_in_session(repository: &Repository) {
    let root = repository.root.to_str().unwrap();
    let report = |event: &str, mut fields: serde_json::Value| {
        fields["session_id"] = "reverting".into();
        fields["cwd"] = root.into();
        repository.home.hook(event, fields.to_string().as_bytes());
    };
    report(
        "user-prompt-submit",
        json!({"prompt": "The pool deadlocks, take the last commit back"}),
    );
    repository.git(&["revert", "--no-edit", "HEAD"]);
    let file = repository.root.join("NOTES");
    fs::write(&file, "The pool deadlocks.\n").unwrap();
    report(
        "post-tool-use",
        json!({"tool_name": "Write", "tool_use_id": "t1",
            "tool_input": {"file_path": file, "content": "The pool deadlocks.\n"},
            "tool_response": {"type": "create", "filePath": file}}),
    );
    let hash = repository.git(&["rev-parse", "--short", "HEAD"]);
    report(
        "post-tool-use",
        json!({"tool_name": "Bash", "tool_use_id": "t2", "tool_input": {"command": "git commit -m 'Revert the pool'"},
            "tool_response": {"stdout": format!("[main {}] Revert the pool\n 1 file changed\n", hash.trim()), "stderr": ""}}),
    );
    report(
        "stop",
        json!({"last_assistant_message": "Reverted the pool, because it causes a deadlock under load."}),
    );
    repository.home.drain();
}

#[test]
fn work_on_a_deleted_branch_was_only_tried() {
    let repository = Repository::new();
    repository.git(&["switch", "--quiet", "--create", "feature/grid"]);
    repository.work("grid");
    repository.git(&["switch", "--quiet", "main"]);
    repository.git(&["branch", "--delete", "--force", "feature/grid"]);
    assert_eq!(repository.state("grid"), "abandoned");
    let context = repository.context(&repository.root);
    let at = context.find("(tried on `feature/grid`, not merged)").unwrap();
    let after = context[at..].lines().nth(1).unwrap_or_default();
    assert!(!after.starts_with("  "), "only its title:\n{context}");
    assert!(!context.contains("Where work stopped"), "{context}");
    // The objects may be gone later; the state stays.
    repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    repository.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(repository.state("grid"), "abandoned");
}

#[test]
fn uncommitted_work_follows_its_next_commit() {
    let repository = Repository::new();
    repository.git(&["switch", "--quiet", "--create", "feature/form"]);
    repository.work_in(&repository.root, "form", false);
    assert_eq!(repository.state("form"), "working", "not committed");
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "--message", "Forms"]);
    assert_eq!(repository.state("form"), "working");
    repository.git(&["switch", "--quiet", "main"]);
    repository.git(&["merge", "--quiet", "--ff-only", "feature/form"]);
    repository.git(&["branch", "--delete", "feature/form"]);
    assert_eq!(repository.state("form"), "merged");
}

#[test]
fn a_linked_worktree_shares_the_branches_of_its_repository() {
    let repository = Repository::new();
    let linked = repository.home.outside().join("linked");
    repository.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "feature/menu",
        linked.to_str().unwrap(),
    ]);
    repository.work_in(&linked, "menu", true);
    assert_eq!(repository.state("menu"), "working");
    assert!(
        repository
            .line("menu")
            .contains("(on `feature/menu`, not merged)")
    );
    assert!(!repository.context(&linked).contains("not merged"));
    repository.git(&["worktree", "remove", "--force", linked.to_str().unwrap()]);
    repository.work("footer");
    assert_eq!(repository.state("menu"), "working", "the branch is still there");
    repository.git(&["branch", "--delete", "--force", "feature/menu"]);
    assert_eq!(repository.state("menu"), "abandoned");
}

#[test]
fn work_on_a_detached_head_lives_as_long_as_something_has_it() {
    let repository = Repository::new();
    repository.git(&["switch", "--quiet", "--detach"]);
    repository.work("probe");
    assert_eq!(repository.state("probe"), "working");
    repository.git(&["branch", "kept"]);
    repository.git(&["switch", "--quiet", "main"]);
    assert_eq!(repository.state("probe"), "working");
    repository.git(&["branch", "--delete", "--force", "kept"]);
    assert_eq!(repository.state("probe"), "abandoned");
}

#[test]
fn a_shallow_clone_tells_what_it_has() {
    let repository = Repository::new();
    for number in 0..3 {
        repository.commit_file("README", &format!("Version {number}.\n"));
    }
    let clone = repository.home.outside().join("shallow");
    let from = format!("file://{}", repository.root.display());
    repository.git(&["clone", "--quiet", "--depth", "1", &from, clone.to_str().unwrap()]);
    repository.git_in(&clone, &["switch", "--quiet", "--create", "feature/tiny"]);
    repository.work_in(&clone, "tiny", true);
    assert_eq!(repository.state("tiny"), "working");
    repository.git_in(&clone, &["switch", "--quiet", "main"]);
    repository.git_in(&clone, &["merge", "--quiet", "--squash", "feature/tiny"]);
    repository.git_in(&clone, &["commit", "--quiet", "--message", "Tiny"]);
    assert_eq!(repository.state("tiny"), "merged");
}

#[test]
fn a_branch_on_top_of_another_has_its_work() {
    let repository = Repository::new();
    repository.git(&["switch", "--quiet", "--create", "feature/base"]);
    repository.work("base");
    repository.git(&["switch", "--quiet", "--create", "feature/top"]);
    repository.work("top");
    assert_eq!(repository.states(["base", "top"]), ["working", "working"]);
    assert!(
        !repository.line("base").contains("not merged"),
        "feature/top has it"
    );
    repository.git(&["switch", "--quiet", "feature/base"]);
    assert!(repository.line("top").contains("(on `feature/top`, not merged)"));
}

#[test]
fn staleness_is_about_the_cited_lines_and_follows_renames() {
    let repository = Repository::new();
    repository.work("token");
    let is_stale = || {
        repository.home.drain();
        repository.line("token").contains("file changed since")
    };
    assert!(!is_stale());
    let file = repository.root.join("token.rs");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\nfn unrelated() {{}}\n")).unwrap();
    assert!(!is_stale(), "an edit elsewhere in the file");
    fs::create_dir(repository.root.join("src")).unwrap();
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "--message", "Add unrelated"]);
    repository.git(&["mv", "token.rs", "src/credentials.rs"]);
    repository.git(&["commit", "--quiet", "--message", "Move"]);
    assert!(!is_stale(), "renamed");
    let file = repository.root.join("src/credentials.rs");
    fs::write(&file, text.replace("retry(1)", "retry(5)")).unwrap();
    assert!(is_stale(), "the cited function changed");
}

#[test]
fn a_repository_cannot_make_the_check_run_a_program() {
    let repository = Repository::new();
    let mark = repository.home.outside().join("ran");
    let program = repository.home.outside().join("program");
    fs::write(
        &program,
        format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\n", mark.display()),
    )
    .unwrap();
    let mut permissions = fs::metadata(&program).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(&program, permissions).unwrap();
    repository.git(&["switch", "--quiet", "--create", "feature/trap"]);
    repository.work("trap");
    repository.git(&["switch", "--quiet", "main"]);
    let path = program.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "gpg.program",
        "pager.log",
        "pager.rev-list",
        "credential.helper",
    ] {
        repository.git(&["config", key, path]);
    }
    repository.git(&["config", "log.showSignature", "true"]);
    fs::write(repository.root.join(".git/info/attributes"), "* diff=evil\n").unwrap();
    for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
        fs::copy(&program, repository.root.join(".git/hooks").join(hook)).unwrap();
    }
    fs::remove_file(&mark).ok();
    assert_eq!(repository.state("trap"), "working");
    assert!(
        !mark.exists(),
        "{}",
        fs::read_to_string(&mark).unwrap_or_default()
    );
}
