//! What is shared: proposing, approving, signing and withdrawing own memories.

use std::{cell::OnceCell, cell::RefCell, path::Path, time::Duration};

use anyhow::{Context as _, Result};
use backstory_model::{Handle, MemoryKind, ProjectIdentity, Timestamp};
use backstory_protocol::{DeviceId, Embedding, RecordId, SharePolicy, TeamRecord};
use backstory_recall::{ENCODER, Encoder, embed_document};
use backstory_store::{CitedFile, Memory, Share, ShareState, Store, TeamProject};
use backstory_sync::{Author, Blocked, Outgoing, prepare, record_id, searched_text, shareable_types};

use super::{
    identity::{self, DeviceIdentity},
    tracked::is_tracked,
};
use crate::{engine::Engine, error::HintedError};

/// Time between a turn and sharing its memories in the mode `auto`: time to forget them.
const AUTO_DELAY: Duration = Duration::from_mins(10);

/// The most memories that are proposed at once.
const MAX_PROPOSED: u32 = 500;

/// Shares the memories of one person on one device.
#[derive(Debug)]
pub struct Sharer<'e> {
    engine: &'e Engine,
    identity: DeviceIdentity,
    name: String,
    home: Option<String>,
    share_summaries: bool,
    /// Made on first use: most exchanges share nothing new.
    encoder: OnceCell<RefCell<Encoder>>,
}

/// The result of sharing one memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShareOutcome {
    /// It is shared now.
    Shared,
    /// It was shared before, in this form.
    Unchanged,
    /// It is not shared, for this reason.
    Blocked(Blocked),
}

impl<'e> Sharer<'e> {
    /// Prepares to share. Fails if the person has no name.
    pub fn new(engine: &'e Engine) -> Result<Self> {
        let settings = engine.checked_settings()?.team;
        let member = identity::membership(engine)?;
        let name = settings
            .name
            .or_else(|| member.map(|member| member.name).filter(|name| !name.is_empty()))
            .ok_or_else(|| {
                HintedError::new("others need a name to see beside your memories")
                    .hint("`backstory config set team.name \"Your Name\"`")
            })?;
        let home = engine.environment.user_home();
        Ok(Self {
            engine,
            identity: identity::device(engine)?,
            name,
            home: home.map(|home| home.to_string_lossy().into_owned()),
            share_summaries: settings.share_summaries,
            encoder: OnceCell::new(),
        })
    }

    /// Returns the device.
    pub fn device(&self) -> DeviceId {
        self.identity.device
    }

    /// Returns the device's public key.
    pub fn public_key(&self) -> [u8; 32] {
        self.identity.signer.public_key()
    }

    /// Returns the person's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Shares a memory, or a new version of it.
    pub fn share(&self, store: &mut Store, handle: Handle) -> Result<ShareOutcome> {
        let handle = store.resolve(handle)?;
        let memory = store.memory(handle)?.context("the memory is gone")?;
        let project_key = project_of(&memory)?;
        let shared_key = shared_key(store, &project_key)?;
        let (id, earlier) = match store.share_of(handle)? {
            Some(share) => (RecordId(share.record_id), Some(share)),
            None => {
                let id = record_id(&shared_key, &memory);
                (id, store.share_of_record(id.0)?)
            }
        };
        let version = earlier.as_ref().map_or(1, |share| share.version);
        let share = Share {
            record_id: id.0,
            handle,
            project_key,
            state: ShareState::Blocked,
            version,
            acked_version: earlier.as_ref().map_or(0, |share| share.acked_version),
            body: None,
            signature: None,
            title: Some(memory.record.headline().to_owned()),
            reason: None,
            changed_at: self.engine.clock.timestamp(),
        };
        let record = match self.record(store, &memory, id, version) {
            Ok(record) => record,
            Err(blocked) => {
                // What others have stays as it is.
                if earlier.is_none_or(|share| share.state != ShareState::Approved) {
                    store.put_share(&Share {
                        reason: Some(blocked.to_string()),
                        ..share
                    })?;
                }
                return Ok(ShareOutcome::Blocked(blocked));
            }
        };
        if let Some(earlier) = &earlier {
            if earlier.state == ShareState::Approved && is_same(earlier, &record) {
                return Ok(ShareOutcome::Unchanged);
            }
            if earlier.body.is_some() || earlier.state == ShareState::Withdrawn {
                let next = TeamRecord {
                    version: earlier.version + 1,
                    ..record
                };
                return self.sign(store, share, next, &shared_key);
            }
        }
        self.sign(store, share, record, &shared_key)
    }

