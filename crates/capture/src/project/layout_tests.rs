//! Tests for every repository layout, with files written by hand.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

pub(super) const REMOTE: &str = "[remote \"origin\"]\n\turl = git@github.com:Acme/App.git\n";
pub(super) const KEY: &str = "github.com/acme/app";

/// A temporary folder for repositories.
pub(super) struct Disk {
    folder: TempDir,
}

impl Disk {
    pub(super) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        let root = self.folder.path().canonicalize().unwrap();
        if path.is_empty() { root } else { root.join(path) }
    }

    pub(super) fn text(&self, path: &str) -> String {
        self.path(path).to_str().unwrap().to_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "nobody else sees this folder")]
    pub(super) fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
        self
    }

    pub(super) fn folder(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    /// Writes the content of a `.git` folder.
    pub(super) fn repository(&self, git_dir: &str, config: &str) -> &Self {
        self.folder(&format!("{git_dir}/objects"))
            .folder(&format!("{git_dir}/refs/heads"));
        self.file(&format!("{git_dir}/HEAD"), "ref: refs/heads/main\n")
            .file(&format!("{git_dir}/config"), config)
    }

    /// Writes a linked worktree on the branch `side`, with the given pointers.
    pub(super) fn worktree(&self, at: &str, git_dir: &str, pointer: &str, common: &str) -> &Self {
        self.file(&format!("{at}/.git"), format!("gitdir: {pointer}\n"));
        self.file(&format!("{git_dir}/HEAD"), "ref: refs/heads/side\n");
        self.file(&format!("{git_dir}/gitdir"), format!("{}/.git\n", self.text(at)));
        self.file(&format!("{git_dir}/commondir"), format!("{common}\n"))
            .folder(&format!("{at}/src"))
    }

    pub(super) fn facts(&self, path: &str) -> ProjectIdentity {
        let place = locate(&self.path(path));
        assert_eq!(place.ignored, is_ignored(&self.path(path)));
        place.facts
    }

    /// Returns key and root, with the temporary folder written as `~`.
    pub(super) fn short(&self, path: &str) -> [String; 3] {
        let facts = self.facts(path);
        [facts.key, facts.root, facts.name].map(|text| text.replace(&self.text(""), "~"))
    }

    pub(super) fn ignored(&self, path: &str) -> bool {
        let answer = is_ignored(&self.path(path));
        assert_eq!(answer, locate(&self.path(path)).ignored);
        answer
    }
}

#[test]
fn a_plain_repository_is_one_project_with_all_its_folders() {
    let disk = Disk::new();
    disk.repository("app/.git", REMOTE)
        .folder("app/src/deep")
        .repository("other/app/.git", "");
    for path in [
        "app",
        "app/src",
        "app/src/deep",
        "app/.git",
        "app/.git/refs/heads",
    ] {
        let wanted = ProjectIdentity {
            key: KEY.into(),
            name: "app".into(),
            root: disk.text("app"),
            branch: Some("main".into()),
            worktree: None,
        };
        assert_eq!(disk.facts(path), wanted, "{path}");
    }
    assert_eq!(
        disk.short("other/app"),
        ["~/other/app", "~/other/app", "app"],
        "the name alone is no identity"
    );
}

#[test]
fn remotes_are_found_in_all_forms_of_config() {
    for (name, config, wanted) in [
        (
            "windows",
            "[REMOTE \"origin\"]\r\n\tURL = \"https://t:p@GitHub.com/Acme/App\" ; x\r\n",
            KEY,
        ),
        (
            "no origin",
            "[remote \"up\"]\nurl = https://h/x\n[remote \"b\"]\nurl = https://h/y\n",
            "h/x",
        ),
        (
            "unusable origin",
            "[remote \"origin\"]\nurl = https://\n[remote \"b\"]\nurl = https://h/y\n",
            "h/y",
        ),
        (
            "relative path",
            "[remote \"origin\"]\nurl = ../up.git\n",
            "file:~/up.git",
        ),
        ("itself", "[remote \"origin\"]\nurl = .\n", "~/app"),
        (
            "worktree config",
            "[extensions]\nworktreeConfig = true\n[remote \"origin\"]\nurl=https://h/x\n",
            "h/x",
        ),
        ("broken", "[[[\n\\\n\"", "~/app"),
        ("include", "[include]\npath = more\n", "~/app"),
    ] {
        let disk = Disk::new();
        disk.repository("app/.git", config).file("app/.git/more", REMOTE);
        assert_eq!(disk.short("app")[0], wanted, "{name}");
    }
}

