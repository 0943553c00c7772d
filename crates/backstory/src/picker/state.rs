//! The state of the picker, and what answers do to it. Pure: no terminal, no store, no clock.
//!
//! `input` changes it by keys. Changes return effects, which the session carries out. Rows stay on the screen until the
//! answer to the newest request arrives, so that nothing flickers while the user types.

use std::time::Duration;

use backstory_model::{Handle, Timestamp};
use ratatui_core::text::Line;

use super::{
    choices::{KindChoice, Menu, ScopeChoice, TimeChoice},
    query_line::QueryLine,
    row::{Row, Target},
    search::{Answer, PageRequest, Place, SearchRequest},
};

/// The time in which a deletion can be undone.
pub(super) const UNDO_TIME: Duration = Duration::from_secs(8);

/// What the keys act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    /// Letters go into the query.
    Query,
    /// Letters are actions.
    List,
    /// The page of the selected row, scrolled by some lines.
    View {
        scroll: usize,
    },
    Menu(Menu),
    Help,
}

/// What the caller has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Search(SearchRequest),
    Page(PageRequest),
    Copy(Target),
    Resume(String),
    SetPinned(Handle, bool),
    Edit(Handle),
    Forget(Handle),
    Open(Target),
    Suspend,
    Quit,
}

/// A memory that will be deleted unless the user undoes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingForget {
    pub(super) handle: Handle,
    pub(super) title: String,
    /// The time of the deletion.
    pub(super) due: Timestamp,
}

/// A line for the user, until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) text: String,
    pub(super) is_error: bool,
}

#[derive(Debug)]
pub(super) struct Picker {
    pub(super) query: QueryLine,
    pub(super) focus: Focus,
    /// The focus behind a menu, the view or the help.
    pub(super) behind: Vec<Focus>,
    pub(super) scopes: Vec<(ScopeChoice, String)>,
    pub(super) scope: ScopeChoice,
    pub(super) kind: KindChoice,
    pub(super) time: TimeChoice,
    pub(super) rows: Vec<Row>,
    pub(super) selected: usize,
    pub(super) took: Option<Duration>,
    pub(super) message: Option<Message>,
    pub(super) pending: Vec<PendingForget>,
    /// Forgotten in this run: a search that was under way may still find them.
    forgotten: Vec<Handle>,
    pub(super) page: Option<(PageRequest, Vec<Line<'static>>)>,
    /// The width for which pages are made: that of the preview or of the view.
    pub(super) page_width: u16,
    /// The rows of the list and of the view, for paging.
    pub(super) list_height: usize,
    pub(super) view_height: usize,
    asked: u64,
    answered: u64,
    /// The request for a page that is under way.
    wanted: Option<PageRequest>,
    pub(super) has_quit: bool,
}

impl Picker {
    pub(super) fn new(place: &Place, text: String) -> Self {
        let mut scopes = Vec::new();
        if let Some(project) = &place.project {
            scopes.push((ScopeChoice::Project, project.name.clone()));
            if let Some(branch) = &place.branch {
                scopes.push((ScopeChoice::Branch, format!("branch {branch}")));
            }
        }
        scopes.push((ScopeChoice::All, "all projects".to_owned()));
        Self {
            query: QueryLine::new(text),
            focus: Focus::Query,
            behind: Vec::new(),
            scope: scopes[0].0,
            scopes,
            kind: KindChoice::Everything,
            time: TimeChoice::Any,
            rows: Vec::new(),
            selected: 0,
            took: None,
            message: None,
            pending: Vec::new(),
            forgotten: Vec::new(),
            page: None,
            page_width: 0,
            list_height: 1,
            view_height: 1,
            asked: 0,
            answered: 0,
            wanted: None,
            has_quit: false,
        }
    }

    /// Returns the name of the scope.
    pub(super) fn scope_label(&self) -> &str {
        let found = self.scopes.iter().find(|(scope, _)| *scope == self.scope);
        found.map_or("", |(_, label)| label)
    }

