//! What keys do to the state. Pure: effects are returned, not carried out.

use backstory_model::{Handle, Timestamp};

use super::{
    choices::{KindChoice, Menu, MenuOf, TimeChoice},
    keys::{self, Action, Key},
    query_line::QueryLine,
    row::{Row, Target},
    state::{Effect, Focus, PendingForget, Picker, UNDO_TIME},
};

impl Picker {
    /// Inserts pasted text into the query.
    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        if self.focus != Focus::Query {
            return Vec::new();
        }
        self.query.insert(text);
        self.query_changed()
    }

    pub(super) fn key(&mut self, key: Key, now: Timestamp) -> Vec<Effect> {
        self.message = None;
        match key {
            Key::Control('c') => return vec![Effect::Quit],
            Key::Control('z') => return vec![Effect::Suspend],
            Key::Help if self.focus != Focus::Help => {
                self.enter(Focus::Help);
                return Vec::new();
            }
            _ => {}
        }
        match self.focus {
            Focus::Query => self.key_in_query(key, now),
            Focus::List => self.key_in_list(key, now),
            Focus::View { .. } => self.key_in_view(key, now),
            Focus::Menu(_) => self.key_in_menu(key),
            Focus::Help => {
                self.leave();
                Vec::new()
            }
        }
    }

    fn enter(&mut self, focus: Focus) {
        let behind = std::mem::replace(&mut self.focus, focus);
        self.behind.push(behind);
    }

    fn leave(&mut self) {
        self.focus = self.behind.pop().unwrap_or(Focus::Query);
    }

    fn key_in_query(&mut self, key: Key, now: Timestamp) -> Vec<Effect> {
        let before = self.query.text().to_owned();
        match key {
            Key::Letter(letter) => self.query.insert(letter.encode_utf8(&mut [0; 4])),
            Key::Backspace => self.query.backspace(),
            Key::Delete | Key::Control('d') => self.query.delete(),
            Key::Control('w') => self.query.delete_word(),
            Key::Control('u') => self.query.delete_to_start(),
            Key::Control('k') => self.query.delete_to_end(),
            Key::Left | Key::Control('b') => self.query.left(),
            Key::Right | Key::Control('f') => self.query.right(),
            Key::Home | Key::Control('a') => self.query.home(),
            Key::End | Key::Control('e') => self.query.end(),
            Key::Tab => self.focus = Focus::List,
            Key::Escape if before.is_empty() => return vec![Effect::Quit],
            Key::Escape => self.query = QueryLine::default(),
            Key::Alt(letter) => return self.act(letter, now),
            key => return self.move_or_show(key),
        }
        if self.query.text() == before {
            Vec::new()
        } else {
            self.query_changed()
        }
    }

    fn query_changed(&mut self) -> Vec<Effect> {
        self.selected = 0;
        vec![self.search()]
    }

    fn key_in_list(&mut self, key: Key, now: Timestamp) -> Vec<Effect> {
        match key {
            Key::Letter('q') => vec![Effect::Quit],
            Key::Letter('?') => {
                self.enter(Focus::Help);
                Vec::new()
            }
            Key::Letter('/' | 'i') | Key::Tab | Key::Escape => {
                self.focus = Focus::Query;
                Vec::new()
            }
            Key::Letter('j') => self.move_or_show(Key::Down),
            Key::Letter('k') => self.move_or_show(Key::Up),
            Key::Letter('g') | Key::Home => self.select(0),
            Key::Letter('G') | Key::End => self.select(usize::MAX),
            Key::Letter(letter) | Key::Alt(letter) => self.act(letter, now),
            key => self.move_or_show(key),
        }
    }

    /// Handles the keys that mean the same while typing and in the list.
    fn move_or_show(&mut self, key: Key) -> Vec<Effect> {
        let page = self.list_height.saturating_sub(1).max(1);
        match key {
            Key::Up | Key::Control('p') => self.select(self.selected.saturating_sub(1)),
            Key::Down | Key::Control('n') => self.select(self.selected.saturating_add(1)),
            Key::PageUp => self.select(self.selected.saturating_sub(page)),
            Key::PageDown => self.select(self.selected.saturating_add(page)),
            Key::Enter if !self.rows.is_empty() => {
                self.enter(Focus::View { scroll: 0 });
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn select(&mut self, at: usize) -> Vec<Effect> {
        self.selected = at.min(self.rows.len().saturating_sub(1));
        self.want_page()
    }

    fn key_in_view(&mut self, key: Key, now: Timestamp) -> Vec<Effect> {
        let lines = self.selected_page().map_or(0, <[_]>::len);
        let last = lines.saturating_sub(self.view_height);
        let page = self.view_height.saturating_sub(1).max(1);
        let Focus::View { scroll } = &mut self.focus else {
            return Vec::new();
        };
        match key {
            Key::Escape | Key::Enter | Key::Letter('q' | 'h') | Key::Left => self.leave(),
            Key::Up | Key::Letter('k') => *scroll = scroll.saturating_sub(1),
            Key::Down | Key::Letter('j') => *scroll = (*scroll + 1).min(last),
            Key::PageUp | Key::Control('b') | Key::Letter('b') => *scroll = scroll.saturating_sub(page),
            Key::PageDown | Key::Control('f') | Key::Letter(' ') => *scroll = (*scroll + page).min(last),
            Key::Home | Key::Letter('g') => *scroll = 0,
            Key::End | Key::Letter('G') => *scroll = last,
            Key::Letter('n') | Key::Control('n') => return self.turn_page(1),
            Key::Letter('N') | Key::Control('p') => return self.turn_page(-1),
            Key::Letter('?') => self.enter(Focus::Help),
            Key::Letter(letter) | Key::Alt(letter) => return self.act(letter, now),
            _ => {}
        }
        Vec::new()
    }

    /// Shows the next or the previous row in the view.
    fn turn_page(&mut self, step: isize) -> Vec<Effect> {
        self.focus = Focus::View { scroll: 0 };
        self.select(self.selected.saturating_add_signed(step))
    }

    fn key_in_menu(&mut self, key: Key) -> Vec<Effect> {
        let Focus::Menu(menu) = &mut self.focus else {
            return Vec::new();
        };
        match key {
            Key::Up | Key::Letter('k') | Key::Control('p') => menu.up(),
            Key::Down | Key::Letter('j') | Key::Tab | Key::Control('n') => menu.down(),
            Key::Escape | Key::Letter('q') => self.leave(),
            Key::Enter => {
                let (of, at) = (menu.of, menu.selected);
                self.leave();
                match of {
                    MenuOf::Scope => self.scope = self.scopes[at].0,
                    MenuOf::Kind => self.kind = KindChoice::all()[at],
                    MenuOf::Time => self.time = TimeChoice::ALL[at],
                }
                return self.query_changed();
            }
            Key::Letter(letter) | Key::Alt(letter) => menu.jump(letter),
            _ => {}
        }
        Vec::new()
    }

    fn menu(&mut self, of: MenuOf) {
        let (labels, selected): (Vec<String>, Option<usize>) = match of {
            MenuOf::Scope => (
                self.scopes.iter().map(|(_, label)| label.clone()).collect(),
                self.scopes.iter().position(|(scope, _)| *scope == self.scope),
            ),
            MenuOf::Kind => (
                KindChoice::all()
                    .iter()
                    .map(|kind| kind.label().to_owned())
                    .collect(),
                KindChoice::all().iter().position(|kind| *kind == self.kind),
            ),
            MenuOf::Time => (
                TimeChoice::ALL
                    .iter()
                    .map(|time| time.label().to_owned())
                    .collect(),
                TimeChoice::ALL.iter().position(|time| *time == self.time),
            ),
        };
        self.enter(Focus::Menu(Menu {
            of,
            labels,
            selected: selected.unwrap_or(0),
        }));
    }

    /// Carries out the action of a letter.
    fn act(&mut self, letter: char, now: Timestamp) -> Vec<Effect> {
        let Some(action) = keys::action(letter) else {
            return Vec::new();
        };
        match action {
            Action::Scope => self.menu(MenuOf::Scope),
            Action::Kind => self.menu(MenuOf::Kind),
            Action::Time => self.menu(MenuOf::Time),
            Action::Undo => return self.undo(),
            Action::Copy | Action::Resume | Action::Pin | Action::Edit | Action::Forget | Action::Open => {
                if let Some(row) = self.selected_row().cloned() {
                    return self.act_on(action, row, now);
                }
            }
        }
        Vec::new()
    }

    fn act_on(&mut self, action: Action, row: Row, now: Timestamp) -> Vec<Effect> {
        let effect = match (action, row.target) {
            (Action::Copy, target) => Effect::Copy(target),
            (Action::Open, target) => Effect::Open(target),
            (Action::Resume, _) => match row.session {
                Some(session) => Effect::Resume(session),
                None => {
                    self.fail("this memory belongs to no session");
                    return Vec::new();
                }
            },
            (Action::Pin, Target::Memory(handle)) => Effect::SetPinned(handle, !row.is_pinned),
            (Action::Edit, Target::Memory(handle)) => Effect::Edit(handle),
            (Action::Forget, Target::Memory(handle)) => {
                self.forget(handle, row.title, now);
                return self.want_page();
            }
            (Action::Forget, Target::Session(id)) => {
                self.fail(format!("a whole session: backstory forget --session {id}"));
                return Vec::new();
            }
            _ => {
                self.fail("a session cannot be pinned or edited; its memories can");
                return Vec::new();
            }
        };
        vec![effect]
    }

    /// Takes a memory off the list and marks it for deletion.
    fn forget(&mut self, handle: Handle, title: String, now: Timestamp) {
        if matches!(self.focus, Focus::View { .. }) {
            self.leave();
        }
        self.pending.push(PendingForget {
            handle,
            title,
            due: now + UNDO_TIME,
        });
        self.rows.retain(|row| row.target != Target::Memory(handle));
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
    }

    /// Keeps the memory that was marked last.
    fn undo(&mut self) -> Vec<Effect> {
        match self.pending.pop() {
            Some(kept) => {
                self.say(format!("kept: {}", kept.title));
                vec![self.search()]
            }
            None => {
                self.say("nothing to undo");
                Vec::new()
            }
        }
    }
}
