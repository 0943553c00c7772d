//! Tests for folders without a repository, deleted, odd and inaccessible folders, and `.backstory-ignore`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::layout_tests::{Disk, KEY, REMOTE};
use super::*;

#[test]
fn without_git_the_folder_is_the_project() {
    let disk = Disk::new();
    disk.folder("a/notes").folder("b/notes").file("a/file.txt", "");
    assert_eq!(disk.short("a/notes"), ["~/a/notes", "~/a/notes", "notes"]);
    assert_ne!(disk.facts("a/notes").key, disk.facts("b/notes").key);
    assert_eq!(disk.short("a/file.txt")[0], "~/a/file.txt");
    assert_eq!(locate(Path::new("/")).facts.name, "/");
}

#[test]
fn a_deleted_folder_keeps_its_project() {
    let disk = Disk::new();
    disk.repository("app/.git", REMOTE).folder("plain");
    assert_eq!(disk.facts("app/src/gone/long").key, KEY);
    assert_eq!(disk.facts("app/gone/../src").key, KEY);
    assert_eq!(
        disk.short("plain/gone/../was/here/"),
        ["~/plain/was/here", "~/plain/was/here", "here"]
    );
    symlink(disk.path("plain"), disk.path("link")).unwrap();
    assert_eq!(
        disk.short("link/gone")[0],
        "~/plain/gone",
        "as it was when it existed"
    );
}

#[test]
fn a_symlink_resolves_to_the_real_project() {
    let disk = Disk::new();
    disk.repository("app/.git", "")
        .folder("app/src")
        .folder("elsewhere");
    symlink(disk.path("app"), disk.path("elsewhere/direct")).unwrap();
    symlink(disk.path("app/src"), disk.path("elsewhere/below")).unwrap();
    for path in [
        "elsewhere/direct",
        "elsewhere/direct/src",
        "elsewhere/below",
        "elsewhere/below/../src/./",
    ] {
        assert_eq!(disk.short(path), ["~/app", "~/app", "app"], "{path}");
    }
    disk.file("app/.backstory-ignore", "");
    assert!(disk.ignored("elsewhere/below"));
}

#[test]
fn hostile_paths_do_not_panic() {
    let here = locate(Path::new(".")).facts;
    assert_eq!(locate(Path::new("")).facts, here);
    assert!(here.root.starts_with('/'));
    let long = format!("/{}", "a/".repeat(5_000));
    assert_eq!(locate(Path::new(&long)).facts.key, long.trim_end_matches('/'));
    let wide = format!("/{}", "b".repeat(10_000));
    assert_eq!(locate(Path::new(&wide)).facts.key, wide);
    assert_eq!(locate(Path::new("/no\0where")).facts.key, "/no\u{FFFD}00where");
    assert_eq!(locate(Path::new("/../../no/../nowhere/..")).facts.key, "/");
    assert_eq!(locate(Path::new("no/such/folder/../x")).facts.branch, here.branch);
}

#[test]
fn an_unreadable_folder_is_located() {
    let disk = Disk::new();
    disk.repository("app/.git", "")
        .folder("app/src")
        .folder("shut/in/side");
    let set_mode =
        |path: &str, mode| fs::set_permissions(disk.path(path), fs::Permissions::from_mode(mode)).unwrap();
    set_mode("app/.git", 0);
    set_mode("shut/in", 0);
    let (repository, folder) = (disk.short("app/src"), disk.short("shut/in/side"));
    set_mode("app/.git", 0o700);
    set_mode("shut/in", 0o700);
    assert_eq!(repository, ["~/app", "~/app", "app"]);
    assert_eq!(folder[0], "~/shut/in/side");
}

#[test]
fn an_ignore_file_applies_to_its_repository_only() {
    let disk = Disk::new();
    disk.repository("app/.git", "")
        .folder("app/src/deep")
        .repository("app/inner/.git", "")
        .folder("app/doc");
    assert!(!disk.ignored("app/src/deep"));
    disk.file("app/src/.backstory-ignore", "");
    assert!(disk.ignored("app/src/deep") && disk.ignored("app/src") && disk.ignored("app/src/gone"));
    assert!(!disk.ignored("app") && !disk.ignored("app/doc"));
    disk.file("app/.backstory-ignore", "")
        .file(".backstory-ignore", "");
    assert!(disk.ignored("app/doc") && disk.ignored("app/.git/refs"));
    assert!(!disk.ignored("app/inner"), "a project of its own");
    assert!(disk.ignored("no/git/here"));
}

#[test]
fn an_ignore_file_in_the_main_working_tree_applies_to_worktrees() {
    let disk = Disk::new();
    disk.repository("app/.git", "")
        .repository("p/.bare", "[core]\nbare = true\n");
    disk.worktree("wt", "app/.git/worktrees/wt", "../app/.git/worktrees/wt", "../..");
    disk.worktree("p/wt", "p/.bare/worktrees/wt", "../.bare/worktrees/wt", "../..");
    assert!(!disk.ignored("wt/src") && !disk.ignored("p/wt"));
    disk.folder("app/.backstory-ignore")
        .file("p/.backstory-ignore", "");
    assert!(disk.ignored("wt/src") && disk.ignored("p/wt/src") && disk.ignored("p/.bare"));
}
