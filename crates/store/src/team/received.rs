//! Memories of others.

use std::time::Duration;

use backstory_model::{DocumentId, Handle, MemoryKind, ObservationType, ProjectIdentity, Timestamp};
use rusqlite::{Connection, params};

use crate::{
    CitedFile, Store, StoreError, StoredVector, TeamOpinion,
    memory::{
        changes::{ChangeEvent, record_change},
        documents,
    },
    search::vectors,
    sessions::projects,
    sql::{Statements as _, json_list},
    team::opinions,
};

/// Holds a record of another person, as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedRecord {
    /// The id of the record.
    pub record_id: [u8; 16],
    /// The device that signed it.
    pub device_id: [u8; 16],
    /// The account on the server.
    pub account_id: Option<i64>,
    /// The person's name.
    pub author: String,
    /// The version.
    pub version: u32,
    /// The kind of memory it is for its author.
    pub kind: &'static str,
    /// The type of an observation.
    pub observation_type: Option<ObservationType>,
    /// The title; of a note its first words.
    pub title: String,
    /// The subtitle.
    pub subtitle: Option<String>,
    /// The narrative.
    pub narrative: Option<String>,
    /// The facts.
    pub facts: Vec<String>,
    /// The concepts.
    pub concepts: Vec<String>,
    /// The files.
    pub files: Vec<CitedFile>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit that it was made on.
    pub commit: Option<String>,
    /// The records that it replaces.
    pub supersedes: Vec<[u8; 16]>,
    /// Its vector, if it is one of this version's encoder: the value of one step, and one signed byte per dimension.
    pub vector: Option<(f32, Vec<u8>)>,
    /// The reason for which no agent sees it.
    pub quarantine: Option<String>,
    /// The pack file that it came from.
    pub pack: Option<String>,
    /// The time at which its author made it.
    pub created_at: Timestamp,
}

/// A change of the memories of others.
#[derive(Clone, Debug, PartialEq)]
pub enum TeamChange {
    /// A new record or version.
    Put(Box<ReceivedRecord>),
    /// A deletion.
    Delete([u8; 16]),
    /// A person's opinion; without an account it is the user's own, given on another device.
    Opinion(Option<i64>, TeamOpinion),
}

/// Holds the position after a page of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamPosition {
    /// The key of the project.
    pub project_key: String,
    /// The epoch.
    pub epoch: String,
    /// The last sequence number that was applied.
    pub cursor: i64,
    /// The time of the exchange.
    pub synced_at: Timestamp,
}

/// Holds the number of changes that took effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TeamApplied {
    /// New records and versions.
    pub stored: u64,
    /// Records that were quarantined.
    pub quarantined: u64,
    /// Deleted records.
    pub deleted: u64,
    /// The documents of deleted and replaced records: the caller removes their vectors.
    pub documents: Vec<DocumentId>,
}

/// Holds a record that no agent sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantinedRecord {
    /// The handle.
    pub handle: Handle,
    /// The person's name.
    pub author: String,
    /// The title.
    pub title: String,
    /// The reason.
    pub reason: String,
}

/// The most records of one device that take effect within a day; further ones wait in quarantine.
const MAX_PER_DAY: u32 = 500;

const DAY: Duration = Duration::from_hours(24);

/// The reason for which a record waits.
const DAILY_LIMIT: &str = "more than 500 records of this device within a day";

impl Store {
    /// Applies changes and the new position in one transaction.
    pub fn apply_team_changes(
        &mut self,
        project: &ProjectIdentity,
        changes: &[TeamChange],
        position: Option<&TeamPosition>,
        now: Timestamp,
    ) -> Result<TeamApplied, StoreError> {
        const POSITION: &str =
            "update team_project set epoch = ?2, cursor = ?3, synced_at = ?4, last_error = null
            where project_key = ?1";
        self.write("store memories of the team", |tx| {
            let project = projects::find_or_create(tx, project, now)?;
            let mut applied = TeamApplied::default();
            for change in changes {
                match change {
                    TeamChange::Put(record) => put(tx, project, record, now, &mut applied)?,
                    TeamChange::Delete(record_id) => delete(tx, *record_id, &mut applied)?,
                    TeamChange::Opinion(account, opinion) => opinions::put_received(tx, *account, opinion)?,
                }
            }
            if let Some(position) = position {
                let values = params![
                    position.project_key,
                    position.epoch,
                    position.cursor,
                    position.synced_at
                ];
                tx.run(POSITION, values)?;
            }
            Ok(applied)
        })
    }

