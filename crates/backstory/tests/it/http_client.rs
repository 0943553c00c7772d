//! A home with a serving worker, and a small client: requests over TCP and the socket, and the event stream.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    process::Child,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::home::{Home, eventually};

/// Home with a worker that is stopped on drop.
pub(crate) struct Served {
    pub(crate) home: Home,
    worker: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
}

/// Response to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

impl Served {
    pub(crate) fn start() -> Self {
        Self::start_in(Home::new())
    }

    pub(crate) fn start_in(home: Home) -> Self {
        let worker = home.command(&["worker", "run"]).spawn().unwrap();
        let facts = home.path().join("worker.json");
        eventually("the worker is ready", || facts.exists());
        let facts: Value = serde_json::from_slice(&fs::read(facts).unwrap()).unwrap();
        Self {
            port: u16::try_from(facts["port"].as_u64().unwrap()).unwrap(),
            token: fs::read_to_string(home.path().join("token"))
                .unwrap()
                .trim()
                .to_owned(),
            home,
            worker,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.worker.id()
    }

    /// Sends a GET request with the token.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    /// Sends JSON with the token.
    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        answer(self.begin(method, path, body))
    }

    /// Sends JSON with the token, without waiting for the response.
    pub(crate) fn begin(&self, method: &str, path: &str, body: Option<&Value>) -> TcpStream {
        let body = body.map(Value::to_string);
        let length = body.as_ref().map_or(0, String::len);
        let kind = body.as_ref().map_or("", |_| "Content-Type: application/json\r\n");
        self.connect(&format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n{kind}Content-Length: {length}\r\n\r\n{}",
            self.port,
            self.token,
            body.unwrap_or_default()
        ))
    }

    /// Sends raw bytes.
    pub(crate) fn raw(&self, request: &str) -> Answer {
        answer(self.connect(request))
    }

    fn connect(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // A server that rejects the request may close the connection before it has read everything.
        stream.write_all(request.as_bytes()).ok();
        stream
    }

    /// Sends bytes over the socket.
    pub(crate) fn through_socket(&self, request: &str) -> Answer {
        let mut stream = UnixStream::connect(self.home.path().join("worker.sock")).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        read(&bytes)
    }

    /// Opens the event stream, from the start or from an event on.
    pub(crate) fn listen(&self, last_event_id: Option<i64>) -> EventStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let last = last_event_id.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        let head = format!(
            "GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n{last}\r\n",
            self.port, self.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut listener = EventStream(BufReader::new(stream));
        // The first event is the state of the queue: from then on nothing is missed.
        listener.until("queue");
        listener
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.worker.kill().ok();
        self.worker.wait().ok();
    }
}

pub(crate) fn answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok();
    read(&bytes)
}

fn read(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    Answer {
        status: status.unwrap_or(0),
        body: match is_chunked {
            true => unchunked(body),
            false => body.to_owned(),
        },
        head: head.to_owned(),
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap_or(0);
        whole.push_str(rest.get(..length).unwrap_or(""));
        body = rest.get(length + 2..).unwrap_or("");
    }
    whole
}

/// Event of the stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerEvent {
    pub(crate) name: String,
    pub(crate) id: Option<i64>,
    pub(crate) data: Value,
}

/// Client of the event stream.
pub(crate) struct EventStream(BufReader<TcpStream>);

impl EventStream {
    /// Reads the next event; `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<ServerEvent> {
        let (mut name, mut id, mut data) = (None, None, None);
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // Chunk lengths between events are not fields.
            match line.trim_end().split_once(": ") {
                Some(("event", value)) => name = Some(value.to_owned()),
                Some(("id", value)) => id = value.parse().ok(),
                Some(("data", value)) => data = serde_json::from_str(value).ok(),
                _ if line.trim_end().is_empty() => {
                    if let (Some(name), Some(data)) = (name.take(), data.take()) {
                        return Some(ServerEvent { name, id, data });
                    }
                }
                _ => {}
            }
        }
    }

    /// Reads until an event of this name.
    pub(crate) fn until(&mut self, name: &str) -> ServerEvent {
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < Duration::from_secs(10), "never told: {name}");
            let told = self
                .next()
                .unwrap_or_else(|| panic!("the stream ended before {name}"));
            if told.name == name {
                return told;
            }
        }
    }
}
