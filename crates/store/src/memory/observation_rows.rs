//! Rows of observations: inserting, updating and removing them, with the files they cite.
//!
//! A new memory that repeats one of the project is counted there instead of stored; a removed one leaves its number to
//! its successor, so that an id that was shown keeps resolving.

use std::collections::{BTreeMap, HashMap};

use backstory_model::{
    Distiller, EpisodeId, NewObservation, ObservationId, ProjectId, SessionId, SessionObservation, Timestamp,
    TurnId,
};
use rusqlite::{Transaction, params};

use crate::{
    FileFingerprint,
    memory::{
        changes::{ChangeEvent, record_change},
        documents,
        relation::{self, RelationScope},
    },
    sql::{Statements as _, json_list},
};

/// Holds an observation with its place.
pub(crate) struct ObservationRow<'o> {
    pub(crate) project_db_id: ProjectId,
    pub(crate) session_db_id: SessionId,
    pub(crate) turn_id: TurnId,
    pub(crate) episode_id: Option<EpisodeId>,
    /// The key within the session; `None` for memories of a model.
    pub(crate) key: Option<&'o str>,
    pub(crate) rejected: bool,
    pub(crate) error_signature: Option<&'o str>,
    pub(crate) distiller: &'o Distiller,
    pub(crate) at: Timestamp,
    pub(crate) observation: &'o NewObservation,
}

/// The outcome of inserting an observation.
pub(crate) enum Inserted {
    /// It is stored.
    New(ObservationId),
    /// The project has the same memory: it was seen once more.
    SeenAgain(ObservationId),
}

/// A memory that may take the place of a removed one.
pub(crate) struct Successor<'m> {
    pub(crate) id: ObservationId,
    pub(crate) episode_id: Option<EpisodeId>,
    pub(crate) title: &'m str,
}

/// Fingerprints of the cited files, by the title of the memory and the path.
pub type Fingerprints = BTreeMap<String, BTreeMap<String, FileFingerprint>>;

/// An observation that the built-in rules made before.
pub(crate) struct EarlierObservation {
    pub(crate) id: ObservationId,
    pub(crate) title: String,
    pub(crate) episode_id: Option<EpisodeId>,
    pub(crate) is_users: bool,
    pub(crate) digest: u64,
}

/// Reads the observations of a session that the built-in rules made before, by key.
pub(crate) fn known(
    tx: &Transaction<'_>,
    session: SessionId,
) -> rusqlite::Result<HashMap<String, EarlierObservation>> {
    const KNOWN: &str =
        "select id, item_key, title, episode_id, pinned <> 0 or edited_at is not null or exists (select 1 from team_share
                where team_share.kind = 'observation' and memory_id = observation.id and state = 'approved') as is_users,
                type, subtitle, narrative, facts, concepts, files_read, files_modified, evidence, rejected,
                error_signature, turn_id, created_at
            from observation where session_db_id = ?1 and item_key is not null
                and turn_id not in (select id from turn where forgotten)";
    const LEGACY: &str = "select id, 'observation-' || id as item_key, title, episode_id, 0 as is_users
            from observation where session_db_id = ?1 and item_key is null and distiller = ?2
                and pinned = 0 and edited_at is null
                and turn_id in (select id from turn where session_db_id = ?1 and log is not null and not forgotten)";
    let mut known = HashMap::new();
    let mut statement = tx.prepare_cached(KNOWN)?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let text = |column: &str| -> rusqlite::Result<String> {
            Ok(row.get::<_, Option<String>>(column)?.unwrap_or_default())
        };
        let digest = backstory_text::hash_fields(&[
            &text("type")?,
            &text("title")?,
            &text("subtitle")?,
            &text("narrative")?,
            &text("facts")?,
            &text("concepts")?,
            &text("files_read")?,
            &text("files_modified")?,
            &text("evidence")?,
            if row.get("rejected")? { "rejected" } else { "" },
            &text("error_signature")?,
        ]);
        known.insert(
            row.get("item_key")?,
            EarlierObservation {
                id: row.get("id")?,
                title: row.get("title")?,
                episode_id: row.get("episode_id")?,
                is_users: row.get("is_users")?,
                digest,
            },
        );
    }
    // Memories of earlier versions have no key: they go when their turn is distilled again.
    let mut statement = tx.prepare_cached(LEGACY)?;
    let mut rows = statement.query(params![session, Distiller::Builtin])?;
    while let Some(row) = rows.next()? {
        known.insert(
            row.get("item_key")?,
            EarlierObservation {
                id: row.get("id")?,
                title: row.get("title")?,
                episode_id: row.get("episode_id")?,
                is_users: false,
                digest: 0,
            },
        );
    }
    Ok(known)
}

