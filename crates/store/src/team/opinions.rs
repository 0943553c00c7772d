//! What people think of records: useful or wrong, pinned, replaced by another.
//!
//! An opinion is one person's and changes nothing for others but the rank of a memory and its label. The user's own opinion
//! decides what the user's agents are told.

use backstory_model::{Handle, MemoryKind};
use rusqlite::{Connection, params};

use crate::{
    Store, StoreError,
    memory::{
        changes::{ChangeEvent, record_change},
        impact,
    },
    sql::Statements as _,
};

/// The condition for memories of others that agents are told: accepted, and in the user's view neither wrong nor replaced.
pub(crate) const TOLD: &str = "team_memory.quarantine is null
    and not exists (select 1 from team_opinion as own
        where own.record_id = team_memory.record_id and own.account_id = 0
            and (own.verdict < 0 or own.superseded_by is not null))
    and not exists (select 1 from team_replaced as replaced join team_memory as newer on newer.id = replaced.by_id
        where replaced.record_id = team_memory.record_id and newer.quarantine is null
            and not exists (select 1 from team_opinion as own
                where own.record_id = newer.record_id and own.account_id = 0
                    and (own.verdict < 0 or own.superseded_by = team_memory.record_id))
            and not exists (select 1 from team_replaced as back
                where back.record_id = newer.record_id and back.by_id = team_memory.id))";

/// The account under which the user's own opinions are stored.
const USER: i64 = 0;

/// One person's opinion about a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TeamOpinion {
    /// The record.
    pub record_id: [u8; 16],
    /// The person pinned it.
    pub is_pinned: bool,
    /// The judgement.
    pub verdict: Verdict,
    /// The record that replaces it.
    pub superseded_by: Option<[u8; 16]>,
}

/// The judgements about a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It helped.
    Useful,
    /// There is none.
    #[default]
    None,
    /// It is wrong or harmful.
    Wrong,
}

impl Verdict {
    /// Returns the number used on the wire and in the database.
    pub const fn number(self) -> i8 {
        match self {
            Self::Useful => 1,
            Self::None => 0,
            Self::Wrong => -1,
        }
    }

    /// Reads a number.
    pub const fn from_number(number: i8) -> Self {
        match number {
            1.. => Self::Useful,
            0 => Self::None,
            _ => Self::Wrong,
        }
    }
}

/// Sums up what people think of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opinions {
    /// The user's own judgement.
    pub own: Verdict,
    /// Others who find it useful.
    pub useful: u32,
    /// Others who find it wrong.
    pub wrong: u32,
}

