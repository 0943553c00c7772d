//! Tests for every operating system, on files written as git writes them.

#![expect(clippy::disallowed_methods, reason = "tests may write files in place")]

use std::fs;

use super::*;

#[test]
fn a_worktree_belongs_to_its_repository() {
    let folder = tempfile::tempdir().unwrap();
    let root = backstory_system::canonicalize(folder.path()).unwrap();
    let (main, tree) = (root.join("main"), root.join("tree"));
    let inside = main.join(".git").join("worktrees").join("tree");
    for folder in ["objects", "refs"] {
        fs::create_dir_all(main.join(".git").join(folder)).unwrap();
    }
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(tree.join("src")).unwrap();
    let git_path = |path: &Path| path.to_str().unwrap().replace('\\', "/");
    for (path, text) in [
        (
            main.join(".git").join("HEAD"),
            "ref: refs/heads/main\n".to_owned(),
        ),
        (main.join(".git").join("config"), String::new()),
        (inside.join("HEAD"), "ref: refs/heads/topic\n".to_owned()),
        (inside.join("commondir"), "../..\n".to_owned()),
        (inside.join("gitdir"), format!("{}/.git\n", git_path(&tree))),
        (tree.join(".git"), format!("gitdir: {}\n", git_path(&inside))),
    ] {
        fs::write(path, text).unwrap();
    }
    let at_main = locate(&main).facts;
    let in_tree = locate(&tree.join("src")).facts;
    assert_eq!(at_main.branch.as_deref(), Some("main"));
    assert_eq!(in_tree.branch.as_deref(), Some("topic"));
    assert_eq!(in_tree.key, at_main.key);
    assert_eq!(in_tree.root, main.to_str().unwrap());
    assert_eq!(in_tree.worktree.as_deref(), tree.to_str());
}
