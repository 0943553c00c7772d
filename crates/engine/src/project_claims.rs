//! Decides which folders share the memories of a project.
//!
//! A folder names its project itself: by the remote in its git config, or by a `.git` file that points to a repository. An
//! archive can hold both, so a folder that claims a known project for the first time must look like a clone that the user made.
//! Otherwise it is a project of its own, named by its path, until `backstory project confirm`.
//!
//! `roots` in the home folder lists the decisions, one JSON array per line: key, folder, time, state. Ingest and `confirm` write
//! it; hooks only read it. Without an entry for a key there are no memories to protect.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use backstory_capture::project::{self, Location, RepositoryOrigin};
use backstory_model::{ProjectIdentity, Timestamp};
use backstory_store::{Store, StoreError};
use backstory_system::{OwnerOnly as _, canonicalize, is_own};
use serde::{Deserialize, Serialize};

use crate::{atomic_file, engine::Engine};

/// Maximum difference between the time in a clone's log and the creation of that log. Git writes both at once.
const CLONE_TOLERANCE: Duration = Duration::from_secs(10);

/// Decision about a folder that names a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimState {
    /// It shares the memories of the project.
    Accepted,
    /// It is a project of its own until the user confirms it.
    Pending,
}

impl ClaimState {
    /// Returns the identity under which a folder is recorded and recalled.
    pub fn apply(self, identity: ProjectIdentity) -> ProjectIdentity {
        match self {
            Self::Accepted => identity,
            Self::Pending => ProjectIdentity {
                key: identity.root.clone(),
                ..identity
            },
        }
    }
}

/// Line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry(String, String, i64, State);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Accepted,
    Pending,
}

/// A folder that waits for `backstory project confirm`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingClaim {
    /// Key of the project that the folder names.
    pub key: String,
    /// Folder.
    pub root: String,
}

/// Finds the project of a folder, like [`project::locate`]; a folder with a pending claim is a project of its own.
pub fn locate(engine: &Engine, folder: &Path) -> Location {
    let mut location = project::locate(folder);
    location.facts = resolve(engine, location.facts);
    location
}

/// Returns the identity under which a folder is recorded and recalled.
pub fn resolve(engine: &Engine, identity: ProjectIdentity) -> ProjectIdentity {
    let decision = claim(engine, &identity);
    decision.apply(identity)
}

/// Decides about a folder.
pub fn claim(engine: &Engine, identity: &ProjectIdentity) -> ClaimState {
    decide(engine, &read(engine), identity)
}

/// Records the decision about the folder of a new session, and returns the identity to record it under.
pub fn record(
    engine: &Engine,
    store: &Store,
    identity: ProjectIdentity,
) -> Result<ProjectIdentity, StoreError> {
    if is_own_key(&identity) {
        return Ok(identity);
    }
    let mut entries = read(engine);
    if entries.is_empty() && !engine.home.roots().exists() {
        entries = from_store(store)?;
        append(engine, &entries);
    }
    let decision = decide(engine, &entries, &identity);
    let state = match decision {
        ClaimState::Accepted => State::Accepted,
        ClaimState::Pending => State::Pending,
    };
    let now = engine.clock.timestamp().as_millis();
    let is_new = |root: &&String| find(&entries, &identity.key, root).is_none();
    let worktree = identity
        .worktree
        .as_ref()
        .filter(|_| decision == ClaimState::Accepted);
    let new: Vec<Entry> = [Some(&identity.root), worktree]
        .into_iter()
        .flatten()
        .filter(is_new)
        .map(|root| Entry(identity.key.clone(), root.clone(), now, state))
        .collect();
    append(engine, &new);
    Ok(decision.apply(identity))
}

/// Lets a folder share the memories of the project that it names, from its next session on.
pub fn confirm(engine: &Engine, identity: &ProjectIdentity) -> io::Result<()> {
    engine.home.create().map_err(io::Error::other)?;
    let _lock = atomic_file::lock(engine.home.root())?;
    let mut entries = read(engine);
    entries.retain(|Entry(key, root, ..)| (key, root) != (&identity.key, &identity.root));
    let now = engine.clock.timestamp().as_millis();
    entries.push(Entry(
        identity.key.clone(),
        identity.root.clone(),
        now,
        State::Accepted,
    ));
    atomic_file::write_atomically(&engine.home.roots(), lines(&entries).as_bytes())
}

/// Lists the folders that wait for confirmation and still exist.
pub fn pending(engine: &Engine) -> Vec<PendingClaim> {
    let entries = read(engine).into_iter();
    entries
        .filter(|Entry(_, root, _, state)| *state == State::Pending && Path::new(root).exists())
        .map(|Entry(key, root, ..)| PendingClaim { key, root })
        .collect()
}

