//! The picker: search as you type in the terminal, with a preview and actions.
//!
//! `state` decides what a key does, `draw` what the screen shows; both are pure. `search` answers on a thread of its own.
//! This file connects them to the terminal and carries out effects. Nothing is deleted before its time for undoing has
//! passed; a picker that is killed deletes nothing.

mod choices;
mod clipboard;
mod draw;
mod effects;
#[cfg(test)]
mod fixtures;
mod input;
mod keys;
mod latency;
mod layout;
mod query_line;
mod row;
mod search;
mod state;
mod styled;
mod terminal;

use std::{
    io::{self, IsTerminal as _},
    sync::{
        atomic::Ordering,
        mpsc::{self, Receiver, Sender},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use backstory_engine::{engine::Engine, error::with_hint, worker_process};
use backstory_store::{BusyTimeout, Store, StoreError};
use backstory_system::{end_on_hangup, shutdown_flag, suspend, suspend_flag};
use ratatui_core::layout::Rect;
use ratatui_crossterm::crossterm::event::{self, Event, KeyEventKind};

use self::{
    effects::{Ended, Worker},
    keys::Key,
    latency::Latency,
    search::{Answer, Ask, Place},
    state::{Effect, Focus, Picker},
    terminal::Screen,
};
use crate::{
    command::{ExitStatus, locate_here, open_store},
    output::Times,
};

/// The longest wait before signals and deletions that are due are looked at.
const TICK: Duration = Duration::from_millis(100);

/// The wait while an answer is due: a key is noticed at once, an answer within this time.
const ANSWER_TICK: Duration = Duration::from_millis(1);

/// The longest wait for the first rows before the first frame: an empty frame before it would flicker.
const FIRST_ROWS: Duration = Duration::from_millis(40);

/// Reports whether the picker can run: both ends are a terminal.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Runs the picker. Returns `None` if nothing was ever recorded.
pub(crate) fn run(engine: &Engine, text: &str) -> Result<Option<ExitStatus>> {
    let Some((store, place)) = open(engine)? else {
        return Ok(None);
    };
    let (asks, asked) = mpsc::channel();
    let (answering, answers) = mpsc::channel();
    let searching = search::start(engine.clone(), store, place.clone(), asked, answering);
    let mut session = Session {
        engine,
        picker: Picker::new(&place, text.to_owned()),
        times: Times::new(engine)?,
        asks,
        answers,
        deleting: Worker::new(engine),
        has_color: !engine.environment.is_set("NO_COLOR"),
        ended: None,
        latency: Latency::default(),
    };
    let ran = session.run();
    if engine.environment.is_on("BACKSTORY_DEBUG") {
        anstream::eprintln!("{}", session.latency.json());
    }
    let Session {
        asks,
        mut deleting,
        ended,
        mut picker,
        ..
    } = session;
    drop(asks);
    searching.join().ok();
    ran?;
    for effect in picker.due(None) {
        if let Effect::Forget(handle) = effect {
            deleting.forget(handle);
        }
    }
    deleting.finish()?;
    match ended {
        Some(Ended::Resume(id)) => effects::resume(engine, &id).map(Some),
        None => Ok(Some(ExitStatus::Done)),
    }
}

/// Opens the store for reading, and finds the project and branch of the current folder.
fn open(engine: &Engine) -> Result<Option<(Store, Place)>> {
    engine.checked_settings()?;
    let database = engine.home.database();
    let has_spooled = !engine.home.spool().pending().unwrap_or_default().is_empty();
    let store = match Store::open_read_only(&database, BusyTimeout::Command) {
        Ok(store) => {
            // The worker ingests them, and the list follows.
            if has_spooled {
                worker_process::ensure(engine);
            }
            store
        }
        // To be created or migrated first.
        Err(StoreError::Missing(_) | StoreError::Older { .. }) => {
            if open_store(engine)?.is_none() {
                return Ok(None);
            }
            Store::open_read_only(&database, BusyTimeout::Command).map_err(with_hint)?
        }
        Err(error) => return Err(with_hint(error)),
    };
    let folder = std::env::current_dir().context("could not find the current folder")?;
    let here = locate_here(engine, &folder);
    let place = Place {
        project: store.project_with_id(&here.key)?,
        branch: here.branch,
    };
    Ok(Some((store, place)))
}

struct Session<'e> {
    engine: &'e Engine,
    picker: Picker,
    times: Times,
    asks: Sender<Ask>,
    answers: Receiver<Answer>,
    deleting: Worker,
    has_color: bool,
    ended: Option<Ended>,
    latency: Latency,
}

impl Session<'_> {
    fn run(&mut self) -> Result<()> {
        end_on_hangup().context("could not watch for signals")?;
        let shutdown = shutdown_flag().context("could not watch for signals")?;
        let suspended = suspend_flag().context("could not watch for signals")?;
        let first = self.picker.search();
        let mut screen = None;
        self.carry_out(vec![first], &mut screen)?;
        let start = Instant::now();
        while let Ok(answer) = self
            .answers
            .recv_timeout(FIRST_ROWS.saturating_sub(start.elapsed()))
        {
            let effects = self.picker.answer(answer);
            self.carry_out(effects, &mut screen)?;
            if !self.picker.is_waiting() {
                break;
            }
        }
        screen = Some(Screen::enter().context("could not set up the terminal")?);
        let mut is_dirty = true;
        loop {
            if is_dirty && let Some(screen) = &mut screen {
                self.draw(screen)?;
            }
            is_dirty = self.wait(&mut screen)?;
            if shutdown.load(Ordering::SeqCst) {
                // The user did not leave, so there was still time to undo.
                self.picker.pending.clear();
                return Ok(());
            }
            if self.ended.is_some() || self.picker.has_quit {
                return Ok(());
            }
            if suspended.swap(false, Ordering::SeqCst) {
                self.carry_out(vec![Effect::Suspend], &mut screen)?;
                is_dirty = true;
            }
        }
    }

    fn draw(&mut self, screen: &mut Screen) -> Result<()> {
        self.times.now = self.engine.clock.timestamp();
        let (width, height) = screen.size()?;
        let areas = layout::areas(Rect::new(0, 0, width, height));
        let is_view = matches!(self.picker.focus, Focus::View { .. });
        let page = if is_view { areas.body } else { areas.preview };
        self.picker.page_width = page.width;
        self.picker.list_height = areas.list.height.into();
        self.picker.view_height = areas.body.height.into();
        for effect in self.picker.want_page() {
            self.ask(effect);
        }
        screen.terminal.draw(|frame| {
            let cursor = draw::draw(&self.picker, &self.times, frame.buffer_mut(), self.has_color);
            if let Some(cursor) = cursor {
                frame.set_cursor_position(cursor);
            }
        })?;
        self.latency
            .drawn(self.engine.clock.timestamp(), self.picker.has_newest_rows());
        Ok(())
    }

    /// Waits for keys, answers and deletions that are due. Returns true if something changed.
    fn wait(&mut self, screen: &mut Option<Screen>) -> Result<bool> {
        let tick = if self.picker.is_waiting() {
            ANSWER_TICK
        } else {
            TICK
        };
        let mut is_dirty = !self.picker.pending.is_empty();
        let mut timeout = tick;
        // All keys that are there are taken before the next frame.
        while event::poll(timeout).context("could not read the terminal")? {
            let event = event::read().context("could not read the terminal")?;
            self.times.now = self.engine.clock.timestamp();
            let effects = match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => match Key::read(key) {
                    Some(key) => self.picker.key(key, self.times.now),
                    None => Vec::new(),
                },
                Event::Paste(text) => self.picker.paste(&text),
                _ => Vec::new(),
            };
            is_dirty = true;
            if effects.iter().any(|effect| matches!(effect, Effect::Search(_))) {
                self.latency.typed();
            }
            self.carry_out(effects, screen)?;
            if self.ended.is_some() || self.picker.has_quit {
                break;
            }
            timeout = Duration::ZERO;
        }
        while let Ok(answer) = self.answers.try_recv() {
            is_dirty = true;
            let effects = self.picker.answer(answer);
            self.carry_out(effects, screen)?;
        }
        if let Some(message) = self.deleting.message() {
            is_dirty = true;
            match message {
                Ok(text) => self.picker.say(text),
                Err(text) => self.picker.fail(text),
            }
        }
        let due = self.picker.due(Some(self.engine.clock.timestamp()));
        is_dirty |= !due.is_empty();
        self.carry_out(due, screen)?;
        Ok(is_dirty)
    }

    fn ask(&self, effect: Effect) {
        let ask = match effect {
            Effect::Search(request) => Ask::Search(request),
            Effect::Page(request) => Ask::Page(request),
            _ => return,
        };
        // A thread that has ended has reported why.
        self.asks.send(ask).ok();
    }

    fn carry_out(&mut self, effects: Vec<Effect>, screen: &mut Option<Screen>) -> Result<()> {
        for effect in effects {
            match effect {
                Effect::Search(_) | Effect::Page(_) => self.ask(effect),
                Effect::Quit => self.picker.has_quit = true,
                Effect::Resume(id) => match effects::check_resume(self.engine, &id) {
                    Ok(()) => self.ended = Some(Ended::Resume(id)),
                    Err(error) => self.picker.fail(format!("{error:#}")),
                },
                Effect::Suspend => {
                    if let Some(screen) = screen {
                        screen.lend(suspend)?.context("could not stop this process")?;
                    }
                }
                Effect::Forget(handle) => self.deleting.forget(handle),
                Effect::Copy(target) => {
                    let copied = effects::text_for_prompt(self.engine, &target).and_then(|text| {
                        let environment = &self.engine.environment;
                        if let Some(screen) = screen {
                            screen
                                .write(|mut out| clipboard::write_sequence(&mut out, &text, environment))?;
                        }
                        clipboard::run_program(&text, environment);
                        Ok(backstory_text::tokens(&text))
                    });
                    self.report(copied.map(|tokens| format!("copied, about {tokens} tokens")));
                }
                Effect::SetPinned(handle, is_pinned) => {
                    let done = effects::set_pinned(self.engine, handle, is_pinned);
                    let verb = if is_pinned { "pinned" } else { "unpinned" };
                    self.report(done.map(|()| format!("{verb} {handle}")));
                    self.refresh();
                }
                Effect::Edit(handle) => {
                    if let Some(screen) = screen {
                        let edited = screen.lend(|| effects::edit(self.engine, handle))?;
                        self.report(edited);
                        self.refresh();
                    }
                }
                Effect::Open(target) => {
                    if let Some(screen) = screen {
                        let opened = screen.lend(|| effects::open(self.engine, &target))?;
                        self.report(opened);
                    }
                }
            }
        }
        Ok(())
    }

    fn report(&mut self, result: Result<String>) {
        match result {
            Ok(text) => self.picker.say(text),
            Err(error) => self.picker.fail(format!("{error:#}")),
        }
    }

    /// Searches again after a change of our own.
    fn refresh(&mut self) {
        for effect in self.picker.answer(Answer::Changed) {
            self.ask(effect);
        }
    }
}