    /// Returns the records that came from a pack file.
    pub fn records_of_pack(&self, pack: &str) -> Result<Vec<[u8; 16]>, StoreError> {
        const OF_PACK: &str = "select record_id from team_memory where pack = ?1 order by record_id";
        self.read("read the memories of a pack", |connection| {
            connection.rows(OF_PACK, [pack], |row| row.get("record_id"))
        })
    }

    /// Returns the records of a project that came from the server.
    pub fn records_of_server(&self, project_key: &str) -> Result<Vec<[u8; 16]>, StoreError> {
        const OF_SERVER: &str = "select record_id from team_memory join project on project.id = project_id
            where key = ?1 and pack is null order by record_id";
        self.read("read the memories of the team", |connection| {
            connection.rows(OF_SERVER, [project_key], |row| row.get("record_id"))
        })
    }

    /// Returns the record behind a memory of another person.
    pub fn record_of(&self, handle: Handle) -> Result<Option<[u8; 16]>, StoreError> {
        const RECORD: &str = "select record_id from team_memory where id = ?1";
        self.read("read a memory of the team", |connection| {
            connection.optional_row(RECORD, [handle.id], |row| row.get("record_id"))
        })
    }

    /// Returns the memories of others, quarantined ones included: of the server, or of everything.
    pub fn team_handles(&self, is_from_server: bool) -> Result<Vec<Handle>, StoreError> {
        const ALL: &str = "select id from team_memory where not ?1 or pack is null order by id";
        self.read("read the memories of the team", |connection| {
            connection.rows(ALL, [is_from_server], |row| {
                Ok(Handle {
                    kind: MemoryKind::Team,
                    id: row.get("id")?,
                })
            })
        })
    }

    /// Returns the number of quarantined records.
    pub fn quarantine_count(&self) -> Result<u64, StoreError> {
        const COUNT: &str = "select count(*) from team_memory where quarantine is not null";
        self.read("read the quarantine", |connection| {
            connection.row(COUNT, [], |row| row.get(0))
        })
    }

    /// Returns the quarantined records, the latest first.
    pub fn quarantined(&self, limit: u32) -> Result<Vec<QuarantinedRecord>, StoreError> {
        const QUARANTINED: &str =
            "select id, author, title, quarantine from team_memory where quarantine is not null
            order by id desc limit ?1";
        self.read("read the quarantine", |connection| {
            connection.rows(QUARANTINED, [limit], |row| {
                Ok(QuarantinedRecord {
                    handle: Handle {
                        kind: MemoryKind::Team,
                        id: row.get("id")?,
                    },
                    author: row.get("author")?,
                    title: row.get("title")?,
                    reason: row.get("quarantine")?,
                })
            })
        })
    }

    /// Turns copies of others' memories into local imports, with their authors in the text. Returns their number.
    pub fn adopt_team_memories(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        const ADOPT: &str = "insert into observation (project_id, type, title, subtitle, narrative, facts, concepts,
                files_read, files_modified, distiller, external_id, created_at, last_seen_at)
            select project_id, coalesce(type, 'discovery'), title, subtitle,
                coalesce(narrative || char(10), '') || 'Shared by ' || author, facts, concepts, files_read, files_modified,
                'import', 'team:' || lower(hex(record_id)), created_at, ?2
            from team_memory where id = ?1 and quarantine is null returning id";
        let handles = self.team_handles(true)?;
        self.write("keep the memories of the team", |tx| {
            let mut adopted = 0;
            for handle in handles {
                let id: Option<i64> = tx.optional_row(ADOPT, params![handle.id, now], |row| row.get("id"))?;
                if let Some(id) = id {
                    adopted += 1;
                    let kind = MemoryKind::Observation;
                    documents::put(tx, Handle { kind, id })?;
                }
            }
            Ok(adopted)
        })
    }
}

