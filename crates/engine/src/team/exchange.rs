//! The exchange with the server: sends what was approved, applies what others sent.
//!
//! Every step may be repeated: a version is sent until it is acknowledged, and a page and its cursor are stored in one
//! transaction. One bad record never blocks another.

use std::{collections::HashSet, path::Path, time::Duration};

use anyhow::{Context as _, Result};
use backstory_model::ProjectIdentity;
use backstory_protocol::{
    DeviceId, Epoch, ErrorCode, Feedback, FeedbackRequest, Me, PullLine, PulledRecord, PushLine, RecordId,
    Role, SharedProject, SharedProjectId, limits,
};
use backstory_recall::ENCODER;
use backstory_store::{
    Share, Store, TeamChange, TeamDevice, TeamOpinion, TeamPosition, TeamProject, Verdict,
};
use backstory_sync::{Inspection, inspect, received};

use super::{
    TeamServer, TeamServerError,
    attach::{attach_projects, has_key},
    identity::{self, Membership},
    outbox::{ExchangeReport, acknowledge, first_batch, push_line},
    share::Sharer,
};
use crate::{engine::Engine, forgetting};

/// Says what to do about copies that the server may not have any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullMode {
    /// Read on from the cursor.
    Continue,
    /// Read everything again, and drop copies that the server does not have.
    Everything,
}

/// An account on a server, ready to exchange.
#[derive(Debug)]
pub struct Exchange<'e> {
    engine: &'e Engine,
    server: TeamServer,
    member: Membership,
    device: DeviceId,
}

impl<'e> Exchange<'e> {
    /// Prepares an exchange; `None` if this machine has not joined a server.
    pub fn open(engine: &'e Engine) -> Result<Option<Self>> {
        let Some(member) = identity::membership(engine)? else {
            return Ok(None);
        };
        // A machine that got its credential from the environment has no signing key, and needs none to read.
        let device = identity::device(engine)?.device;
        Ok(Some(Self {
            engine,
            server: TeamServer::of_member(engine, &member, device)?,
            member,
            device,
        }))
    }

    /// Returns the server.
    pub fn server(&self) -> &TeamServer {
        &self.server
    }

    /// Sends and receives everything, for all projects. A failure of one project does not keep the others from being
    /// exchanged; the first is returned.
    pub fn run(&self, store: &mut Store, mode: PullMode) -> Result<ExchangeReport> {
        self.run_in(store, mode, None)
    }

    /// Does the same, also for the project in which the user is, although no session has begun in it yet.
    pub fn run_in(
        &self,
        store: &mut Store,
        mode: PullMode,
        here: Option<&ProjectIdentity>,
    ) -> Result<ExchangeReport> {
        let mut report = ExchangeReport::default();
        let mut me = match self.server.me() {
            Ok(me) => me,
            Err(error) => return Err(self.give_up(store, error)),
        };
        self.pin_devices(store, &me)?;
        if let Some(here) = here.filter(|here| me.projects.iter().any(|shared| has_key(shared, &here.key))) {
            // Without a change this makes the project known.
            store.apply_team_changes(here, &[], None, self.engine.clock.timestamp())?;
        }
        let now = self.engine.clock.timestamp();
        let may_create = self.member.account.is_some();
        if attach_projects(store, &me, &self.server, may_create, now)? {
            me = self.server.me()?;
        }
        // Without a name nothing can be shared, and reading works all the same.
        let sharer = Sharer::new(self.engine)
            .ok()
            .filter(|_| self.member.account.is_some());
        let mut first_error = None;
        for project in store.team_projects()? {
            let Some(shared) = project
                .remote_id
                .and_then(|id| me.projects.iter().find(|shared| shared.id.0 == id))
            else {
                continue;
            };
            let outcome = self.exchange_project(store, &project, shared, sharer.as_ref(), mode, &mut report);
            if let Err(error) = outcome {
                store.set_team_error(&project.project_key, Some(&format!("{error:#}")))?;
                first_error.get_or_insert(error);
            }
        }
        match first_error {
            Some(error) => Err(error),
            None => Ok(report),
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of an exchange: each is another part of its state"
    )]
    fn exchange_project(
        &self,
        store: &mut Store,
        project: &TeamProject,
        shared: &SharedProject,
        sharer: Option<&Sharer<'_>>,
        mode: PullMode,
        report: &mut ExchangeReport,
    ) -> Result<()> {
        let root = store
            .project_with_id(&project.project_key)?
            .map(|known| known.root);
        if let Some(sharer) = sharer {
            sharer.refresh(store, Some(&project.project_key))?;
            sharer.propose(store, project, root.as_deref().map(Path::new))?;
        }
        let is_behind = project.epoch.as_deref() != Some(shared.epoch.to_string().as_str());
        if is_behind && project.epoch.is_some() {
            // The server was restored: it may have lost what it once acknowledged.
            store.restart_team_project(&project.project_key)?;
        }
        if shared.role >= Role::Writer {
            self.push(store, project, shared, report)?;
            self.push_opinions(store, project, shared)?;
        }
        match self.pull(store, project, shared, mode, report) {
            Err(error) if code(&error) == Some(ErrorCode::EpochChanged) => {
                store.restart_team_project(&project.project_key)?;
                self.push(store, project, shared, report)?;
                self.pull(store, project, shared, PullMode::Everything, report)
            }
            Err(error) if code(&error) == Some(ErrorCode::CursorExpired) => {
                self.pull(store, project, shared, PullMode::Everything, report)
            }
            other => other,
        }
    }