#[test]
fn an_oversized_config_is_not_read() {
    let disk = Disk::new();
    disk.repository("app/.git", &format!("{REMOTE}{}", "#\n".repeat(600_000)));
    assert_eq!(disk.short("app"), ["~/app", "~/app", "app"]);
}

#[test]
fn a_linked_worktree_is_the_same_project() {
    for config in ["", REMOTE] {
        let disk = Disk::new();
        disk.repository("app/.git", config);
        disk.worktree(
            "wt",
            "app/.git/worktrees/wt",
            &disk.text("app/.git/worktrees/wt"),
            "../..",
        );
        disk.worktree(
            "rel",
            "app/.git/worktrees/rel",
            "../app/.git/worktrees/rel",
            &disk.text("app/.git"),
        );
        let main = disk.facts("app");
        for (path, worktree) in [("wt", "wt"), ("wt/src", "wt"), ("rel/src", "rel")] {
            let facts = disk.facts(path);
            assert_eq!(facts.branch.as_deref(), Some("side"));
            assert_eq!(facts.worktree, Some(disk.text(worktree)));
            assert_eq!(
                ProjectIdentity {
                    branch: main.branch.clone(),
                    worktree: None,
                    ..facts
                },
                main,
                "{path}"
            );
        }
        assert_eq!(disk.facts("app/.git/worktrees/wt").key, main.key);
    }
}

#[test]
fn a_worktree_keeps_its_project_without_the_repository() {
    let disk = Disk::new();
    disk.file(
        "wt/.git",
        format!("gitdir: {}\n", disk.text("gone/app/.git/worktrees/wt")),
    )
    .folder("wt/src");
    assert_eq!(disk.short("wt/src"), ["~/gone/app", "~/wt", "wt"]);
    assert_eq!(disk.facts("wt").branch, None);
    disk.repository("gone/app/.git", REMOTE);
    assert_eq!(disk.facts("wt").key, KEY, "pruned, but the repository is there");
    disk.file("sub/.git", "gitdir: ../nowhere/modules/sub\r\n");
    assert_eq!(disk.short("sub"), ["~/sub", "~/sub", "sub"]);
}

#[test]
fn worktrees_of_a_bare_repository_share_its_project() {
    let disk = Disk::new();
    disk.repository("p/.bare", "[core]\n\tbare = true\n")
        .file("p/.git", "gitdir: ./.bare\n");
    disk.worktree(
        "p/one",
        "p/.bare/worktrees/one",
        &disk.text("p/.bare/worktrees/one"),
        "../..",
    );
    for path in ["p", "p/one/src", "p/.bare", "p/.bare/refs"] {
        assert_eq!(disk.short(path), ["~/p/.bare", "~/p/.bare", "p"], "{path}");
    }
    disk.repository("q/.git", "[core]\n\tbare = true\n");
    disk.worktree(
        "q/one",
        "q/.git/worktrees/one",
        &disk.text("q/.git/worktrees/one"),
        "../..",
    );
    for path in ["q", "q/one/src", "q/.git"] {
        assert_eq!(disk.short(path), ["~/q", "~/q", "q"], "{path}");
    }
    disk.repository("r/.bare", "[core]\nbare = false\n[extensions]\nworktreeConfig")
        .file("r/.git", "gitdir: .bare");
    disk.file("r/.bare/config.worktree", "[core]\n\tbare\n");
    assert_eq!(disk.short("r"), ["~/r/.bare", "~/r/.bare", "r"]);
}