    pub(super) fn selected_row(&self) -> Option<&Row> {
        self.rows.get(self.selected)
    }

    /// Reports whether an answer is due.
    pub(super) fn is_waiting(&self) -> bool {
        self.answered < self.asked || self.wanted.is_some()
    }

    /// Reports whether the rows are those of the newest search.
    pub(super) fn has_newest_rows(&self) -> bool {
        self.answered == self.asked
    }

    /// Returns the page of the selected row, if it has been read.
    pub(super) fn selected_page(&self) -> Option<&[Line<'static>]> {
        let target = &self.selected_row()?.target;
        let (of, lines) = self.page.as_ref()?;
        (of.target == *target).then_some(lines)
    }

    /// Starts a search with the current query and filters.
    pub(super) fn search(&mut self) -> Effect {
        self.asked += 1;
        Effect::Search(SearchRequest {
            number: self.asked,
            text: self.query.text().to_owned(),
            scope: self.scope,
            kind: self.kind,
            time: self.time,
        })
    }

    /// Takes an answer of the search thread. Answers to older requests than the last answered one are ignored.
    pub(super) fn answer(&mut self, answer: Answer) -> Vec<Effect> {
        match answer {
            Answer::Rows { number, rows, took } => {
                if number <= self.answered {
                    return Vec::new();
                }
                self.answered = number;
                self.took = Some(took);
                self.set_rows(rows);
                self.want_page()
            }
            Answer::Page { of, lines } => {
                if self.wanted.as_ref() == Some(&of) {
                    self.wanted = None;
                }
                self.page = Some((of, lines));
                Vec::new()
            }
            Answer::Changed => {
                self.page = None;
                vec![self.search()]
            }
            Answer::Failed(text) => {
                self.fail(text);
                Vec::new()
            }
        }
    }

    /// Replaces the rows; the selection stays on its row if the query did not change the list around it.
    fn set_rows(&mut self, mut rows: Vec<Row>) {
        let is_gone = |row: &Row| match &row.target {
            Target::Memory(handle) => self.is_going(*handle),
            Target::Session(_) => false,
        };
        rows.retain(|row| !is_gone(row));
        let kept = self
            .selected_row()
            .filter(|_| self.selected > 0)
            .and_then(|old| rows.iter().position(|row| row.target == old.target));
        self.rows = rows;
        self.selected = kept.unwrap_or(0);
    }

    fn is_going(&self, handle: Handle) -> bool {
        self.forgotten.contains(&handle) || self.pending.iter().any(|pending| pending.handle == handle)
    }

    /// Asks for the page of the selected row, unless it is there or under way.
    pub(super) fn want_page(&mut self) -> Vec<Effect> {
        let Some(row) = self.rows.get(self.selected) else {
            return Vec::new();
        };
        let request = PageRequest {
            target: row.target.clone(),
            width: self.page_width,
        };
        let is_known = self.page.as_ref().is_some_and(|(of, _)| *of == request);
        if self.page_width == 0 || is_known || self.wanted.as_ref() == Some(&request) {
            return Vec::new();
        }
        self.wanted = Some(request.clone());
        vec![Effect::Page(request)]
    }

    /// Sets a message.
    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message {
            text: text.into(),
            is_error: false,
        });
    }

    /// Sets an error message.
    pub(super) fn fail(&mut self, text: impl Into<String>) {
        self.message = Some(Message {
            text: text.into(),
            is_error: true,
        });
    }

    /// Deletes what is due, or everything that is pending at the end.
    pub(super) fn due(&mut self, now: Option<Timestamp>) -> Vec<Effect> {
        let is_due = |pending: &PendingForget| now.is_none_or(|now| pending.due <= now);
        let (due, rest): (Vec<_>, Vec<_>) = self.pending.drain(..).partition(is_due);
        self.pending = rest;
        self.forgotten.extend(due.iter().map(|pending| pending.handle));
        due.iter().map(|pending| Effect::Forget(pending.handle)).collect()
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