    fn sign(
        &self,
        store: &mut Store,
        share: Share,
        mut record: TeamRecord,
        shared_key: &str,
    ) -> Result<ShareOutcome> {
        let encoder = self.encoder.get_or_init(|| RefCell::new(Encoder::new()));
        let vector = embed_document(&mut encoder.borrow_mut(), &searched_text(&record));
        record.encoder = Some(ENCODER.to_owned());
        record.embedding = Some(Embedding {
            scale: vector.scale,
            bytes: vector.bytes,
        });
        let body = record.to_body()?;
        let signature = self
            .identity
            .signer
            .sign(shared_key, record.id, record.version, &body);
        store.put_share(&Share {
            state: ShareState::Approved,
            version: record.version,
            body: Some(body),
            signature: Some(signature.to_vec()),
            ..share
        })?;
        Ok(ShareOutcome::Shared)
    }

    /// Makes the record of a memory, as it would be sent.
    pub fn record(
        &self,
        store: &Store,
        memory: &Memory,
        id: RecordId,
        version: u32,
    ) -> Result<TeamRecord, Blocked> {
        if memory.handle.kind == MemoryKind::Summary && !self.share_summaries {
            return Err(Blocked::Kind("summary, unless team.share_summaries is true,"));
        }
        let prompt = memory
            .turn_id
            .and_then(|turn| store.memory(turn.into()).ok().flatten());
        let prompt = prompt.and_then(|prompt| prompt.record.text);
        let supersedes: Vec<RecordId> = store
            .records_replaced_by(id.0)
            .unwrap_or_default()
            .into_iter()
            .map(RecordId)
            .collect();
        let outgoing = Outgoing {
            memory,
            prompt: prompt.as_deref(),
            supersedes: &supersedes,
            files: &cited_files(store, memory),
            id,
            version,
        };
        let author = Author {
            name: &self.name,
            device: self.identity.device,
            home: self.home.as_deref(),
        };
        prepare(&outgoing, author)
    }

    /// Signs new versions of shared memories that were edited since.
    pub fn refresh(&self, store: &mut Store, project_key: Option<&str>) -> Result<()> {
        for share in store.shares(project_key)? {
            if share.state == ShareState::Approved && store.exists(share.handle)? {
                self.share(store, share.handle)?;
            }
        }
        Ok(())
    }

    /// Proposes the memories of all enrolled projects.
    pub fn propose_all(&self, store: &mut Store) -> Result<()> {
        for project in store.team_projects()? {
            let root = store
                .project_with_id(&project.project_key)?
                .map(|known| known.root);
            self.propose(store, &project, root.as_deref().map(Path::new))?;
        }
        Ok(())
    }

    /// Proposes the memories of a project that its mode covers, and shares them in the mode `auto`.
    pub fn propose(&self, store: &mut Store, project: &TeamProject, root: Option<&Path>) -> Result<()> {
        let mode = effective_mode(project, root);
        let now = self.engine.clock.timestamp();
        if !matches!(mode, SharePolicy::Review | SharePolicy::Auto) {
            return Ok(());
        }
        let types = shareable_types();
        let found = store.shareable(&project.project_key, &types, project.enrolled_at, MAX_PROPOSED)?;
        for handle in found {
            let Some(memory) = store.memory(handle)? else {
                continue;
            };
            let id = record_id(&project.shared_key, &memory);
            if let Some(share) = store.share_of_record(id.0)? {
                // The same memory under another number: the database was restored or salvaged.
                store.put_share(&Share { handle, ..share })?;
                continue;
            }
            if mode == SharePolicy::Auto {
                if now.since(memory.created_at) >= AUTO_DELAY {
                    self.share(store, handle)?;
                }
                continue;
            }
            let blocked = self.record(store, &memory, id, 1).err();
            let state = if blocked.is_some() {
                ShareState::Blocked
            } else {
                ShareState::Pending
            };
            store.put_share(&Share {
                record_id: id.0,
                handle,
                project_key: project.project_key.clone(),
                state,
                version: 1,
                acked_version: 0,
                body: None,
                signature: None,
                title: Some(memory.record.headline().to_owned()),
                reason: blocked.map(|blocked| blocked.to_string()),
                changed_at: now,
            })?;
        }
        Ok(())
    }
}

/// Reports whether a share has this content. The vector is no part of it: another processor may round it differently.
fn is_same(share: &Share, record: &TeamRecord) -> bool {
    let body = share
        .body
        .as_deref()
        .and_then(|body| TeamRecord::parse(body).ok());
    body.is_some_and(|known| {
        known.encoder.as_deref() == Some(ENCODER)
            && *record
                == TeamRecord {
                    encoder: None,
                    embedding: None,
                    ..known
                }
    })
}

