//! The line protocol on the socket: one JSON object a line, answered by one line each.

use std::{io, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
    sync::watch,
};

use crate::{problem::ApiError, route::record, server::Server};

/// The longest line that is read.
const MAX_LEN: u64 = 8 << 20;

/// So long the other side may be silent: an agent says nothing while its person thinks.
const SILENCE: Duration = Duration::from_secs(15 * 60);

/// Answers lines until the other side hangs up or falls silent, or until the server ends.
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
            length = next_line(&mut read, &mut line, SILENCE) => length?,
            _ = end.changed() => return Ok(()),
        };
        if length == 0 {
            return Ok(());
        }
        if length as u64 == MAX_LEN && line.last() != Some(&b'\n') {
            let problem = ApiError::bad("a line is at most 8 MB long");
            return write
                .write_all(format!("{}\n", refusal(&problem)).as_bytes())
                .await;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = answer(&server, &line)
            .await
            .unwrap_or_else(|problem| refusal(&problem));
        write.write_all(format!("{answer}\n").as_bytes()).await?;
    }
}

/// Reads a line and returns its length: nothing when the other side hung up or was silent for too long.
async fn next_line(
    read: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    silence: Duration,
) -> io::Result<usize> {
    line.clear();
    let mut limited = read.take(MAX_LEN);
    let reading = limited.read_until(b'\n', line);
    tokio::time::timeout(silence, reading).await.unwrap_or(Ok(0))
}

fn refusal(problem: &ApiError) -> Value {
    json!({"error": {"code": problem.code, "message": problem.message, "hint": problem.hint}})
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    name: String,
}

async fn answer(server: &Arc<Server>, line: &[u8]) -> Result<Value, ApiError> {
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
            Err(ApiError::bad(format!("type `{other}` is not known"))
                .hint("send observation, finalize or ping"))
        }
    }
}

fn read<'l, T: Deserialize<'l>>(line: &'l [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(line)
        .map_err(|error| ApiError::bad(format!("this line is not what is expected: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_silent_for_too_long_is_let_go() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (here, mut there) = UnixStream::pair().unwrap();
            let mut read = BufReader::new(here);
            let mut line = Vec::new();
            let silence = Duration::from_millis(50);
            there.write_all(b"{}\n{\"type\"").await.unwrap();
            assert_eq!(next_line(&mut read, &mut line, silence).await.unwrap(), 3);
            assert_eq!(line, b"{}\n");
            assert_eq!(next_line(&mut read, &mut line, silence).await.unwrap(), 0);
        });
    }
}