impl Opinions {
    /// Returns what people think in a few words; `None` if nobody has said anything.
    pub fn label(self) -> Option<String> {
        let own = match self.own {
            Verdict::Useful => Some("you find it useful".to_owned()),
            Verdict::Wrong => Some("you find it wrong".to_owned()),
            Verdict::None => None,
        };
        let others = |count: u32, word: &str| match count {
            0 => None,
            1 => Some(format!("1 person finds it {word}")),
            _ => Some(format!("{count} people find it {word}")),
        };
        let parts = [own, others(self.wrong, "wrong"), others(self.useful, "useful")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Returns the factor for the rank of a memory, in thousandths. Three people decide as much as any number of them: the
    /// step is a guess that keeps a disputed memory below an undisputed one and changes little else.
    pub(crate) fn weight(self) -> u32 {
        const STEP: i64 = 50;
        const MOST: i64 = 3;
        let net = i64::from(self.useful) - i64::from(self.wrong) + i64::from(self.own.number());
        let weight = i64::from(impact::NEUTRAL) + STEP * net.clamp(-MOST, MOST);
        u32::try_from(weight).unwrap_or(impact::NEUTRAL)
    }
}

impl Store {
    /// Returns the user's own opinion about a record.
    pub fn own_opinion(&self, record_id: [u8; 16]) -> Result<TeamOpinion, StoreError> {
        const OWN: &str = "select record_id, pinned, verdict, superseded_by from team_opinion
            where record_id = ?1 and account_id = 0";
        self.read("read an opinion", |connection| {
            let own = connection.optional_row(OWN, [record_id], read)?;
            Ok(own.unwrap_or(TeamOpinion {
                record_id,
                ..TeamOpinion::default()
            }))
        })
    }

    /// Stores the user's own opinion, to be sent.
    pub fn set_own_opinion(&mut self, opinion: &TeamOpinion) -> Result<(), StoreError> {
        const MEMORY: &str = "update team_memory set pinned = ?2 where record_id = ?1 returning id";
        self.write("store an opinion", |tx| {
            put_own(tx, opinion)?;
            let memory = tx.optional_row(MEMORY, params![opinion.record_id, opinion.is_pinned], |row| {
                row.get("id")
            })?;
            match memory {
                Some(id) => record_change(tx, ChangeEvent::Memory(team_handle(id))),
                None => Ok(()),
            }
        })
    }

    /// Returns the user's opinions about records of a project that the server does not have yet.
    pub fn unsent_opinions(&self, project_key: &str) -> Result<Vec<TeamOpinion>, StoreError> {
        const UNSENT: &str = "select record_id, team_opinion.pinned as pinned, verdict, superseded_by
            from team_opinion join team_memory using (record_id) join project on project.id = project_id
            where team_opinion.account_id = 0 and unsent = 1 and project.key = ?1 and pack is null
            order by record_id";
        self.read("read opinions", |connection| {
            connection.rows(UNSENT, [project_key], read)
        })
    }

    /// Marks opinions as sent, unless they have changed since.
    pub fn mark_opinions_sent(&mut self, sent: &[TeamOpinion]) -> Result<(), StoreError> {
        const SENT: &str = "update team_opinion set unsent = 0 where record_id = ?1 and account_id = 0
            and pinned = ?2 and verdict = ?3 and superseded_by is ?4";
        self.write("store opinions", |tx| {
            for opinion in sent {
                tx.run(
                    SENT,
                    params![
                        opinion.record_id,
                        opinion.is_pinned,
                        opinion.verdict.number(),
                        opinion.superseded_by
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Returns what people think of a record.
    pub fn opinions(&self, record_id: [u8; 16]) -> Result<Opinions, StoreError> {
        self.read("read opinions", |connection| of_record(connection, &record_id))
    }

    /// Returns the records that the user has replaced by this one.
    pub fn records_replaced_by(&self, record_id: [u8; 16]) -> Result<Vec<[u8; 16]>, StoreError> {
        const REPLACED: &str =
            "select record_id from team_opinion where account_id = 0 and superseded_by = ?1
            order by record_id";
        self.read("read opinions", |connection| {
            connection.rows(REPLACED, [record_id], |row| row.get("record_id"))
        })
    }

    /// Returns the record of a memory that the team has: one of another person, or an own one that is shared.
    pub fn team_record_of(&self, handle: Handle) -> Result<Option<[u8; 16]>, StoreError> {
        const RECORD: &str = "select record_id from team_memory where ?1 = 'team' and id = ?2
            union all select record_id from team_share where kind = ?1 and memory_id = ?2 and state = 'approved'";
        self.read("look for a record", |connection| {
            connection.optional_row(RECORD, params![handle.kind, handle.id], |row| {
                row.get("record_id")
            })
        })
    }

    /// Returns the memory of a record: one of another person, or an own one that is shared.
    pub fn memory_of_record(&self, record_id: [u8; 16]) -> Result<Option<Handle>, StoreError> {
        self.read("look for a record", |connection| {
            handle_of(connection, &record_id)
        })
    }
}

/// Stores the user's own opinion. One that says nothing is kept until it is sent, because the server may have the former one.
pub(crate) fn put_own(tx: &Connection, opinion: &TeamOpinion) -> rusqlite::Result<()> {
    const PUT: &str =
        "insert into team_opinion (record_id, account_id, pinned, verdict, superseded_by, unsent)
        values (?1, ?5, ?2, ?3, ?4, 1)
        on conflict do update set pinned = excluded.pinned, verdict = excluded.verdict,
            superseded_by = excluded.superseded_by, unsent = 1
        where pinned <> excluded.pinned or verdict <> excluded.verdict
            or superseded_by is not excluded.superseded_by";
    tx.run(
        PUT,
        params![
            opinion.record_id,
            opinion.is_pinned,
            opinion.verdict.number(),
            opinion.superseded_by,
            USER
        ],
    )
    .map(drop)
}

/// Stores an opinion that the server sent. `account_id` is absent for the user's own one, which was given on another device; it
/// counts unless the user has given another one here since.
pub(crate) fn put_received(
    tx: &Connection,
    account_id: Option<i64>,
    opinion: &TeamOpinion,
) -> rusqlite::Result<()> {
    const PUT: &str = "insert into team_opinion (record_id, account_id, pinned, verdict, superseded_by)
        values (?1, ?5, ?2, ?3, ?4)
        on conflict do update set pinned = excluded.pinned, verdict = excluded.verdict,
            superseded_by = excluded.superseded_by
        where unsent = 0";
    const PIN: &str = "update team_memory set pinned = ?2 where record_id = ?1
        and exists (select 1 from team_opinion where record_id = ?1 and account_id = 0 and unsent = 0)";
    tx.run(
        PUT,
        params![
            opinion.record_id,
            opinion.is_pinned,
            opinion.verdict.number(),
            opinion.superseded_by,
            account_id.unwrap_or(USER)
        ],
    )?;
    if account_id.is_none() {
        tx.run(PIN, params![opinion.record_id, opinion.is_pinned])?;
    }
    Ok(())
}

/// Returns what people think of a record.
pub(crate) fn of_record(connection: &Connection, record_id: &[u8]) -> rusqlite::Result<Opinions> {
    const OPINIONS: &str = "select coalesce(sum(account_id <> 0 and verdict > 0), 0) as useful,
            coalesce(sum(account_id <> 0 and verdict < 0), 0) as wrong,
            coalesce(sum(case when account_id = 0 then verdict end), 0) as own
        from team_opinion where record_id = ?1";
    connection.row(OPINIONS, [record_id], |row| {
        Ok(Opinions {
            own: Verdict::from_number(row.get("own")?),
            useful: row.get("useful")?,
            wrong: row.get("wrong")?,
        })
    })
}

/// Returns the memory that replaces a record: the user's choice, else the newest memory whose author says so. Two memories that
/// replace each other both stay, and so does what the user preferred to the replacement. [`TOLD`] is the same rule for lists.
pub(crate) fn successor(connection: &Connection, record_id: &[u8]) -> rusqlite::Result<Option<Handle>> {
    const OWN: &str = "select superseded_by from team_opinion
        where record_id = ?1 and account_id = 0 and superseded_by is not null";
    const OFFERED: &str = "select team_memory.id as id
        from team_replaced as replaced join team_memory on team_memory.id = replaced.by_id
        where replaced.record_id = ?1 and quarantine is null
            and not exists (select 1 from team_opinion as own
                where own.record_id = team_memory.record_id and own.account_id = 0
                    and (own.verdict < 0 or own.superseded_by = ?1))
            and not exists (select 1 from team_replaced as back join team_memory as older on older.id = back.by_id
                where back.record_id = team_memory.record_id and older.record_id = ?1)
        order by created_at desc, team_memory.id desc limit 1";
    let own: Option<Vec<u8>> = connection.optional_row(OWN, [record_id], |row| row.get("superseded_by"))?;
    if let Some(by) = own
        && let Some(handle) = handle_of(connection, &by)?
    {
        return Ok(Some(handle));
    }
    connection.optional_row(OFFERED, [record_id], |row| row.get("id").map(team_handle))
}

/// Returns the memories that a memory of another person replaces, as its author says.
pub(crate) fn replaced_by(connection: &Connection, handle: Handle) -> rusqlite::Result<Vec<Handle>> {
    const REPLACED: &str = "select record_id from team_replaced where by_id = ?1 order by record_id";
    let records: Vec<Vec<u8>> = connection.rows(REPLACED, [handle.id], |row| row.get("record_id"))?;
    let mut handles = Vec::new();
    for record in records {
        handles.extend(handle_of(connection, &record)?);
    }
    Ok(handles)
}

fn handle_of(connection: &Connection, record_id: &[u8]) -> rusqlite::Result<Option<Handle>> {
    const RECORD: &str = "select 'team' as kind, id from team_memory where record_id = ?1
        union all select kind, memory_id from team_share where record_id = ?1 and state = 'approved' limit 1";
    connection.optional_row(RECORD, [record_id], |row| {
        Ok(Handle {
            kind: row.get("kind")?,
            id: row.get("id")?,
        })
    })
}

pub(super) const fn team_handle(id: i64) -> Handle {
    Handle {
        kind: MemoryKind::Team,
        id,
    }
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<TeamOpinion> {
    Ok(TeamOpinion {
        record_id: row.get("record_id")?,
        is_pinned: row.get("pinned")?,
        verdict: Verdict::from_number(row.get("verdict")?),
        superseded_by: row.get("superseded_by")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opinions_are_told_in_words_and_weigh_a_little() {
        let mut opinions = Opinions::default();
        assert_eq!((opinions.label(), opinions.weight()), (None, 1_000));
        opinions.wrong = 1;
        assert_eq!(opinions.label().as_deref(), Some("1 person finds it wrong"));
        assert_eq!(opinions.weight(), 950);
        opinions.useful = 9;
        opinions.own = Verdict::Useful;
        assert_eq!(
            opinions.label().as_deref(),
            Some("you find it useful, 1 person finds it wrong, 9 people find it useful")
        );
        assert_eq!(opinions.weight(), 1_150);
    }

    #[test]
    fn verdicts_have_the_numbers_of_the_protocol() {
        for verdict in [Verdict::Useful, Verdict::None, Verdict::Wrong] {
            assert_eq!(Verdict::from_number(verdict.number()), verdict);
        }
    }
}
