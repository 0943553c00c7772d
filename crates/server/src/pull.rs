//! Pull by cursor, with long polling, and the snapshot for first joins.
//!
//! A page and the head are read in one statement, hence in one snapshot. The snapshot endpoint reads page by page without a
//! transaction: a record that changes meanwhile gets a higher number than the head at the start, and comes with the first
//! pull after it. A broken snapshot is continued by a pull from the last number received.

use std::{sync::Arc, time::Duration};

use backstory_protocol::{Epoch, ErrorCode, PullLine, Trailer, limits, stream::StreamWriter};
use deadpool_postgres::Object;
use tokio::sync::mpsc;

use crate::{
    access::Access,
    app::App,
    problem::Problem,
    sql::{
        self,
        identity::Space,
        memory::{Page, StoredLine},
    },
};

/// Bytes of lines after which a page ends; below the limit by more than one record.
const PAGE_BYTES: usize = limits::MAX_INFLATED_BYTES / 2;

/// The position of a client in the changes of a project.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub(crate) epoch: Option<Epoch>,
    pub(crate) after: i64,
    pub(crate) limit: usize,
}

impl Cursor {
    /// Returns an error if the cursor has no meaning in this project any more.
    pub(crate) fn check(&self, space: &Space) -> Result<(), Problem> {
        if self.after == 0 {
            return Ok(());
        }
        let Some(epoch) = self.epoch else {
            return Err(Problem::bad("a cursor needs the epoch it belongs to"));
        };
        // A cursor from the future: the server was restored and nobody has rotated its epochs.
        if epoch != space.epoch || self.after > space.head {
            return Err(Problem::new(
                ErrorCode::EpochChanged,
                "the server was restored: start over",
            ));
        }
        if self.after < space.compacted {
            return Err(Problem::new(
                ErrorCode::CursorExpired,
                "tombstones after this cursor are gone: start over",
            ));
        }
        Ok(())
    }
}

/// Waits until the project has changes after the cursor, at most this long. Returns true if it has.
pub(crate) async fn wait(app: &App, space: &Space, after: i64, longest: Duration) -> bool {
    let mut head = app.heads.watch(space.id, space.head);
    let mut is_ending = app.is_ending.clone();
    tokio::select! {
        changed = head.wait_for(|head| *head > after) => changed.is_ok(),
        _ = is_ending.wait_for(|is_ending| *is_ending) => false,
        () = tokio::time::sleep(longest) => false,
    }
}

/// Returns the changes after a cursor as a stream. `known_head` is what the primary has: a replica that is behind is not used.
pub(crate) async fn page(
    app: &App,
    access: &Access,
    cursor: Cursor,
    known_head: i64,
) -> Result<Vec<u8>, Problem> {
    let limit = cursor.limit.clamp(1, limits::MAX_PULL_RECORDS);
    let page = read_page(app, access.space.id, cursor.after, limit, known_head).await?;
    let (sent, stream) = encode(page, limit, access.space.epoch).await?;
    app.metrics.count_sent(sent);
    Ok(stream)
}

async fn read_page(
    app: &App,
    project: i32,
    after: i64,
    limit: usize,
    known_head: i64,
) -> Result<Page, Problem> {
    let rows = i64::try_from(limit).unwrap_or(i64::MAX);
    if app.databases.has_replica() {
        let client = app.databases.reader().await?;
        let page = sql::memory::changes_after(&client, project, after, rows).await?;
        if page.head >= known_head {
            return Ok(page);
        }
    }
    let client = app.databases.primary().await?;
    Ok(sql::memory::changes_after(&client, project, after, rows).await?)
}

async fn encode(page: Page, limit: usize, epoch: Epoch) -> Result<(usize, Vec<u8>), Problem> {
    run_blocking(move || {
        let mut writer = StreamWriter::default();
        let (mut sent, mut bytes) = (0, 0);
        let total = page.lines.len();
        let mut last = page.head;
        for line in page.lines {
            last = line.seq();
            let text = to_text(line)?;
            bytes += text.len();
            writer.push(&text);
            sent += 1;
            if bytes > PAGE_BYTES {
                break;
            }
        }
        let more = sent < total || (total == limit && last < page.head);
        let trailer = Trailer {
            head: page.head,
            epoch,
            more,
        };
        writer.push(&trailer_text(trailer)?);
        Ok((sent, writer.finish()))
    })
    .await
}

fn to_text(line: StoredLine) -> Result<String, Problem> {
    line.inflate()
        .to_line()
        .map_err(|error| Problem::internal(&error))
}

fn trailer_text(trailer: Trailer) -> Result<String, Problem> {
    PullLine::Trailer(trailer)
        .to_line()
        .map_err(|error| Problem::internal(&error))
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Problem::internal(&error))?
}

/// Part of a snapshot. An error cuts the connection, so that the client notices the missing end.
pub(crate) type SnapshotPart = Result<Vec<u8>, std::io::Error>;

/// Sends all live records of a project, as of the head at the start, page by page. The first connection is given.
pub(crate) async fn send_snapshot(
    app: Arc<App>,
    space: Space,
    first: Object,
    parts: mpsc::Sender<SnapshotPart>,
) {
    if let Err(problem) = send_pages(&app, &space, first, &parts).await {
        let response = axum::response::IntoResponse::into_response(problem);
        let error = std::io::Error::other(format!("snapshot failed with {}", response.status()));
        // Fails if the client has gone.
        parts.send(Err(error)).await.ok();
    }
}

async fn send_pages(
    app: &App,
    space: &Space,
    first: Object,
    parts: &mpsc::Sender<SnapshotPart>,
) -> Result<(), Problem> {
    const ROWS: i64 = 500;
    let mut client = Some(first);
    let mut after = 0;
    let mut writer = StreamWriter::default();
    loop {
        // No connection is held while a slow client reads.
        let connection = match client.take() {
            Some(client) => client,
            None => app.databases.primary().await?,
        };
        let lines = sql::memory::live_between(&connection, space.id, after, space.head, ROWS).await?;
        drop(connection);
        let Some(last) = lines.last().map(StoredLine::seq) else {
            break;
        };
        after = last;
        app.metrics.count_sent(lines.len());
        let frames;
        (writer, frames) = run_blocking(move || {
            for line in lines {
                writer.push(&to_text(line)?);
            }
            let frames = writer.take_frames();
            Ok((writer, frames))
        })
        .await?;
        if !frames.is_empty() && parts.send(Ok(frames)).await.is_err() {
            return Ok(());
        }
    }
    writer.push(&trailer_text(Trailer {
        head: space.head,
        epoch: space.epoch,
        more: false,
    })?);
    parts.send(Ok(writer.finish())).await.ok();
    Ok(())
}