#[test]
fn a_bare_repository_is_a_project() {
    let disk = Disk::new();
    disk.repository("srv/app.git", "[core]\n\tbare = true\n")
        .folder("srv/app.git/hooks");
    assert_eq!(
        disk.short("srv/app.git/hooks"),
        ["~/srv/app.git", "~/srv/app.git", "app"]
    );
    disk.worktree(
        "wt",
        "srv/app.git/worktrees/wt",
        &disk.text("srv/app.git/worktrees/wt"),
        "../..",
    );
    assert_eq!(disk.short("wt"), ["~/srv/app.git", "~/srv/app.git", "app"]);
    disk.file("notes/HEAD", "ref: refs/heads/main\n");
    assert_eq!(
        disk.short("notes"),
        ["~/notes", "~/notes", "notes"],
        "a file called HEAD makes no repository"
    );
}

#[test]
fn a_separate_git_folder_is_followed() {
    let disk = Disk::new();
    disk.repository("store/one", "")
        .file("app/.git", format!("gitdir: {}\n", disk.text("store/one")));
    disk.worktree(
        "wt",
        "store/one/worktrees/wt",
        &disk.text("store/one/worktrees/wt"),
        "../..",
    );
    assert_eq!(disk.short("app"), ["~/store/one", "~/app", "app"]);
    assert_eq!(disk.short("wt")[0], "~/store/one");
    assert_eq!(disk.short("store/one")[0], "~/store/one");

    disk.repository("store/two", "").folder("linked");
    symlink(disk.path("store/two"), disk.path("linked/.git")).unwrap();
    disk.worktree(
        "wt2",
        "store/two/worktrees/wt2",
        &disk.text("store/two/worktrees/wt2"),
        "../..",
    );
    assert_eq!(disk.short("linked"), ["~/store/two", "~/linked", "linked"]);
    assert_eq!(disk.short("wt2")[0], "~/store/two");
}

#[test]
fn a_submodule_is_its_own_project() {
    let disk = Disk::new();
    disk.repository("super/.git", REMOTE);
    disk.repository("super/.git/modules/lib", "[core]\n\tworktree = ../../../lib\n");
    disk.file("super/lib/.git", "gitdir: ../.git/modules/lib\n");
    disk.worktree(
        "wt",
        "super/.git/modules/lib/worktrees/wt",
        &disk.text("super/.git/modules/lib/worktrees/wt"),
        "../..",
    );
    for path in ["super/lib", "wt/src", "super/.git/modules/lib"] {
        assert_eq!(disk.short(path), ["~/super/lib", "~/super/lib", "lib"], "{path}");
    }
    assert_eq!(disk.facts("super").key, KEY);
}

#[test]
fn two_repositories_that_claim_one_working_tree_stay_distinct() {
    let disk = Disk::new();
    for name in ["dot", "private"] {
        disk.repository(name, &format!("[core]\nworktree = {}\n", disk.text("home")))
            .folder("home");
    }
    assert_eq!(disk.short("dot")[0], "~/dot");
    assert_eq!(disk.short("private")[0], "~/private");
}

#[test]
fn the_inner_repository_wins() {
    let disk = Disk::new();
    disk.repository("outer/.git", REMOTE)
        .repository("outer/vendor/inner/.git", "")
        .folder("outer/vendor/inner/src");
    disk.repository("outer/testdata/x.git", "");
    assert_eq!(disk.short("outer/vendor/inner/src")[1], "~/outer/vendor/inner");
    assert_eq!(disk.facts("outer/testdata/x.git/refs").key, KEY);
    assert_eq!(disk.facts("outer/vendor").key, KEY);
}

