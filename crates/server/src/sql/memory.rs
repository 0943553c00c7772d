//! Records and tombstones.

use backstory_protocol::{
    AccountId, DeletionReason, DeviceId, Feedback, PullLine, PulledRecord, RecordId, SharedKind,
    SignedRecord, Tombstone,
};
use deadpool_postgres::GenericClient;
use jiff::Timestamp;
use miniz_oxide::{deflate::compress_to_vec, inflate::decompress_to_vec_with_limit};
use tokio_postgres::{Error, Row};
use uuid::Uuid;

use super::{device_id, record_id, uuid};

/// The number of a tombstone in `memory.kind`.
const TOMBSTONE: i16 = 0;

/// Level of compression of stored bodies.
const LEVEL: u8 = 6;

fn kind_number(kind: SharedKind) -> i16 {
    match kind {
        SharedKind::Note => 1,
        SharedKind::Observation => 2,
        SharedKind::Summary => 3,
    }
}

fn kind(number: i16) -> SharedKind {
    match number {
        1 => SharedKind::Note,
        3 => SharedKind::Summary,
        _ => SharedKind::Observation,
    }
}

fn reason_number(reason: DeletionReason) -> i16 {
    match reason {
        DeletionReason::Unshared => 1,
        DeletionReason::Forgotten => 2,
        DeletionReason::Maintainer => 3,
        DeletionReason::Left => 4,
    }
}

fn reason(number: i16) -> DeletionReason {
    match number {
        1 => DeletionReason::Unshared,
        2 => DeletionReason::Forgotten,
        4 => DeletionReason::Left,
        _ => DeletionReason::Maintainer,
    }
}

/// What the server has under an id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Existing {
    pub(crate) version: u32,
    pub(crate) author: AccountId,
    pub(crate) device: DeviceId,
    pub(crate) deletion: Option<DeletionReason>,
}

/// Returns what the server has under these ids.
pub(crate) async fn existing(
    client: &impl GenericClient,
    project: i32,
    ids: &[Uuid],
) -> Result<Vec<(RecordId, Existing)>, Error> {
    const EXISTING: &str = "
        select id, version, author_id, device_id, deletion_reason from memory where project_id = $1 and id = any($2)";
    let statement = client.prepare_cached(EXISTING).await?;
    let rows = client.query(&statement, &[&project, &ids]).await?;
    let read = |row: &Row| {
        let existing = Existing {
            version: version(row)?,
            author: AccountId(row.try_get("author_id")?),
            device: device_id(row.try_get("device_id")?),
            deletion: row.try_get::<_, Option<i16>>("deletion_reason")?.map(reason),
        };
        Ok((record_id(row.try_get("id")?), existing))
    };
    rows.iter().map(read).collect()
}

fn version(row: &Row) -> Result<u32, Error> {
    Ok(row.try_get::<_, i32>("version")?.cast_unsigned())
}

/// A new state of one record.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) id: RecordId,
    pub(crate) version: u32,
    pub(crate) author: AccountId,
    pub(crate) device: DeviceId,
    pub(crate) content: Content,
}

/// The content of a record, or the reason why it has none.
#[derive(Debug)]
pub(crate) enum Content {
    Record(StoredRecord),
    Deleted(DeletionReason),
}

/// A record with the columns that are derived from its body.
#[derive(Debug)]
pub(crate) struct StoredRecord {
    pub(crate) kind: SharedKind,
    pub(crate) created_at: Option<Timestamp>,
    /// The body, deflated.
    pub(crate) body: Vec<u8>,
    pub(crate) signature: [u8; 64],
    /// Search terms, separated by spaces.
    pub(crate) terms: Option<String>,
    pub(crate) sign_bits: Option<[u8; 32]>,
}

/// Deflates a body for storage.
pub(crate) fn deflate(body: &str) -> Vec<u8> {
    compress_to_vec(body.as_bytes(), LEVEL)
}

