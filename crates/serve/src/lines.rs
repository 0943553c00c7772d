//! The line protocol on the socket: one JSON object a line, answered by one line each.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

use crate::{problem::Problem, route::record, server::Server};

/// The longest line that is read.
const LONGEST: u64 = 8 << 20;

/// Answers lines until the other side hangs up.
pub(crate) async fn answer_lines(server: Arc<Server>, stream: UnixStream) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = (&mut read).take(LONGEST).read_until(b'\n', &mut line).await?;
        if length == 0 {
            return Ok(());
        }
        if length as u64 == LONGEST && line.last() != Some(&b'\n') {
            let problem = Problem::bad("a line is at most 8 MB long");
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

fn refusal(problem: &Problem) -> Value {
    json!({"error": {"code": problem.code, "message": problem.message, "hint": problem.hint}})
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    name: String,
}

async fn answer(server: &Arc<Server>, line: &[u8]) -> Result<Value, Problem> {
    let kind: Kind = read(line)?;
    match kind.name.as_str() {
        "ping" => Ok(json!({"status": "ok", "version": server.version})),
        "observation" => record::tool(server, read(line)?).map(|status| status.line()),
        "finalize" => {
            record::turn_end(server, read(line)?).await?;
            record::session_end(server, read(line)?).map(|status| status.line())
        }
        other => {
            Err(Problem::bad(format!("type `{other}` is not known"))
                .hint("send observation, finalize or ping"))
        }
    }
}

fn read<'l, T: Deserialize<'l>>(line: &'l [u8]) -> Result<T, Problem> {
    serde_json::from_slice(line)
        .map_err(|error| Problem::bad(format!("this line is not what is expected: {error}")))
}