/// A repository can be committed into another one in the layout of a bare repository, with a config that names any remote.
#[test]
fn a_bare_layout_inside_a_working_tree_is_not_a_repository() {
    let disk = Disk::new();
    disk.repository("clone/.git", "[remote \"origin\"]\nurl = https://h/evil\n");
    disk.repository("clone/docs", REMOTE)
        .folder("clone/docs/guide")
        .repository("clone/docs/guide/more", REMOTE);
    for path in [
        "clone/docs",
        "clone/docs/guide",
        "clone/docs/guide/more",
        "clone/docs/refs",
    ] {
        assert_eq!(disk.short(path), ["h/evil", "~/clone", "clone"], "{path}");
    }
    // In the clone of a submodule and in a worktree as well.
    disk.worktree(
        "wt",
        "clone/.git/worktrees/wt",
        &disk.text("clone/.git/worktrees/wt"),
        "../..",
    )
    .repository("wt/docs", REMOTE);
    assert_eq!(disk.short("wt/docs")[0], "h/evil");
    disk.file("clone/docs/.backstory-ignore", "");
    assert!(disk.ignored("clone/docs/guide"));
}

/// An archive can hold a `.git` file that points into a repository of the user.
#[test]
fn a_git_file_makes_no_worktree_unless_the_repository_points_back() {
    let disk = Disk::new();
    disk.repository("app/.git", "");
    disk.worktree(
        "wt",
        "app/.git/worktrees/wt",
        &disk.text("app/.git/worktrees/wt"),
        "../..",
    );
    for (name, target) in [
        ("repository", "app/.git"),
        ("worktree", "app/.git/worktrees/wt"),
        ("pruned", "app/.git/worktrees/none"),
    ] {
        disk.file(
            &format!("{name}/.git"),
            format!("gitdir: {}\n", disk.text(target)),
        );
        let facts = disk.facts(name);
        assert_eq!((facts.root, facts.worktree), (disk.text(name), None), "{name}");
    }
    disk.file("app/.backstory-ignore", "");
    assert!(disk.ignored("worktree") && disk.ignored("wt"));
    disk.repository("srv/app.git", "[core]\n\tbare = true\n");
    disk.file("bare/.git", format!("gitdir: {}\n", disk.text("srv/app.git")));
    assert_eq!(disk.facts("bare").root, disk.text("bare"));
}

#[test]
fn an_invalid_git_entry_is_ignored() {
    let disk = Disk::new();
    disk.repository("app/.git", REMOTE);
    disk.folder("app/empty/.git")
        .file("app/text/.git", "hello")
        .file("app/bytes/.git", b"gitdir: a\0b");
    disk.file("app/blank/.git", "gitdir: \n")
        .file("app/huge/.git", vec![b'x'; 2 << 20])
        .folder("app/fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        disk.path("app/fifo/.git"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    symlink("/nowhere", disk.path("app/.git/dangling")).unwrap();
    for path in [
        "app/empty",
        "app/text",
        "app/bytes",
        "app/blank",
        "app/huge",
        "app/fifo",
    ] {
        assert_eq!(disk.facts(path).root, disk.text("app"), "{path}");
    }
    fs::remove_file(disk.path("app/.git/config")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        disk.path("app/.git/config"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    assert_eq!(
        disk.facts("app").key,
        disk.text("app"),
        "a config that would block is no config"
    );
}

#[test]
fn any_head_is_accepted() {
    let disk = Disk::new();
    disk.repository("app/.git", "");
    for (head, wanted) in [
        ("ref: refs/heads/.invalid", None),
        ("?", None),
        (&"f".repeat(64), Some("ffffffffffff")),
    ] {
        disk.file("app/.git/HEAD", head);
        assert_eq!(disk.facts("app").branch.as_deref(), wanted, "{head}");
    }
    fs::remove_file(disk.path("app/.git/HEAD")).unwrap();
    symlink("refs/heads/old/style", disk.path("app/.git/HEAD")).unwrap();
    assert_eq!(disk.facts("app").branch.as_deref(), Some("old/style"));
}