/// Returns the hash by which a change of an observation shows.
pub(crate) fn digest(new: &SessionObservation) -> u64 {
    let observation = &new.observation;
    backstory_text::hash_fields(&[
        observation.kind.name(),
        &observation.title,
        observation.subtitle.as_deref().unwrap_or_default(),
        observation.narrative.as_deref().unwrap_or_default(),
        &json_list(&observation.facts),
        &json_list(&observation.concepts),
        &json_list(&observation.files_read),
        &json_list(&observation.files_modified),
        &json_list(&observation.evidence),
        if new.rejected { "rejected" } else { "" },
        new.error_signature.as_deref().unwrap_or_default(),
    ])
}

/// Inserts an observation, unless the project has the same one already.
pub(crate) fn insert(
    tx: &Transaction<'_>,
    row: &ObservationRow<'_>,
    scope: RelationScope<'_>,
    files: &Fingerprints,
) -> rusqlite::Result<Inserted> {
    const INSERT: &str =
        "insert into observation (project_id, session_db_id, turn_id, episode_id, item_key, type,
            title, subtitle, narrative, facts, concepts, files_read, files_modified, evidence, rejected,
            error_signature, distiller, created_at, last_seen_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?18)
        returning id";
    const SEEN_AGAIN: &str =
        "insert or ignore into sighting (observation_id, turn_id, at) values (?1, ?2, ?3)";
    const SEEN_AT: &str = "update observation set last_seen_at = max(last_seen_at, ?2) where id = ?1";
    const SUPERSEDE: &str = "update observation set superseded_by = ?2 where id = ?1";
    let observation = row.observation;
    let related = relation::related(tx, scope, observation)?;
    if let Some(same) = related.same {
        tx.run(SEEN_AGAIN, params![same, row.turn_id, row.at])?;
        tx.run(SEEN_AT, params![same, row.at])?;
        count_sightings(tx, same)?;
        record_change(tx, ChangeEvent::Memory(same.into()))?;
        return Ok(Inserted::SeenAgain(same));
    }
    let values = params![
        row.project_db_id,
        row.session_db_id,
        row.turn_id,
        row.episode_id,
        row.key,
        observation.kind,
        observation.title,
        observation.subtitle,
        observation.narrative,
        json_list(&observation.facts),
        json_list(&observation.concepts),
        json_list(&observation.files_read),
        json_list(&observation.files_modified),
        json_list(&observation.evidence),
        row.rejected,
        row.error_signature,
        row.distiller,
        row.at
    ];
    let id: ObservationId = tx.row(INSERT, values, |row| row.get("id"))?;
    cite(tx, id, observation, files)?;
    for older in related.outdated {
        // An import can bring history after what happened later.
        let (old, by) = if older.created_at > row.at {
            (id, older.id)
        } else {
            (older.id, id)
        };
        tx.run(SUPERSEDE, params![old, by])?;
        if old != id {
            record_change(tx, ChangeEvent::Memory(old.into()))?;
        }
    }
    documents::put(tx, id.into())?;
    Ok(Inserted::New(id))
}

/// Updates an observation in place: its number stays.
pub(crate) fn update(
    tx: &Transaction<'_>,
    id: ObservationId,
    row: &ObservationRow<'_>,
    files: &Fingerprints,
) -> rusqlite::Result<()> {
    const UPDATE: &str =
        "update observation set turn_id = ?2, episode_id = ?3, type = ?4, title = ?5, subtitle = ?6,
            narrative = ?7, facts = ?8, concepts = ?9, files_read = ?10, files_modified = ?11, evidence = ?12,
            rejected = ?13, error_signature = ?14, created_at = ?15, last_seen_at = max(last_seen_at, ?15)
        where id = ?1";
    const UNCITE: &str = "delete from observation_file where observation_id = ?1
        and path not in (select value from json_each(?2))";
    let observation = row.observation;
    tx.run(
        UPDATE,
        params![
            id,
            row.turn_id,
            row.episode_id,
            observation.kind,
            observation.title,
            observation.subtitle,
            observation.narrative,
            json_list(&observation.facts),
            json_list(&observation.concepts),
            json_list(&observation.files_read),
            json_list(&observation.files_modified),
            json_list(&observation.evidence),
            row.rejected,
            row.error_signature,
            row.at
        ],
    )?;
    let cited: Vec<String> = observation
        .files_modified
        .iter()
        .chain(&observation.files_read)
        .cloned()
        .collect();
    tx.run(UNCITE, params![id, json_list(&cited)])?;
    cite(tx, id, observation, files)?;
    documents::put(tx, id.into())
}