/// Stores changes under the sequence numbers after `head`, in this order. The project must be locked, and the caller has
/// decided that each of them may replace what is there. Queues partitions in which something was deleted.
pub(crate) async fn store(
    client: &impl GenericClient,
    project: i32,
    head: i64,
    changes: &[Change],
) -> Result<(), Error> {
    const STORE: &str = "
        with stored as (
            insert into memory (project_id, id, seq, version, author_id, device_id, kind, created_at, body, signature,
                search_terms, sign_bits, deletion_reason)
            select $1, r.id, $2 + r.ordinal, r.version, r.author_id, r.device_id, r.kind, r.created_at, r.body, r.signature,
                array_to_tsvector(string_to_array(r.terms, ' ')), ('x' || encode(r.sign_bits, 'hex'))::bit(256),
                r.deletion_reason
            from unnest($3::uuid[], $4::int[], $5::bigint[], $6::uuid[], $7::smallint[], $8::timestamptz[], $9::bytea[],
                $10::bytea[], $11::text[], $12::bytea[], $13::smallint[]) with ordinality as r (id, version, author_id,
                device_id, kind, created_at, body, signature, terms, sign_bits, deletion_reason, ordinal)
            on conflict (project_id, id) do update set seq = excluded.seq, version = excluded.version,
                author_id = excluded.author_id, device_id = excluded.device_id, kind = excluded.kind,
                created_at = excluded.created_at, changed_at = now(), body = excluded.body,
                signature = excluded.signature, search_terms = excluded.search_terms, sign_bits = excluded.sign_bits,
                deletion_reason = excluded.deletion_reason
            returning kind, tableoid::regclass::text as partition_name)
        insert into purge_queue (partition_name, row_count)
        select partition_name, count(*) from stored where kind = 0 group by partition_name
        on conflict (partition_name) do update
            set queued_at = now(), row_count = purge_queue.row_count + excluded.row_count";
    let statement = client.prepare_cached(STORE).await?;
    let each = |change: &Change| match &change.content {
        Content::Record(record) => (kind_number(record.kind), None),
        Content::Deleted(reason) => (TOMBSTONE, Some(reason_number(*reason))),
    };
    let records: Vec<Option<&StoredRecord>> = changes
        .iter()
        .map(|change| match &change.content {
            Content::Record(record) => Some(record),
            Content::Deleted(_) => None,
        })
        .collect();
    let ids: Vec<Uuid> = changes.iter().map(|change| uuid(change.id.0)).collect();
    let versions: Vec<i32> = changes
        .iter()
        .map(|change| change.version.cast_signed())
        .collect();
    let authors: Vec<i64> = changes.iter().map(|change| change.author.0).collect();
    let devices: Vec<Uuid> = changes.iter().map(|change| uuid(change.device.0)).collect();
    let (kinds, reasons): (Vec<i16>, Vec<Option<i16>>) = changes.iter().map(each).unzip();
    let times: Vec<Option<Timestamp>> = column(&records, |record| record.created_at);
    let bodies: Vec<Option<&[u8]>> = column(&records, |record| Some(record.body.as_slice()));
    let signatures: Vec<Option<&[u8]>> = column(&records, |record| Some(record.signature.as_slice()));
    let terms: Vec<Option<&str>> = column(&records, |record| record.terms.as_deref());
    let bits: Vec<Option<&[u8]>> = column(&records, |record| record.sign_bits.as_ref().map(AsRef::as_ref));
    client
        .execute(
            &statement,
            &[
                &project,
                &head,
                &ids,
                &versions,
                &authors,
                &devices,
                &kinds,
                &times,
                &bodies,
                &signatures,
                &terms,
                &bits,
                &reasons,
            ],
        )
        .await?;
    Ok(())
}

