//! Interactive use: confirmations, and a demo that waits.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{Read, Write},
    net::TcpStream,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    process::{Child, Stdio},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

use serde_json::json;

use crate::{home::Home, memory::home_with_bug_fix};

/// A program whose streams are a pseudo-terminal, and its user.
pub(crate) struct Terminal {
    program: Child,
    screen: File,
    shown: String,
}

impl Terminal {
    pub(crate) fn run(home: &Home, arguments: &[&str]) -> Self {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let stream = || -> Stdio {
            let path = OsStr::from_bytes(name.as_bytes());
            let file = File::options().read(true).write(true).open(path).unwrap();
            OwnedFd::from(file).into()
        };
        let mut command = home.command(arguments);
        command.stdin(stream()).stdout(stream()).stderr(stream());
        Self {
            program: command.spawn().unwrap(),
            screen: screen.into(),
            shown: String::new(),
        }
    }

    /// Waits for a text on the screen.
    pub(crate) fn until(&mut self, words: &str) {
        let patience = Timespec {
            tv_sec: 30,
            tv_nsec: 0,
        };
        while !self.shown.contains(words) {
            let ready = poll(&mut [PollFd::new(&self.screen, PollFlags::IN)], Some(&patience));
            assert_eq!(ready, Ok(1), "never shown: {words}\n{}", self.shown);
            let mut bytes = [0; 4096];
            let length = self.screen.read(&mut bytes).unwrap();
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    }

    pub(crate) fn says(&mut self, answer: &str) {
        self.screen.write_all(answer.as_bytes()).unwrap();
    }

    fn sends(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.program), signal).unwrap();
    }

    /// Waits for the program's exit; returns its status.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.program.wait().unwrap().code()
    }
}

#[test]
fn an_interrupted_demo_leaves_nothing_behind() {
    for signal in [Signal::INT, Signal::HUP] {
        let home = Home::new();
        let temporary = home.outside().join("tmp");
        fs::create_dir(&temporary).unwrap();
        let home = home.with("TMPDIR", temporary.to_str().unwrap());
        let mut demo = Terminal::run(&home, &["demo"]);
        demo.until("/login?code=");
        let (_, rest) = demo.shown.split_once("127.0.0.1:").unwrap();
        let port: u16 = rest.split('/').next().unwrap().parse().unwrap();
        assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
        demo.sends(signal);
        assert_eq!(demo.end(), Some(0));
        assert!(
            TcpStream::connect(("127.0.0.1", port)).is_err(),
            "a worker is left"
        );
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    }
}

#[test]
fn enter_ends_the_demo() {
    let mut demo = Terminal::run(&Home::new(), &["demo"]);
    demo.until("/login?code=");
    demo.says("\n");
    assert_eq!(demo.end(), Some(0));
}

#[test]
fn a_declined_confirmation_exits_1() {
    let home = home_with_bug_fix();
    for arguments in [&["install", "claude-code"][..], &["forget", "1"]] {
        let mut asking = Terminal::run(&home, arguments);
        asking.until("[y/N]");
        asking.says("n\n");
        asking.until("Nothing was changed.");
        assert_eq!(asking.end(), Some(1), "{arguments:?}");
    }
}

#[test]
fn an_import_shows_its_progress_and_the_time_left() {
    let home = Home::new();
    let folder = home.outside().join("projects/-work-shop");
    fs::create_dir_all(&folder).unwrap();
    let answer = "The cart is slow because its index is missing. ".repeat(20);
    for number in 0..40 {
        let session = format!("00000000-0000-4000-8000-{number:012}");
        let line = |second: u32, kind: &str, content: &str| {
            json!({"type": kind, "sessionId": session, "cwd": "/work/shop", "message": {"role": kind, "content": content},
                "timestamp": format!("2026-01-05T10:00:{second:02}.000Z")})
        };
        let lines: String = (0..20)
            .map(|turn| {
                format!(
                    "{}\n{}\n",
                    line(turn * 2, "user", "Why is it slow?"),
                    line(turn * 2 + 1, "assistant", &answer)
                )
            })
            .collect();
        fs::write(folder.join(format!("{session}.jsonl")), lines).unwrap();
    }
    let mut terminal = Terminal::run(&home, &["import", "claude-code", folder.to_str().unwrap()]);
    terminal.until(" of 40 sessions read");
    terminal.until(" events distilled");
    terminal.until(" left");
    terminal.until("Imported 40 sessions");
    assert!(terminal.shown.contains("█") && terminal.shown.contains("░"));
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn an_unknown_answer_to_install_is_asked_again() {
    let home = Home::new();
    for folder in ["home/.claude", "home/.codex"] {
        fs::create_dir_all(home.outside().join(folder)).unwrap();
    }
    let mut terminal = Terminal::run(&home, &["install"]);
    terminal.until("[y/N");
    terminal.says("yep\n");
    terminal.until("Not understood: `yep`");
    terminal.says("codex\n");
    terminal.until("Codex CLI is set up");
    assert_eq!(terminal.end(), Some(0));
    assert!(!home.outside().join("home/.claude/settings.json").exists());
}
