//! Fake model provider on loopback: sends prepared answers and records requests.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// Recorded request.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) path: String,
    /// Header names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl RecordedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the user message, of either API.
    pub(crate) fn user(&self) -> &str {
        let messages = self.body["messages"].as_array().unwrap();
        messages.last().unwrap()["content"].as_str().unwrap()
    }

    /// Returns the text outside the fence, the only part that a model must follow.
    pub(crate) fn outside(&self) -> String {
        let (marker, text) = (self.marker(), self.user());
        let (open, close) = (
            format!("\nBEGIN-DATA-{marker}\n"),
            format!("\nEND-DATA-{marker}\n"),
        );
        let (before, rest) = text.split_once(&open).unwrap();
        let (_, after) = rest.split_once(&close).unwrap();
        format!("{before}{after}")
    }

    /// Returns the marker of the fence.
    pub(crate) fn marker(&self) -> String {
        let (_, rest) = self.user().split_once("BEGIN-DATA-").unwrap();
        rest.chars().take_while(char::is_ascii_hexdigit).collect()
    }
}

/// Prepared answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
    delay: Duration,
    breaks_off: bool,
}

impl Answer {
    pub(crate) fn new(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.to_string(),
            delay: Duration::ZERO,
            breaks_off: false,
        }
    }

    /// Returns an answer of Anthropic's Messages API.
    pub(crate) fn anthropic(text: &str) -> Self {
        Self::new(
            200,
            &json!({"id": "msg_013Zva2CMHLNnjNxVqJhpqPg", "type": "message", "role": "assistant", "model": "claude-haiku-4-5-20251001",
                "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 1200, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 300}}),
        )
    }

    /// Returns an answer of a chat completions API.
    pub(crate) fn openai(text: &str) -> Self {
        Self::new(
            200,
            &json!({"id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT", "object": "chat.completion", "created": 1_741_569_952,
                "model": "gpt-4.1-mini-2025-04-14", "choices": [{"index": 0, "message": {"role": "assistant", "content": text,
                "refusal": null, "annotations": []}, "logprobs": null, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1100, "completion_tokens": 200, "total_tokens": 1300}}),
        )
    }

    /// Returns an error of Anthropic's API.
    pub(crate) fn anthropic_error(status: u16, kind: &str, message: &str) -> Self {
        Self::new(
            status,
            &json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}),
        )
    }

    /// Returns an error of OpenAI's API.
    pub(crate) fn openai_error(status: u16, code: &str, message: &str) -> Self {
        Self::new(
            status,
            &json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}}),
        )
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Cuts the answer off in the middle.
    pub(crate) fn broken_off(mut self) -> Self {
        self.breaks_off = true;
        self
    }
}

/// Server that runs as long as the test process.
pub(crate) struct Server {
    address: String,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl Server {
    /// Starts a server that answers with a function of the request and the number of earlier ones.
    pub(crate) fn start(answer: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<RecordedRequest>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                thread::spawn(move || serve(&stream, &kept, answer.as_ref()));
            }
        });
        Self { address, requests }
    }

    /// Starts a server that always sends the same answer.
    pub(crate) fn always(answer: Answer) -> Self {
        Self::start(move |_, _| answer.clone())
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns all requests so far.
    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(
    stream: &TcpStream,
    kept: &Mutex<Vec<RecordedRequest>>,
    answer: &dyn Fn(&RecordedRequest, usize) -> Answer,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request = RecordedRequest {
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap(),
    };
    let before = {
        let mut kept = kept.lock().unwrap();
        kept.push(request.clone());
        kept.len() - 1
    };
    let answer = answer(&request, before);
    thread::sleep(answer.delay);
    let headers: String = answer
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let sent = match answer.breaks_off {
        true => answer.body.len() / 2,
        false => answer.body.len(),
    };
    // A client that has timed out does not read the answer.
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{}",
        answer.status,
        answer.body.len(),
        &answer.body[..sent]
    )
    .ok();
}
