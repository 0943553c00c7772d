//! Line protocol on the socket: one JSON object per line, one response line each.

use std::{io, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
    sync::watch,
};

use crate::{problem::ApiError, route::record, server::Server};

/// Maximum length of a line.
const MAX_LINE_BYTES: u64 = 8 << 20;

/// Idle timeout of a connection. Long, because an agent sends nothing while its user thinks.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Serves lines until the client disconnects or is idle for too long, or until shutdown.
pub(crate) async fn serve_line_protocol(
    server: Arc<Server>,
    stream: UnixStream,
    mut end: watch::Receiver<()>,
) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    loop {
        let length = tokio::select! {
            length = next_line(&mut read, &mut line, IDLE_TIMEOUT) => length?,
            _ = end.changed() => return Ok(()),
        };
        if length == 0 {
            return Ok(());
        }
        if length as u64 == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
            let problem = ApiError::bad("the line is longer than 8 MB");
            return write
                .write_all(format!("{}\n", error_line(&problem)).as_bytes())
                .await;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let response = respond(&server, &line)
            .await
            .unwrap_or_else(|problem| error_line(&problem));
        write.write_all(format!("{response}\n").as_bytes()).await?;
    }
}

/// Reads a line and returns its length, or 0 if the client disconnected or timed out.
async fn next_line(
    read: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    idle_timeout: Duration,
) -> io::Result<usize> {
    line.clear();
    let mut limited = read.take(MAX_LINE_BYTES);
    let reading = limited.read_until(b'\n', line);
    tokio::time::timeout(idle_timeout, reading).await.unwrap_or(Ok(0))
}

fn error_line(problem: &ApiError) -> Value {
    json!({"error": {"code": problem.code, "message": problem.message, "hint": problem.hint}})
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    name: String,
}

async fn respond(server: &Arc<Server>, line: &[u8]) -> Result<Value, ApiError> {
    let kind: Kind = read(line)?;
    match kind.name.as_str() {
        "ping" => Ok(json!({"status": "ok", "version": server.version})),
        "observation" => record::tool(server, read(line)?)
            .await
            .map(|status| json!(status)),
        "finalize" => {
            record::turn_end(server, read(line)?).await?;
            let status = record::session_end(server, read(line)?).await?;
            Ok(json!(status))
        }
        other => {
            Err(ApiError::bad(format!("unknown type `{other}`")).hint("send observation, finalize or ping"))
        }
    }
}

fn read<'l, T: Deserialize<'l>>(line: &'l [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(line).map_err(|error| ApiError::bad(format!("invalid line: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_client_times_out() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let mut read = BufReader::new(ours);
            let mut line = Vec::new();
            let idle_timeout = Duration::from_millis(50);
            theirs.write_all(b"{}\n{\"type\"").await.unwrap();
            assert_eq!(next_line(&mut read, &mut line, idle_timeout).await.unwrap(), 3);
            assert_eq!(line, b"{}\n");
            assert_eq!(next_line(&mut read, &mut line, idle_timeout).await.unwrap(), 0);
        });
    }
}