/// Stores the files that an observation cites, with their fingerprints.
fn cite(
    tx: &Transaction<'_>,
    id: ObservationId,
    observation: &NewObservation,
    files: &Fingerprints,
) -> rusqlite::Result<()> {
    const FILE: &str = "insert into observation_file (observation_id, path, modified, content_hash, size, lines)
        values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict do update set modified = max(modified, excluded.modified),
            lines = case when excluded.content_hash is null then lines else excluded.lines end,
            content_hash = coalesce(excluded.content_hash, content_hash), size = coalesce(excluded.size, size)";
    let files = files.get(&observation.title);
    for (paths, modified) in [
        (&observation.files_modified, true),
        (&observation.files_read, false),
    ] {
        for path in paths {
            let mark = files.and_then(|files| files.get(path));
            let (hash, size) = (mark.map(|mark| &mark.hash), mark.map(|mark| mark.size));
            let lines = mark.map(|mark| &mark.lines).filter(|lines| !lines.is_empty());
            tx.run(FILE, params![id, path, modified, hash, size, lines])?;
        }
    }
    Ok(())
}

/// An observation that is replaced by others.
pub(crate) struct ReplacedObservation {
    pub(crate) id: ObservationId,
    pub(crate) title: String,
    pub(crate) episode_id: Option<EpisodeId>,
}

/// Removes an observation; returns the ids that led to it, with its own.
pub(crate) fn remove(tx: &Transaction<'_>, id: ObservationId) -> rusqlite::Result<Vec<ObservationId>> {
    let mut ids = tx.rows("select old_id from successor where new_id = ?1", [id], |row| {
        row.get("old_id")
    })?;
    ids.push(id);
    tx.run("delete from observation where id = ?1", [id])?;
    record_change(tx, ChangeEvent::MemoryForgotten(id.into()))?;
    Ok(ids)
}

/// Returns all observations of a session.
pub(crate) fn of_session(
    tx: &Transaction<'_>,
    session: SessionId,
) -> rusqlite::Result<Vec<ReplacedObservation>> {
    const ALL: &str = "select id, title, episode_id from observation where session_db_id = ?1 order by id";
    tx.rows(ALL, [session], |row| {
        Ok(ReplacedObservation {
            id: row.get("id")?,
            title: row.get("title")?,
            episode_id: row.get("episode_id")?,
        })
    })
}

/// Lets the ids that led to a replaced observation lead to the nearest of the candidates.
pub(crate) fn name_successor(
    tx: &Transaction<'_>,
    old: &ReplacedObservation,
    ids: &[ObservationId],
    candidates: &[Successor<'_>],
) -> rusqlite::Result<()> {
    const SUCCEED: &str = "insert or replace into successor (old_id, new_id) values (?1, ?2)";
    let nearest = candidates.iter().max_by(|one, other| {
        let rank = |successor: &Successor<'_>| {
            let same_episode = successor.episode_id.is_some() && successor.episode_id == old.episode_id;
            backstory_text::similarity(successor.title, &old.title) + if same_episode { 0.5 } else { 0.0 }
        };
        rank(one).total_cmp(&rank(other)).then(other.id.cmp(&one.id))
    });
    if let Some(successor) = nearest {
        for id in ids {
            tx.run(SUCCEED, params![id, successor.id])?;
        }
    }
    Ok(())
}

/// Counts the turns in which an observation was seen.
pub(crate) fn count_sightings(tx: &Transaction<'_>, id: ObservationId) -> rusqlite::Result<()> {
    const COUNT: &str = "update observation
        set seen = 1 + (select count(*) from sighting where observation_id = observation.id) where id = ?1";
    tx.run(COUNT, [id]).map(drop)
}