/// Takes a memory back. Returns false if it was not shared.
pub fn unshare(store: &mut Store, handle: Handle, now: Timestamp) -> Result<bool> {
    match store.share_of(handle)? {
        Some(share) => Ok(store.withdraw(share.record_id, now)?),
        None => Ok(false),
    }
}

/// Keeps a proposed memory local: it is not proposed again.
pub fn keep_local(store: &mut Store, share: &Share, now: Timestamp) -> Result<()> {
    Ok(store.put_share(&Share {
        state: ShareState::Kept,
        changed_at: now,
        ..share.clone()
    })?)
}

/// Returns the strictest of the person's mode, the server's policy and the repository's `.backstory.toml`.
pub fn effective_mode(project: &TeamProject, root: Option<&Path>) -> SharePolicy {
    let named = |name: &str| SharePolicy::from_name(name).unwrap_or(SharePolicy::Off);
    let mine = named(&project.share_mode);
    let server = project.policy.as_deref().map(named);
    let repository = root.and_then(repository_mode);
    [Some(mine), server, repository]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(SharePolicy::Off)
}

/// Reads `share` in the section `[team]` of `.backstory.toml`. A file that cannot be read permits nothing.
fn repository_mode(root: &Path) -> Option<SharePolicy> {
    let text = match std::fs::read_to_string(root.join(".backstory.toml")) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(_) => return Some(SharePolicy::Off),
    };
    let Ok(table) = text.parse::<toml::Table>() else {
        return Some(SharePolicy::Off);
    };
    let share = table.get("team")?.get("share")?;
    Some(
        share
            .as_str()
            .and_then(SharePolicy::from_name)
            .unwrap_or(SharePolicy::Off),
    )
}

/// Reports whether a project's key may be sent: the key of a project without a remote is a path of this machine.
pub fn is_shareable_key(key: &str) -> bool {
    !key.starts_with(['/', '\\']) && !key.starts_with("file:") && !key.contains(":\\") && !key.contains('@')
}

/// Returns the key under which a project is shared.
pub fn shared_key(store: &Store, project_key: &str) -> Result<String> {
    if let Some(project) = store.team_project(project_key)? {
        return Ok(project.shared_key);
    }
    if is_shareable_key(project_key) {
        return Ok(project_key.to_owned());
    }
    Err(
        HintedError::new("this project has no remote that others know it by")
            .hint("`backstory team enroll --as NAME` gives it a name; every member uses the same one")
            .into(),
    )
}

/// Enrolls a project: sets its mode and, for a project without a remote, its name.
pub fn enroll(
    engine: &Engine,
    store: &mut Store,
    identity: &ProjectIdentity,
    mode: SharePolicy,
    shared_as: Option<&str>,
    since: Timestamp,
) -> Result<TeamProject> {
    let known = store.team_project(&identity.key)?;
    let shared_key = match (shared_as, &known) {
        (Some(name), _) => name.to_owned(),
        (None, Some(known)) => known.shared_key.clone(),
        (None, None) => shared_key(store, &identity.key)?,
    };
    let project = TeamProject {
        shared_key,
        share_mode: mode.name().to_owned(),
        enrolled_at: since,
        ..known.unwrap_or(TeamProject {
            project_key: identity.key.clone(),
            shared_key: String::new(),
            share_mode: String::new(),
            enrolled_at: engine.clock.timestamp(),
            remote_id: None,
            epoch: None,
            cursor: 0,
            policy: None,
            role: None,
            synced_at: None,
            last_error: None,
        })
    };
    store.put_team_project(&project)?;
    Ok(project)
}

fn project_of(memory: &Memory) -> Result<String> {
    memory.record.project.clone().ok_or_else(|| {
        HintedError::new("this note is for all your projects, so it belongs to no team")
            .hint("save it in the project: `backstory remember --team \"…\"`")
            .into()
    })
}

/// Returns the cited files of a memory. Only what git tracks has a fingerprint: others cannot have the file otherwise.
fn cited_files(store: &Store, memory: &Memory) -> Vec<CitedFile> {
    let record = &memory.record;
    let mut files = store.cited_files(memory.handle).unwrap_or_default();
    let root = memory.root.as_deref().map(Path::new);
    for file in &mut files {
        if !root.is_some_and(|root| is_tracked(root, &file.path)) {
            file.mark = None;
        }
    }
    if files.is_empty() {
        let named = |path: &String, is_modified| CitedFile {
            path: path.clone(),
            is_modified,
            mark: None,
        };
        let changed = record.files_modified.iter().chain(&record.files_edited);
        files.extend(changed.map(|path| named(path, true)));
        files.extend(record.files_read.iter().map(|path| named(path, false)));
    }
    files
}
