//! Push: stores records and tombstones of the caller, each with its own result.
//!
//! Everything that costs time (reading, verifying, deriving index columns) happens before the project is locked. Under the
//! lock the server only compares versions and writes, in one transaction, so sequence order is commit order and no reader
//! can overtake a pending write.

use std::collections::HashMap;

use backstory_protocol::{
    DeletionReason, PushLine, PushResult, PushStatus, RecordId, RejectReason, Role, SharePolicy,
    SignedRecord, Tombstone, Trailer, limits, signature, stream,
};
use deadpool_postgres::Object;
use uuid::Uuid;

use crate::{
    access::Access,
    app::App,
    index,
    problem::Problem,
    sql::{
        self,
        memory::{Change, Content, Existing, StoredRecord},
    },
};

/// Reads, checks and stores a push. Returns the stream that answers it.
pub(crate) async fn push(
    app: &App,
    access: Access,
    mut client: Object,
    body: Vec<u8>,
) -> Result<Vec<u8>, Problem> {
    let checked = access.clone();
    let lines = tokio::task::spawn_blocking(move || check(&checked, &body))
        .await
        .map_err(|error| Problem::internal(&error))??;
    let (results, trailer) = store(&mut client, &access, lines).await?;
    app.heads.advance(access.space.id, trailer.head);
    for result in &results {
        app.metrics.count_result(result.status);
    }
    let mut writer = stream::StreamWriter::default();
    for result in &results {
        writer.push(&line(result)?);
    }
    writer.push(&line(&trailer)?);
    Ok(writer.finish())
}

fn line(value: &impl serde::Serialize) -> Result<String, Problem> {
    serde_json::to_string(value).map_err(|error| Problem::internal(&error))
}

/// A line that may be stored, or its result if it may not.
enum Checked {
    Change(Change),
    Done(PushResult),
}

/// Reads a stream and checks each line by itself.
fn check(access: &Access, body: &[u8]) -> Result<Vec<Checked>, Problem> {
    let inflated = stream::decode(body).map_err(|error| match error {
        stream::StreamError::TooLarge => too_large(),
        stream::StreamError::Damaged => Problem::bad("the body is no record stream"),
    })?;
    let lines: Vec<&[u8]> = stream::lines(&inflated)
        .take(limits::MAX_PUSH_RECORDS + 1)
        .collect();
    if lines.len() > limits::MAX_PUSH_RECORDS {
        return Err(too_large());
    }
    let mut checked: Vec<Checked> = lines.into_iter().map(|line| check_line(access, line)).collect();
    drop_duplicates(&mut checked);
    Ok(checked)
}

/// Reports a request above the limits.
pub(crate) fn too_large() -> Problem {
    Problem::new(
        backstory_protocol::ErrorCode::TooLarge,
        format!(
            "a push has at most {} records and {} bytes",
            limits::MAX_PUSH_RECORDS,
            limits::MAX_STREAM_BYTES
        ),
    )
}

fn check_line(access: &Access, line: &[u8]) -> Checked {
    match PushLine::parse(line) {
        Err(result) => Checked::Done(result),
        Ok(PushLine::Delete(tombstone)) => check_tombstone(access, tombstone),
        Ok(PushLine::Put(record)) => match check_record(access, &record) {
            Ok(content) => change(access, record.id, record.version, content),
            Err(reason) => Checked::Done(PushResult::rejected(Some(record.id), reason)),
        },
    }
}

fn check_tombstone(access: &Access, tombstone: Tombstone) -> Checked {
    // A maintainer's deletions are sent again after the server was restored.
    if tombstone.reason == DeletionReason::Maintainer && access.role < Role::Maintainer {
        return Checked::Done(PushResult::rejected(Some(tombstone.id), RejectReason::Policy));
    }
    change(
        access,
        tombstone.id,
        tombstone.version,
        Content::Deleted(tombstone.reason),
    )
}

fn change(access: &Access, id: RecordId, version: u32, content: Content) -> Checked {
    Checked::Change(Change {
        id,
        version,
        author: access.caller.account,
        device: access.caller.device,
        content,
    })
}

/// Checks a record by itself: text, sender, signature, policy, secrets.
fn check_record(access: &Access, record: &SignedRecord) -> Result<Content, RejectReason> {
    let Access { caller, space, .. } = access;
    if space.policy == SharePolicy::Off {
        return Err(RejectReason::Policy);
    }
    let verifies = |key: &String| {
        signature::verify(
            &caller.public_key,
            key,
            record.id,
            record.version,
            &record.body,
            &record.signature,
        )
    };
    let mut stored = StoredRecord {
        kind: record.kind,
        created_at: None,
        body: Vec::new(),
        signature: record.signature,
        terms: None,
        sign_bits: None,
    };
    if space.is_encrypted {
        if record.body.contains('\0') {
            return Err(RejectReason::InvalidText);
        }
    } else {
        let opened = record.open(caller.device)?;
        stored.created_at = Some(opened.created_at);
        stored.terms = Some(index::terms(&opened));
        stored.sign_bits = index::sign_bits(&opened);
        if opened.texts().any(has_secret) {
            return Err(RejectReason::SecretDetected);
        }
    }
    if !std::iter::once(&space.key).chain(&space.aliases).any(verifies) {
        return Err(RejectReason::BadSignature);
    }
    stored.body = sql::memory::deflate(&record.body);
    if stored.body.len() > limits::MAX_BODY_BYTES {
        return Err(RejectReason::TooLarge);
    }
    Ok(Content::Record(stored))
}