fn column<'r, T>(
    records: &[Option<&'r StoredRecord>],
    value: impl Fn(&'r StoredRecord) -> Option<T>,
) -> Vec<Option<T>> {
    records.iter().map(|record| record.and_then(&value)).collect()
}

/// The changes after a cursor, and the state of the project in the same snapshot.
pub(crate) struct Page {
    pub(crate) lines: Vec<StoredLine>,
    pub(crate) head: i64,
}

/// A line of an answer whose body is still deflated.
pub(crate) enum StoredLine {
    Record(Box<DeflatedRecord>),
    Other(PullLine),
}

/// A record whose body is still deflated.
pub(crate) struct DeflatedRecord {
    record: PulledRecord,
    body: Vec<u8>,
}

impl DeflatedRecord {
    /// Reads the columns `seq`, `id`, `version`, `kind`, `author_id`, `device_id`, `body` and `signature`.
    pub(crate) fn read(row: &Row) -> Result<Self, Error> {
        let signature: &[u8] = row.try_get("signature")?;
        Ok(Self {
            record: PulledRecord {
                seq: row.try_get("seq")?,
                author: AccountId(row.try_get("author_id")?),
                device: device_id(row.try_get("device_id")?),
                record: SignedRecord {
                    id: record_id(row.try_get("id")?),
                    version: version(row)?,
                    kind: kind(row.try_get("kind")?),
                    body: String::new(),
                    signature: signature.try_into().unwrap_or([0; 64]),
                },
            },
            body: row.try_get("body")?,
        })
    }

    /// Inflates the body. One that cannot be read stays empty and fails the client's check of its signature.
    pub(crate) fn inflate(self) -> PulledRecord {
        let mut record = self.record;
        record.record.body =
            decompress_to_vec_with_limit(&self.body, backstory_protocol::limits::MAX_BODY_BYTES)
                .ok()
                .and_then(|body| String::from_utf8(body).ok())
                .unwrap_or_default();
        record
    }
}

impl StoredLine {
    pub(crate) fn seq(&self) -> i64 {
        match self {
            Self::Record(record) => record.record.seq,
            Self::Other(PullLine::Tombstone(seq, _) | PullLine::Feedback(seq, _)) => *seq,
            Self::Other(_) => 0,
        }
    }

    pub(crate) fn inflate(self) -> PullLine {
        match self {
            Self::Record(record) => PullLine::Record(record.inflate()),
            Self::Other(line) => line,
        }
    }
}

/// Reads up to `limit` changes with a sequence number above `after`, in one snapshot with the project's head.
pub(crate) async fn changes_after(
    client: &impl GenericClient,
    project: i32,
    after: i64,
    limit: i64,
) -> Result<Page, Error> {
    const CHANGES: &str = "
        select p.head_seq, c.*
        from project p left join lateral (
            (select seq, id, version, kind, author_id, device_id, body, signature, deletion_reason,
                null::boolean as is_pinned, null::smallint as verdict, null::uuid as superseded_by
             from memory where project_id = $1 and seq > $2 order by seq limit $3)
            union all
            (select seq, memory_id, null, null, account_id, null, null, null, null, is_pinned, verdict, superseded_by
             from feedback where project_id = $1 and seq > $2 order by seq limit $3)
            order by seq limit $3) c on true
        where p.id = $1";
    let statement = client.prepare_cached(CHANGES).await?;
    let rows = client.query(&statement, &[&project, &after, &limit]).await?;
    let head = rows.first().map_or(Ok(0), |row| row.try_get("head_seq"))?;
    let lines: Result<Vec<_>, Error> = rows.iter().filter_map(|row| line(row).transpose()).collect();
    Ok(Page { lines: lines?, head })
}

/// Reads up to `limit` live records and feedback with a sequence number above `after` and not above `until`.
pub(crate) async fn live_between(
    client: &impl GenericClient,
    project: i32,
    after: i64,
    until: i64,
    limit: i64,
) -> Result<Vec<StoredLine>, Error> {
    const LIVE: &str = "
        (select seq, id, version, kind, author_id, device_id, body, signature, deletion_reason,
            null::boolean as is_pinned, null::smallint as verdict, null::uuid as superseded_by
         from memory where project_id = $1 and seq > $2 and seq <= $3 and kind <> 0 order by seq limit $4)
        union all
        (select seq, memory_id, null, null, account_id, null, null, null, null, is_pinned, verdict, superseded_by
         from feedback where project_id = $1 and seq > $2 and seq <= $3 order by seq limit $4)
        order by seq limit $4";
    let statement = client.prepare_cached(LIVE).await?;
    let rows = client
        .query(&statement, &[&project, &after, &until, &limit])
        .await?;
    rows.iter().filter_map(|row| line(row).transpose()).collect()
}

fn line(row: &Row) -> Result<Option<StoredLine>, Error> {
    let Some(seq) = row.try_get::<_, Option<i64>>("seq")? else {
        return Ok(None);
    };
    let id = record_id(row.try_get("id")?);
    Ok(Some(match row.try_get::<_, Option<i16>>("kind")? {
        None => StoredLine::Other(PullLine::Feedback(seq, feedback(row, id)?)),
        Some(TOMBSTONE) => StoredLine::Other(PullLine::Tombstone(
            seq,
            Tombstone {
                id,
                version: version(row)?,
                reason: reason(row.try_get("deletion_reason")?),
            },
        )),
        Some(_) => StoredLine::Record(Box::new(DeflatedRecord::read(row)?)),
    }))
}

fn feedback(row: &Row, memory: RecordId) -> Result<Feedback, Error> {
    let superseded_by: Option<Uuid> = row.try_get("superseded_by")?;
    Ok(Feedback {
        memory,
        account: Some(AccountId(row.try_get("author_id")?)),
        pinned: row.try_get("is_pinned")?,
        verdict: i8::try_from(row.try_get::<_, i16>("verdict")?).unwrap_or_default(),
        superseded_by: superseded_by.map(record_id),
    })
}

/// Selects records to be deleted; all given conditions must hold.
pub(crate) struct Selection<'a> {
    pub(crate) ids: Option<&'a [Uuid]>,
    pub(crate) author: Option<AccountId>,
    pub(crate) before: Option<Timestamp>,
}