fn put(
    tx: &Connection,
    project: backstory_model::ProjectId,
    record: &ReceivedRecord,
    now: Timestamp,
    applied: &mut TeamApplied,
) -> rusqlite::Result<()> {
    const FORGOTTEN: &str = "select 1 from team_forgotten where record_id = ?1";
    const TODAY: &str = "select count(*) from team_memory where device_id = ?1 and received_at > ?2";
    // A copy of an older version, or of the same, changes nothing: replays have no effect. Nor does a record that takes the id
    // of another person's.
    const PUT: &str = "insert into team_memory (record_id, project_id, device_id, account_id, author, version, kind, type,
            title, subtitle, narrative, facts, concepts, files_read, files_modified, branch, quarantine, pack, created_at,
            received_at, commit_id, pinned)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
            exists (select 1 from team_opinion where record_id = ?1 and account_id = 0 and pinned = 1))
        on conflict (record_id) do update set project_id = excluded.project_id, device_id = excluded.device_id,
            account_id = excluded.account_id, author = excluded.author, version = excluded.version, kind = excluded.kind,
            type = excluded.type, title = excluded.title, subtitle = excluded.subtitle, narrative = excluded.narrative,
            facts = excluded.facts, concepts = excluded.concepts, files_read = excluded.files_read,
            files_modified = excluded.files_modified, branch = excluded.branch, quarantine = excluded.quarantine,
            pack = excluded.pack, created_at = excluded.created_at, commit_id = excluded.commit_id
        where (device_id = excluded.device_id or account_id = excluded.account_id)
            and (excluded.version > version or (excluded.version = version and quarantine is not null
                and excluded.quarantine is null))
        returning id";
    if tx.has_row(FORGOTTEN, [record.record_id])? {
        return Ok(());
    }
    let today: u32 = tx.row(TODAY, params![record.device_id, now - DAY], |row| row.get(0))?;
    let limit = (today >= MAX_PER_DAY).then(|| DAILY_LIMIT.to_owned());
    let quarantine = record.quarantine.clone().or(limit);
    let paths = |is_modified: bool| {
        let files = record.files.iter().filter(|file| file.is_modified == is_modified);
        json_list(&files.map(|file| file.path.clone()).collect::<Vec<_>>())
    };
    let values = params![
        record.record_id,
        project,
        record.device_id,
        record.account_id,
        record.author,
        record.version,
        record.kind,
        record.observation_type,
        record.title,
        record.subtitle,
        record.narrative,
        json_list(&record.facts),
        json_list(&record.concepts),
        paths(false),
        paths(true),
        record.branch,
        quarantine,
        record.pack,
        record.created_at,
        now,
        record.commit,
    ];
    let Some(id) = tx.optional_row(PUT, values, |row| row.get::<_, i64>("id"))? else {
        return Ok(());
    };
    let handle = Handle {
        kind: MemoryKind::Team,
        id,
    };
    put_details(tx, id, record)?;
    applied.documents.extend(document_of(tx, handle)?);
    // A quarantined record cannot be read, so this removes it from search.
    documents::put(tx, handle)?;
    if let (Some(document), Some((scale, bytes))) = (document_of(tx, handle)?, &record.vector) {
        let (scale, bytes) = (*scale, bytes.clone());
        vectors::put(
            tx,
            &StoredVector {
                document,
                scale,
                bytes,
            },
        )?;
    }
    if quarantine.is_some() {
        applied.quarantined += 1;
    } else {
        applied.stored += 1;
    }
    Ok(())
}

/// Stores the cited files of a record, and what it replaces.
fn put_details(tx: &Connection, id: i64, record: &ReceivedRecord) -> rusqlite::Result<()> {
    const REPLACES: &str = "insert or ignore into team_replaced (record_id, by_id) values (?1, ?2)";
    const FILE: &str =
        "insert or replace into team_memory_file (team_memory_id, path, modified, content_hash, size)
        values (?1, ?2, ?3, ?4, ?5)";
    tx.run("delete from team_memory_file where team_memory_id = ?1", [id])?;
    for file in &record.files {
        let (hash, size) = file.mark.as_ref().map(|mark| (&mark.hash, mark.size)).unzip();
        tx.run(FILE, params![id, file.path, file.is_modified, hash, size])?;
    }
    tx.run("delete from team_replaced where by_id = ?1", [id])?;
    for replaced in record.supersedes.iter().filter(|id| **id != record.record_id) {
        tx.run(REPLACES, params![replaced, id])?;
    }
    Ok(())
}

fn delete(tx: &Connection, record_id: [u8; 16], applied: &mut TeamApplied) -> rusqlite::Result<()> {
    const ID: &str = "select id from team_memory where record_id = ?1";
    tx.run("delete from team_opinion where record_id = ?1", [record_id])?;
    let Some(id) = tx.optional_row(ID, [record_id], |row| row.get("id"))? else {
        return Ok(());
    };
    let handle = Handle {
        kind: MemoryKind::Team,
        id,
    };
    applied.documents.extend(document_of(tx, handle)?);
    applied.deleted += 1;
    tx.run(
        "delete from document where kind = 'team' and memory_id = ?1",
        [id],
    )?;
    tx.run("delete from team_memory where id = ?1", [id])?;
    record_change(tx, ChangeEvent::MemoryForgotten(handle))
}

fn document_of(tx: &Connection, handle: Handle) -> rusqlite::Result<Option<DocumentId>> {
    const DOCUMENT: &str = "select id from document where kind = ?1 and memory_id = ?2";
    tx.optional_row(DOCUMENT, params![handle.kind, handle.id], |row| row.get("id"))
}
