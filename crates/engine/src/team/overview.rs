//! What a person wants to know about team memory, as one value: for `backstory team status` and the viewer.

use anyhow::Result;
use backstory_model::Timestamp;
use backstory_store::{QuarantinedRecord, Share, ShareState, Store, TeamDevice, TeamProject, TeamStatement};
use backstory_sync::Statement;

use super::identity;
use crate::engine::Engine;

/// The most entries of each list.
const MAX_LISTED: u32 = 50;

/// Holds the state of team memory.
#[derive(Clone, Debug, Default)]
pub struct TeamOverview {
    /// The address of the server; absent if this machine has not joined one.
    pub server: Option<String>,
    /// The projects that are shared or received.
    pub projects: Vec<TeamProject>,
    /// Own memories that wait for approval.
    pub pending: Vec<Share>,
    /// Own memories that a check forbids to share, or that the server refused, with the reason.
    pub refused: Vec<Share>,
    /// The number of shared memories.
    pub shared: u64,
    /// The number of memories that were taken back.
    pub withdrawn: u64,
    /// Records and deletions that the server does not have yet.
    pub unsent: u64,
    /// Memories of others that agents may see.
    pub received: u64,
    /// The number of records that failed a check.
    pub quarantine_count: u64,
    /// The latest of them.
    pub quarantined: Vec<QuarantinedRecord>,
    /// Devices of known people that the user has not confirmed.
    pub untrusted: Vec<TeamDevice>,
    /// Memories that disagree.
    pub conflicts: Vec<TeamConflict>,
}

/// Memories of a team that cannot all be right. Nothing is decided: a person chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeamConflict {
    /// Two people say different things about one subject.
    Contradiction(Box<[TeamStatement; 2]>),
    /// Somebody finds it wrong.
    Disputed(Box<TeamStatement>),
    /// Another person's memory replaces the user's own.
    Replaced(Box<[TeamStatement; 2]>),
}

impl TeamConflict {
    /// Returns the name used outside.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Contradiction(_) => "contradiction",
            Self::Disputed(_) => "disputed",
            Self::Replaced(_) => "replaced",
        }
    }

    /// Returns the statements, the newer one first.
    pub fn statements(&self) -> &[TeamStatement] {
        match self {
            Self::Contradiction(both) | Self::Replaced(both) => &both[..],
            Self::Disputed(one) => std::slice::from_ref(one),
        }
    }
}

impl TeamOverview {
    /// Reads the state.
    pub fn read(engine: &Engine, store: &Store) -> Result<Self> {
        let mut overview = Self {
            server: identity::membership(engine)?.map(|member| member.url),
            projects: store.team_projects()?,
            quarantine_count: store.quarantine_count()?,
            quarantined: store.quarantined(MAX_LISTED)?,
            conflicts: conflicts(store)?,
            ..Self::default()
        };
        let copies = store.team_handles(false)?.len() as u64;
        overview.received = copies.saturating_sub(overview.quarantine_count);
        let is_untrusted = |device: &TeamDevice| !device.is_trusted;
        overview.untrusted = store.team_devices()?.into_iter().filter(is_untrusted).collect();
        for share in store.shares(None)? {
            overview.count(share);
        }
        Ok(overview)
    }

    /// Returns the last exchange with the server.
    pub fn synced_at(&self) -> Option<Timestamp> {
        self.projects.iter().filter_map(|project| project.synced_at).max()
    }

    /// Reports whether nothing was shared or received, and no server was joined.
    pub fn is_unused(&self) -> bool {
        self.server.is_none()
            && self.projects.is_empty()
            && self.received + self.quarantine_count + self.shared + self.withdrawn == 0
            && self.refused.is_empty()
    }

    fn count(&mut self, share: Share) {
        let is_sent = !matches!(share.state, ShareState::Approved | ShareState::Withdrawn)
            || share.acked_version >= share.version;
        self.unsent += u64::from(!is_sent);
        match share.state {
            ShareState::Pending => self.pending.push(share),
            ShareState::Blocked => self.refused.push(share),
            ShareState::Withdrawn => self.withdrawn += 1,
            ShareState::Approved => {
                self.shared += 1;
                if share.reason.is_some() {
                    self.refused.push(share);
                }
            }
            ShareState::Kept => {}
        }
    }
}

/// Returns the conflicts among what the team says, the newest first.
pub fn conflicts(store: &Store) -> Result<Vec<TeamConflict>> {
    let statements = store.team_statements()?;
    let mut found = Vec::new();
    for statement in &statements {
        let by_others = statements
            .iter()
            .find(|other| statement.author.is_none() && statement.replaced_by.contains(&other.handle));
        if let Some(other) = by_others {
            found.push(TeamConflict::Replaced(Box::new([
                other.clone(),
                statement.clone(),
            ])));
        } else if statement.opinions.wrong > 0 {
            found.push(TeamConflict::Disputed(Box::new(statement.clone())));
        }
    }
    found.extend(contradictions(&statements));
    found.truncate(MAX_LISTED as usize);
    Ok(found)
}

fn contradictions(statements: &[TeamStatement]) -> Vec<TeamConflict> {
    // Bug fixes and features tell what was done: two that sound alike are two deeds.
    let is_claim =
        |one: &&TeamStatement| matches!(one.type_name.as_deref(), None | Some("decision" | "discovery"));
    let prepared: Vec<(&TeamStatement, Statement)> = statements
        .iter()
        .filter(is_claim)
        .map(|one| (one, Statement::new(&one.title)))
        .collect();
    let mut found = Vec::new();
    for (at, (newer, newer_text)) in prepared.iter().enumerate() {
        for (older, older_text) in &prepared[at + 1..] {
            if newer.author != older.author
                && newer.project_key == older.project_key
                && newer_text.contradicts(older_text)
            {
                let both = [(*newer).clone(), (*older).clone()];
                found.push(TeamConflict::Contradiction(Box::new(both)));
            }
        }
    }
    found
}