/// Returns the line that tells the user about a pending claim.
pub fn notice(engine: &Engine, identity: &ProjectIdentity) -> String {
    let entries = read(engine);
    let first = entries
        .iter()
        .find(|Entry(key, _, _, state)| *key == identity.key && *state == State::Accepted);
    let first = first.map_or("another folder", |Entry(_, root, ..)| root);
    format!(
        "backstory: this folder names the project of {first} but does not look like your clone, so it has its own memories. \
        To share them: backstory project confirm"
    )
}

/// A folder that is named by its own path claims nothing.
fn is_own_key(identity: &ProjectIdentity) -> bool {
    identity.key == identity.root
}

fn decide(engine: &Engine, entries: &[Entry], identity: &ProjectIdentity) -> ClaimState {
    if is_own_key(identity) {
        return ClaimState::Accepted;
    }
    let state = |root: &str| find(entries, &identity.key, root).map(|Entry(.., state)| *state);
    match state(&identity.root) {
        Some(State::Accepted) => return ClaimState::Accepted,
        Some(State::Pending) => return ClaimState::Pending,
        None => {}
    }
    let known: Vec<&Entry> = entries
        .iter()
        .filter(|Entry(key, _, _, state)| *key == identity.key && *state == State::Accepted)
        .collect();
    let Some(first_ms) = known.iter().map(|Entry(_, _, at, _)| *at).min() else {
        return ClaimState::Accepted;
    };
    let root = Path::new(&identity.root);
    let is_beside = |Entry(_, known, ..): &&Entry| Path::new(known).parent() == root.parent();
    let is_in_place = is_at_home(engine, root) || known.iter().any(is_beside);
    let origin = project::origin(root);
    let looks_cloned = origin.is_some_and(|origin| {
        let first = Timestamp::from_millis(first_ms);
        is_own(&origin.git_dir)
            && (was_there_before(&origin, first) || was_cloned(&origin, &identity.key, root))
    });
    if is_in_place && is_own(root) && looks_cloned {
        ClaimState::Accepted
    } else {
        ClaimState::Pending
    }
}

fn is_at_home(engine: &Engine, root: &Path) -> bool {
    let home = engine.environment.user_home();
    // Roots are canonical.
    home.and_then(|home| canonicalize(&home).ok())
        .is_some_and(|home| root.starts_with(home))
}

/// Returns true if the repository was created before the project had any memory. Unpacking does not restore the time of creation.
fn was_there_before(origin: &RepositoryOrigin, first: Timestamp) -> bool {
    origin
        .created_at
        .is_some_and(|created| Timestamp::from(created) < first)
}

/// Returns true if the log of the repository begins with a clone of this remote, at the time when the log was created.
fn was_cloned(origin: &RepositoryOrigin, key: &str, root: &Path) -> bool {
    let Some(clone) = &origin.clone else {
        return false;
    };
    let logged = SystemTime::UNIX_EPOCH + Duration::from_secs(clone.at_seconds);
    let gap = logged
        .duration_since(clone.log_created_at)
        .or_else(|_| clone.log_created_at.duration_since(logged));
    let is_remote = project::normalize_remote(&clone.from, root).is_some_and(|from| from == key);
    is_remote && gap.is_ok_and(|gap| gap <= CLONE_TOLERANCE)
}

fn find<'e>(entries: &'e [Entry], key: &str, root: &str) -> Option<&'e Entry> {
    entries
        .iter()
        .find(|Entry(known, folder, ..)| known == key && folder == root)
}

/// Reads the file; lines of other versions are skipped.
fn read(engine: &Engine) -> Vec<Entry> {
    let text = fs::read_to_string(engine.home.roots()).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn lines(entries: &[Entry]) -> String {
    let line = |entry: &Entry| serde_json::to_string(entry).map(|line| line + "\n").ok();
    entries.iter().filter_map(line).collect()
}

/// Appends entries. Best effort: without them, the next session of the folder is decided again.
fn append(engine: &Engine, entries: &[Entry]) {
    if entries.is_empty() {
        return;
    }
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .private()
        .open(engine.home.roots());
    if let Ok(mut file) = file {
        file.write_all(lines(entries).as_bytes()).ok();
    }
}

/// Returns the folders that sessions of earlier versions worked in.
fn from_store(store: &Store) -> Result<Vec<Entry>, StoreError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut add = |key: String, root: String, at: Timestamp| {
        if key != root && find(&entries, &key, &root).is_none() {
            entries.push(Entry(key, root, at.as_millis(), State::Accepted));
        }
    };
    for folder in store.project_folders()? {
        let path = PathBuf::from(&folder.path);
        let located = path.is_dir().then(|| project::locate(&path).facts);
        if let Some(facts) = located.filter(|facts| facts.key == folder.key) {
            add(facts.key, facts.root, folder.since);
        }
        if folder.is_root {
            add(folder.key, folder.path, folder.since);
        }
    }
    Ok(entries)
}