const SELECTED: &str = "project_id = $1 and kind <> 0 and ($2::uuid[] is null or id = any($2))
    and ($3::bigint is null or author_id = $3) and ($4::timestamptz is null or created_at < $4)";

/// Counts the live records of a selection.
pub(crate) async fn count(
    client: &impl GenericClient,
    project: i32,
    selection: &Selection<'_>,
) -> Result<i64, Error> {
    let author = selection.author.map(|author| author.0);
    client
        .query_one(
            &format!("select count(*) from memory where {SELECTED}"),
            &[&project, &selection.ids, &author, &selection.before],
        )
        .await?
        .try_get(0)
}

/// Turns up to `limit` live records of a selection into tombstones, under the sequence numbers after `head`. The project must
/// be locked. Returns their number.
pub(crate) async fn bury(
    client: &impl GenericClient,
    project: i32,
    head: i64,
    selection: &Selection<'_>,
    reason: DeletionReason,
    limit: i64,
) -> Result<i64, Error> {
    let sql = format!(
        "with chosen as (
            select id, row_number() over (order by seq) as ordinal from memory where {SELECTED} order by seq limit $7),
        buried as (
            update memory m set kind = 0, seq = $5 + chosen.ordinal, version = m.version + 1, changed_at = now(),
                created_at = null, body = null, signature = null, search_terms = null, sign_bits = null,
                deletion_reason = $6
            from chosen where m.project_id = $1 and m.id = chosen.id
            returning m.tableoid::regclass::text as partition_name),
        queued as (
            insert into purge_queue (partition_name, row_count)
            select partition_name, count(*) from buried group by partition_name
            on conflict (partition_name) do update
                set queued_at = now(), row_count = purge_queue.row_count + excluded.row_count)
        select count(*) from buried"
    );
    let author = selection.author.map(|author| author.0);
    let reason = reason_number(reason);
    client
        .query_one(
            &sql,
            &[
                &project,
                &selection.ids,
                &author,
                &selection.before,
                &head,
                &reason,
                &limit,
            ],
        )
        .await?
        .try_get(0)
}