fn has_secret(text: &str) -> bool {
    !backstory_secrets::find(text, backstory_secrets::ScanContext::default()).is_empty()
}

/// Keeps the highest version of each id, the later one of equals; the others are stale.
fn drop_duplicates(lines: &mut [Checked]) {
    let mut best: HashMap<RecordId, usize> = HashMap::new();
    for at in 0..lines.len() {
        let Checked::Change(change) = &lines[at] else {
            continue;
        };
        let (id, version) = (change.id, change.version);
        let loser = match best.get(&id) {
            Some(&other) if matches!(&lines[other], Checked::Change(earlier) if earlier.version > version) => {
                at
            }
            Some(&other) => {
                best.insert(id, at);
                other
            }
            None => {
                best.insert(id, at);
                continue;
            }
        };
        lines[loser] = Checked::Done(PushResult {
            id: Some(id),
            status: PushStatus::Stale,
        });
    }
}

/// Decides whether a change replaces what the server has. `Ok(true)` means that it does.
fn decide(existing: Option<&Existing>, change: &Change, role: Role) -> Result<(), PushStatus> {
    let Some(existing) = existing else {
        return Ok(());
    };
    let rejected = |reason| Err(PushStatus::Rejected { reason });
    let deletion = match &change.content {
        Content::Deleted(reason) => Some(*reason),
        Content::Record(_) => None,
    };
    if existing.deletion == Some(DeletionReason::Maintainer) {
        // Final: nothing brings the record back, and there is nothing left to delete.
        return match deletion {
            Some(_) => Err(PushStatus::Unchanged),
            None => rejected(RejectReason::Deleted),
        };
    }
    if deletion == Some(DeletionReason::Maintainer) && role >= Role::Maintainer {
        return Ok(());
    }
    if existing.author != change.author {
        return rejected(RejectReason::NotAuthor);
    }
    match (existing.version, existing.device).cmp(&(change.version, change.device)) {
        std::cmp::Ordering::Less => Ok(()),
        std::cmp::Ordering::Equal => Err(PushStatus::Unchanged),
        std::cmp::Ordering::Greater => Err(PushStatus::Stale),
    }
}

/// Stores what may be stored, in one transaction.
async fn store(
    client: &mut Object,
    access: &Access,
    lines: Vec<Checked>,
) -> Result<(Vec<PushResult>, Trailer), Problem> {
    let project = access.space.id;
    let ids: Vec<Uuid> = lines
        .iter()
        .filter_map(|line| match line {
            Checked::Change(change) => Some(sql::uuid(change.id.0)),
            Checked::Done(_) => None,
        })
        .collect();
    let transaction = client.transaction().await?;
    let locked = sql::project::lock(&transaction, project).await?;
    let existing: HashMap<RecordId, Existing> = sql::memory::existing(&transaction, project, &ids)
        .await?
        .into_iter()
        .collect();
    let mut head = locked.head;
    let mut growth = 0;
    let mut changes = Vec::new();
    let mut results = Vec::with_capacity(lines.len());
    for line in lines {
        let mut change = match line {
            Checked::Done(result) => {
                results.push(result);
                continue;
            }
            Checked::Change(change) => change,
        };
        let before = existing.get(&change.id);
        let status = match decide(before, &change, access.role) {
            Err(status) => status,
            Ok(()) => {
                head += 1;
                growth += growth_by(before, &change);
                // A maintainer who deletes a record does not become its author.
                change.author = before.map_or(change.author, |before| before.author);
                PushStatus::Stored { seq: head }
            }
        };
        results.push(PushResult {
            id: Some(change.id),
            status,
        });
        if let PushStatus::Stored { .. } = status {
            changes.push(change);
        }
    }
    if !changes.is_empty() {
        sql::memory::store(&transaction, project, locked.head, &changes).await?;
        sql::project::advance(&transaction, project, head, growth).await?;
    }
    transaction.commit().await?;
    let trailer = Trailer {
        head,
        epoch: locked.epoch,
        more: false,
    };
    Ok((results, trailer))
}

/// Returns by how many live records the project grows.
fn growth_by(before: Option<&Existing>, change: &Change) -> i64 {
    let was_live = before.is_some_and(|before| before.deletion.is_none());
    let is_live = matches!(change.content, Content::Record(_));
    i64::from(is_live) - i64::from(was_live)
}
