use serde::{Deserialize, Serialize};

/// Says which code base a session works on, as far as the file system tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectIdentity {
    /// Identifies the code base and never collides: the normalized git remote (`github.com/acme/app`), else the
    /// absolute path of the main working tree, else the absolute path of the folder.
    pub key: String,
    /// What people call it: the folder name of the repository.
    pub name: String,
    /// The absolute path of the main working tree (of the repository itself when it is bare).
    pub root: String,
    /// The branch checked out, or the first 12 digits of the commit when the head is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The absolute path of the linked worktree the session runs in; absent in the main working tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
}

impl ProjectIdentity {
    /// Returns the project of sessions that report no folder.
    pub fn unknown() -> Self {
        let name = "unknown".to_owned();
        Self {
            key: name.clone(),
            root: name.clone(),
            name,
            branch: None,
            worktree: None,
        }
    }
}