    /// Stores the keys of members. A key that is new for a known person is not trusted.
    fn pin_devices(&self, store: &mut Store, me: &Me) -> Result<()> {
        let now = self.engine.clock.timestamp();
        for member in me.members.iter().filter(|member| member.account != me.account) {
            for device in &member.devices {
                store.pin_team_device(&TeamDevice {
                    device_id: device.device.0,
                    account_id: Some(member.account.0),
                    name: backstory_text::one_line(&member.name, 80),
                    public_key: device.public_key,
                    is_trusted: false,
                    pinned_at: now,
                })?;
            }
        }
        Ok(())
    }

    fn push(
        &self,
        store: &mut Store,
        project: &TeamProject,
        shared: &SharedProject,
        report: &mut ExchangeReport,
    ) -> Result<()> {
        loop {
            let unsent: Vec<(Share, PushLine)> = store
                .shares(Some(&project.project_key))?
                .into_iter()
                .filter(|share| share.acked_version < share.version)
                .filter_map(|share| push_line(&share).map(|line| (share, line)))
                .collect();
            let batch = first_batch(&unsent);
            if batch.is_empty() {
                return Ok(());
            }
            let lines: Vec<PushLine> = batch.iter().map(|(_, line)| line.clone()).collect();
            let results = self.server.push(shared.id, &lines)?;
            anyhow::ensure!(
                results.len() == lines.len(),
                "the server answered for another number of records"
            );
            for ((share, _), result) in batch.iter().zip(results) {
                acknowledge(store, share, result.status, report)?;
            }
        }
    }

    /// Sends the user's opinions about records of others.
    fn push_opinions(&self, store: &mut Store, project: &TeamProject, shared: &SharedProject) -> Result<()> {
        let unsent = store.unsent_opinions(&project.project_key)?;
        for opinions in unsent.chunks(limits::MAX_PUSH_RECORDS) {
            let feedback = opinions
                .iter()
                .map(|opinion| Feedback {
                    memory: RecordId(opinion.record_id),
                    account: None,
                    pinned: opinion.is_pinned,
                    verdict: opinion.verdict.number(),
                    superseded_by: opinion.superseded_by.map(RecordId),
                })
                .collect();
            self.server.feedback(shared.id, &FeedbackRequest { feedback })?;
            store.mark_opinions_sent(opinions)?;
        }
        Ok(())
    }

    fn pull(
        &self,
        store: &mut Store,
        project: &TeamProject,
        shared: &SharedProject,
        mode: PullMode,
        report: &mut ExchangeReport,
    ) -> Result<()> {
        let stored = store
            .team_project(&project.project_key)?
            .context("the project was left")?;
        let (mut cursor, mut epoch) = (stored.cursor, stored.epoch.and_then(|epoch| epoch.parse().ok()));
        if mode == PullMode::Everything {
            (cursor, epoch) = (0, None);
        }
        let mut seen: HashSet<[u8; 16]> = HashSet::new();
        loop {
            let (lines, trailer) = self.server.pull(shared.id, epoch, cursor, Duration::ZERO)?;
            let last = lines.iter().map(sequence).max().unwrap_or(cursor);
            cursor = if trailer.more {
                last.max(cursor + 1)
            } else {
                trailer.head
            };
            epoch = Some(trailer.epoch);
            let mut changes = Vec::new();
            for line in &lines {
                match line {
                    PullLine::Record(pulled) => {
                        seen.insert(pulled.record.id.0);
                        changes.extend(self.change(store, pulled, shared)?);
                    }
                    PullLine::Tombstone(_, tombstone) => changes.push(TeamChange::Delete(tombstone.id.0)),
                    PullLine::Feedback(_, feedback) => changes.extend(self.opinion(feedback)),
                    PullLine::Trailer(_) => {}
                }
            }
            if !trailer.more && mode == PullMode::Everything {
                let known = store.records_of_server(&project.project_key)?;
                changes.extend(
                    known
                        .into_iter()
                        .filter(|id| !seen.contains(id))
                        .map(TeamChange::Delete),
                );
            }
            self.apply(store, project, &changes, trailer.epoch, cursor, report)?;
            if !trailer.more {
                return Ok(());
            }
        }
    }

