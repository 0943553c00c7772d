//! What actions do to the store and outside of the picker.

use std::{
    sync::mpsc::{self, Receiver, Sender},
    thread::{self, JoinHandle},
};

use anyhow::{Context as _, Result};
use backstory_engine::{engine::Engine, forgetting};
use backstory_model::Handle;
use backstory_recall::is_stale;
use backstory_serve::render_memory;
use backstory_store::{BusyTimeout, Selection, Store};

use super::row::Target;
use crate::{
    command::{ExitStatus, edit, open as viewer, open_for_writing, resume as resuming, unknown},
    output::{self, DIM},
};

/// What follows the picker.
#[derive(Debug)]
pub(super) enum Ended {
    /// The session with this id continues in its agent.
    Resume(String),
}

/// Deletes memories on a thread of its own: purging pages and renewing a backup can take seconds.
pub(super) struct Worker {
    orders: Sender<Handle>,
    reports: Receiver<Result<String, String>>,
    thread: JoinHandle<()>,
    /// The number of orders without a report.
    open: usize,
}

impl Worker {
    pub(super) fn new(engine: &Engine) -> Self {
        let (orders, ordered) = mpsc::channel();
        let (reporting, reports) = mpsc::channel();
        let engine = engine.clone();
        let thread = thread::spawn(move || {
            for handle in ordered {
                let report = forget(&engine, handle).map_err(|error| format!("{error:#}"));
                reporting.send(report).ok();
            }
        });
        Self {
            orders,
            reports,
            thread,
            open: 0,
        }
    }

    pub(super) fn forget(&mut self, handle: Handle) {
        self.open += 1;
        self.orders.send(handle).ok();
    }

    /// Returns the next report.
    pub(super) fn message(&mut self) -> Option<Result<String, String>> {
        let report = self.reports.try_recv().ok()?;
        self.open -= 1;
        Some(report)
    }

    /// Waits for all deletions, and reports those of the end.
    pub(super) fn finish(self) -> Result<()> {
        drop(self.orders);
        for _ in 0..self.open {
            match self.reports.recv() {
                Ok(Ok(text)) => anstream::println!("{text}"),
                Ok(Err(text)) => anyhow::bail!(text),
                Err(_) => break,
            }
        }
        self.thread.join().ok();
        Ok(())
    }
}

fn forget(engine: &Engine, handle: Handle) -> Result<String> {
    let mut store = open_for_writing(engine)?;
    let settings = engine.checked_settings()?;
    let selection = Selection::Memories(&[handle]);
    let report = forgetting::forget(engine, &mut store, selection, &settings.context)?;
    let kept = match report.by_hand.len() {
        0 => String::new(),
        count => format!("; {} by hand keep it", output::count(count as u64, "backup")),
    };
    Ok(format!("deleted {handle}{kept}"))
}

pub(super) fn set_pinned(engine: &Engine, handle: Handle, is_pinned: bool) -> Result<()> {
    Ok(open_for_writing(engine)?.set_pinned(&[handle], is_pinned)?)
}

/// Edits a memory in the user's editor; returns what was changed.
pub(super) fn edit(engine: &Engine, handle: Handle) -> Result<String> {
    let changed = edit::in_editor(engine, handle)?;
    Ok(if changed.is_empty() {
        "nothing was changed".to_owned()
    } else {
        format!("changed {handle}: {}", changed.join(", "))
    })
}

/// Opens a row in the viewer.
pub(super) fn open(engine: &Engine, target: &Target) -> Result<String> {
    let page = match target {
        Target::Memory(handle) => format!("memories/{handle}"),
        Target::Session(id) => format!("sessions/{id}"),
    };
    viewer::run(engine, &viewer::Open::page(page))?;
    anstream::eprintln!("{DIM}Press a key to go back.{DIM:#}");
    backstory_system::read_key().context("could not read the terminal")?;
    Ok("opened in the viewer".to_owned())
}

/// Fails if a session cannot be resumed.
pub(super) fn check_resume(engine: &Engine, id: &str) -> Result<()> {
    resuming::command_of(engine, &read_store(engine)?.session(id)?).map(drop)
}

/// Resumes a session in its agent.
pub(super) fn resume(engine: &Engine, id: &str) -> Result<ExitStatus> {
    resuming::resume(engine, &read_store(engine)?.session(id)?)
}

/// Returns a row as text for a prompt.
pub(super) fn text_for_prompt(engine: &Engine, target: &Target) -> Result<String> {
    let store = read_store(engine)?;
    let handle = match target {
        Target::Memory(handle) => *handle,
        Target::Session(id) => {
            let session = store.session(id)?;
            let last = store.memories_by_turn(&session)?.into_values().flatten();
            let last = last.filter(|handle| handle.kind == backstory_model::MemoryKind::Summary);
            last.max_by_key(|handle| handle.id)
                .context("this session has no hand-over yet")?
        }
    };
    let shown = store.show(handle)?.ok_or_else(|| unknown(handle))?;
    let is_stale = is_stale(&store, &shown.memory)?;
    Ok(format!("From backstory:\n{}\n", render_memory(&shown, is_stale)))
}

fn read_store(engine: &Engine) -> Result<Store> {
    Store::open_read_only(&engine.home.database(), BusyTimeout::Command)
        .map_err(backstory_engine::error::with_hint)
}
