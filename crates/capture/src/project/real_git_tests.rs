//! Tests on repositories made by the real `git`, compared with git's own answers. Skipped if git is not installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::*;

/// A temporary folder with its own git home, independent of the machine's settings.
struct Git {
    folder: TempDir,
}

impl Git {
    /// Returns `None` if git is not installed.
    fn new() -> Option<Self> {
        let git = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        git.try_run("", &["--version"]).map(|_| git)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn text(&self, path: &str) -> String {
        self.path(path).to_str().unwrap().to_owned()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the real git is what this file compares with"
    )]
    fn try_run(&self, folder: &str, arguments: &[&str]) -> Option<String> {
        let output = Command::new("git")
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin")
            .env("HOME", self.folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .args([
                "-c",
                "user.name=u",
                "-c",
                "user.email=u@h",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(["-c", "protocol.file.allow=always"])
            .args(arguments)
            .current_dir(self.path(folder))
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
    }

    fn run(&self, folder: &str, arguments: &[&str]) -> String {
        self.try_run(folder, arguments)
            .unwrap_or_else(|| panic!("git {arguments:?} in {folder}"))
    }

    fn commit(&self, folder: &str) {
        self.run(folder, &["commit", "--quiet", "--allow-empty", "-m", "x"]);
    }

    fn facts(&self, path: &str) -> ProjectIdentity {
        locate(&self.path(path)).facts
    }
}

#[test]
fn new_repositories_and_branches_match_git() {
    let Some(git) = Git::new() else { return };
    git.run("", &["init", "--quiet", "app"]);
    assert_eq!(git.facts("app").branch.as_deref(), Some("main"), "unborn");
    git.commit("app");
    git.run("app", &["switch", "--quiet", "-c", "feature/x"]);
    let facts = git.facts("app");
    assert_eq!(facts.root, git.run("app", &["rev-parse", "--show-toplevel"]));
    assert_eq!(
        (facts.key, facts.branch.as_deref()),
        (facts.root, Some("feature/x"))
    );
    git.run("app", &["checkout", "--quiet", "--detach"]);
    assert_eq!(
        git.facts("app").branch,
        Some(git.run("app", &["rev-parse", "--short=12", "HEAD"]))
    );
    git.run(
        "app",
        &[
            "remote",
            "add",
            "origin",
            "ssh://git@github.com:22/Acme/a\"b c.git",
        ],
    );
    assert_eq!(git.facts("app").key, "github.com/acme/a\"b c");
}

#[test]
fn worktrees_of_a_plain_repository_match_git() {
    let Some(git) = Git::new() else { return };
    git.run("", &["init", "--quiet", "app"]);
    git.commit("app");
    git.run("app", &["worktree", "add", "--quiet", "-b", "side", "../wt"]);
    git.run("wt", &["config", "extensions.worktreeConfig", "true"]);
    git.run("wt", &["config", "--worktree", "core.sparseCheckout", "true"]);
    let (main, side) = (git.facts("app"), git.facts("wt"));
    assert_eq!(
        (&side.key, &side.root, &side.name),
        (&main.key, &main.root, &main.name)
    );
    assert_eq!(
        (side.branch.as_deref(), side.worktree),
        (Some("side"), Some(git.text("wt")))
    );
    if git
        .try_run(
            "app",
            &["worktree", "add", "--quiet", "--relative-paths", "../rel"],
        )
        .is_some()
    {
        assert_eq!(git.facts("rel").root, main.root);
    }
}

#[test]
fn worktrees_of_a_bare_repository_match_git() {
    let Some(git) = Git::new() else { return };
    git.run("", &["init", "--quiet", "seed"]);
    git.commit("seed");
    git.run("", &["clone", "--quiet", "--bare", "seed", "p/.bare"]);
    git.run("p/.bare", &["remote", "remove", "origin"]);
    git.run("p/.bare", &["worktree", "add", "--quiet", "../one", "main"]);
    let facts = git.facts("p/one");
    assert_eq!((facts.root, facts.name.as_str()), (git.text("p/.bare"), "p"));
    assert_eq!(facts.key, git.facts("p/.bare/hooks").key);
    assert_eq!(facts.branch.as_deref(), Some("main"));
}

#[test]
fn a_bare_repository_and_its_clone_match_git() {
    let Some(git) = Git::new() else { return };
    git.run("", &["init", "--quiet", "--bare", "app.git"]);
    let bare = git.facts("app.git/objects");
    assert_eq!((bare.name.as_str(), &bare.key), ("app", &git.text("app.git")));
    git.run("", &["clone", "--quiet", "app.git", "clone"]);
    assert_eq!(git.facts("clone").key, format!("file:{}", git.text("app.git")));
}

#[test]
fn submodules_and_separate_git_folders_match_git() {
    let Some(git) = Git::new() else { return };
    git.run("", &["init", "--quiet", "lib"]);
    git.commit("lib");
    git.run("", &["init", "--quiet", "super"]);
    git.run(
        "super",
        &["submodule", "--quiet", "add", &git.text("lib"), "vendor/lib"],
    );
    assert_eq!(
        git.facts("super/vendor/lib").key,
        format!("file:{}", git.text("lib"))
    );
    git.run("super/vendor/lib", &["remote", "remove", "origin"]);
    let facts = git.facts("super/vendor/lib");
    assert_eq!(
        facts.root,
        git.run("super/vendor/lib", &["rev-parse", "--show-toplevel"])
    );
    assert_eq!(facts.key, facts.root);
    assert_eq!(git.facts("super/.git/modules/vendor/lib").key, facts.root);

    git.run("", &["init", "--quiet", "--separate-git-dir", "store", "app"]);
    git.commit("app");
    git.run("app", &["worktree", "add", "--quiet", "../wt"]);
    assert_eq!(
        git.facts("app").root,
        git.run("app", &["rev-parse", "--show-toplevel"])
    );
    assert_eq!(git.facts("app").key, git.facts("wt").key);
}

#[test]
fn newer_repository_formats_match_git() {
    let Some(git) = Git::new() else { return };
    if git
        .try_run("", &["init", "--quiet", "--object-format=sha256", "long"])
        .is_some()
    {
        git.commit("long");
        git.run("long", &["checkout", "--quiet", "--detach"]);
        assert_eq!(
            git.facts("long").branch,
            Some(git.run("long", &["rev-parse", "--short=12", "HEAD"]))
        );
    }
    if git
        .try_run("", &["init", "--quiet", "--ref-format=reftable", "table"])
        .is_some()
    {
        let facts = git.facts("table");
        assert_eq!((facts.root, facts.branch), (git.text("table"), None));
    }
}

#[test]
fn config_values_match_git() {
    let Some(git) = Git::new() else { return };
    git.run("", &["init", "--quiet", "app"]);
    for url in [
        "https://h/a#b",
        "https://h/\"q\"",
        "https://h/a;b",
        "https://h/  x\\y",
        "h:t\tab",
        "https://h/é",
    ] {
        git.run("app", &["config", "remote.origin.url", url]);
        let config = std::fs::read(git.path("app/.git/config")).unwrap();
        let read = config::GitConfig::parse(&config)
            .remotes()
            .next()
            .map(str::to_owned);
        assert_eq!(
            read,
            Some(git.run("app", &["config", "remote.origin.url"])),
            "{url}"
        );
    }
    assert!(Path::new(&git.facts("app").root).is_absolute());
}