    /// Checks a pulled record; `None` if it is one of this store's own.
    fn change(
        &self,
        store: &Store,
        pulled: &PulledRecord,
        shared: &SharedProject,
    ) -> Result<Option<TeamChange>> {
        if pulled.device == self.device || store.has_share(pulled.record.id.0)? {
            return Ok(None);
        }
        let device = store.team_device(pulled.device.0)?;
        let keys: Vec<&str> = std::iter::once(&shared.key)
            .chain(&shared.aliases)
            .map(String::as_str)
            .collect();
        let (record, reason) = match inspect(&pulled.record, pulled.device, device.as_ref(), &keys) {
            Inspection::Accepted(record) => {
                let is_authors =
                    device.as_ref().and_then(|device| device.account_id) == Some(pulled.author.0);
                let reason = (!is_authors).then(|| "attributed to another person than its key".to_owned());
                (record, reason)
            }
            Inspection::Quarantined(record, reason) => (record, Some(reason)),
            Inspection::Unreadable => return Ok(None),
        };
        let record = received(&record, device.as_ref(), reason, None, ENCODER);
        Ok(Some(TeamChange::Put(Box::new(record))))
    }

    /// Returns a person's opinion in the form of the store; the account's own one comes from another of its devices.
    fn opinion(&self, feedback: &Feedback) -> Option<TeamChange> {
        let account = feedback.account?;
        let opinion = TeamOpinion {
            record_id: feedback.memory.0,
            is_pinned: feedback.pinned,
            verdict: Verdict::from_number(feedback.verdict),
            superseded_by: feedback.superseded_by.map(|id| id.0),
        };
        let other = Some(account.0).filter(|_| self.member.account != Some(account));
        Some(TeamChange::Opinion(other, opinion))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of an exchange: each is another part of its state"
    )]
    fn apply(
        &self,
        store: &mut Store,
        project: &TeamProject,
        changes: &[TeamChange],
        epoch: Epoch,
        cursor: i64,
        report: &mut ExchangeReport,
    ) -> Result<()> {
        let known = store.project_with_id(&project.project_key)?;
        let identity = ProjectIdentity {
            key: project.project_key.clone(),
            name: known
                .as_ref()
                .map_or(&project.project_key, |known| &known.name)
                .clone(),
            root: known
                .as_ref()
                .map_or(&project.project_key, |known| &known.root)
                .clone(),
            branch: None,
            worktree: None,
        };
        let now = self.engine.clock.timestamp();
        let position = TeamPosition {
            project_key: project.project_key.clone(),
            epoch: epoch.to_string(),
            cursor,
            synced_at: now,
        };
        let applied = store.apply_team_changes(&identity, changes, Some(&position), now)?;
        report.received += applied.stored;
        report.quarantined += applied.quarantined;
        report.deleted += applied.deleted;
        if applied.deleted > 0 {
            forgetting::erase_traces(self.engine, store, &applied.documents)?;
        }
        Ok(())
    }

    /// Deletes the copies if the account was removed from the team, and returns the error.
    fn give_up(&self, store: &mut Store, error: TeamServerError) -> anyhow::Error {
        if error.code() == Some(ErrorCode::Removed) {
            let cleaned = drop_copies(self.engine, store).and_then(|_| identity::leave(self.engine));
            if let Err(error) = cleaned {
                return error;
            }
        }
        error.into()
    }

    /// Waits until the server has news of a project, at most as long as the protocol permits. Changes nothing.
    pub fn wait_for_news(&self, project: &TeamProject) -> Result<(), TeamServerError> {
        let (Some(id), Some(epoch)) = (
            project.remote_id,
            project.epoch.as_deref().and_then(|epoch| epoch.parse().ok()),
        ) else {
            return Ok(());
        };
        let wait = Duration::from_secs(limits::MAX_WAIT_SECONDS);
        self.server
            .pull(SharedProjectId(id), Some(epoch), project.cursor, wait)
            .map(drop)
    }
}

/// Deletes the copies that came from the server, and detaches all projects. Returns their number.
pub fn drop_copies(engine: &Engine, store: &mut Store) -> Result<u64> {
    let mut documents = Vec::new();
    let mut deleted = 0;
    for project in store.team_projects()? {
        let records = store.records_of_server(&project.project_key)?;
        let changes: Vec<TeamChange> = records.into_iter().map(TeamChange::Delete).collect();
        if let Some(known) = store.project_with_id(&project.project_key)?
            && !changes.is_empty()
        {
            let identity = ProjectIdentity {
                key: known.id,
                name: known.name,
                root: known.root,
                branch: None,
                worktree: None,
            };
            let applied = store.apply_team_changes(&identity, &changes, None, engine.clock.timestamp())?;
            deleted += applied.deleted;
            documents.extend(applied.documents);
        }
    }
    store.detach_team_projects()?;
    if deleted > 0 {
        forgetting::erase_traces(engine, store, &documents)?;
    }
    Ok(deleted)
}

fn code(error: &anyhow::Error) -> Option<ErrorCode> {
    error.downcast_ref::<TeamServerError>()?.code()
}

fn sequence(line: &PullLine) -> i64 {
    match line {
        PullLine::Record(pulled) => pulled.seq,
        PullLine::Tombstone(seq, _) | PullLine::Feedback(seq, _) => *seq,
        PullLine::Trailer(_) => 0,
    }
}
