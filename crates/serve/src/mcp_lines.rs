//! Lines between the standard streams and the MCP server: a line that is not JSON gets a parse error, as JSON-RPC requires.
//!
//! The server's own transport skips such lines, so that a client with a broken encoder would wait forever.

use std::io;

use serde::de::IgnoredAny;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::mpsc::{UnboundedReceiver, UnboundedSender},
};

/// Answer to a line that is not JSON. Its id is unknown.
const PARSE_ERROR: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;

/// Copies lines that are JSON to the server, and reports the others, until the input ends.
pub(crate) async fn forward_requests(
    input: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
    errors: UnboundedSender<&'static str>,
) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        // Any error ends the input, as its end does.
        if input.read_until(b'\n', &mut line).await.unwrap_or_default() == 0 {
            return;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let is_sent = if serde_json::from_slice::<IgnoredAny>(&line).is_ok() {
            server.write_all(&line).await.is_ok()
        } else {
            errors.send(PARSE_ERROR).is_ok()
        };
        if !is_sent {
            return;
        }
    }
}

/// Copies answers of the server and error lines to the output, each as a whole line, until both end.
pub(crate) async fn write_answers(
    server: impl AsyncRead + Unpin,
    mut errors: UnboundedReceiver<&'static str>,
    mut output: impl AsyncWrite + Unpin,
) {
    let mut server = BufReader::new(server);
    let mut line = Vec::new();
    loop {
        // A line that was read in part stays in `line` when an error line comes first.
        let written = tokio::select! {
            length = server.read_until(b'\n', &mut line) => match length {
                Ok(0) | Err(_) => break,
                Ok(_) => write(&mut output, &std::mem::take(&mut line)).await,
            },
            Some(error) = errors.recv() => write(&mut output, format!("{error}\n").as_bytes()).await,
        };
        if written.is_err() {
            return;
        }
    }
    while let Ok(error) = errors.try_recv() {
        if write(&mut output, format!("{error}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn write(output: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> io::Result<()> {
    output.write_all(line).await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_not_json_are_answered_and_not_forwarded() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let input: &[u8] = b"{\"id\":1}\nhello\n\n{\"id\":\xff\"2\"}\n[1]\n{\"cut\":";
            let (errors, mut reported) = tokio::sync::mpsc::unbounded_channel();
            let mut forwarded = Vec::new();
            forward_requests(input, &mut forwarded, errors).await;
            assert_eq!(forwarded, b"{\"id\":1}\n[1]\n");
            let mut count = 0;
            while reported.try_recv().is_ok() {
                count += 1;
            }
            assert_eq!(count, 3);
        });
    }
}
