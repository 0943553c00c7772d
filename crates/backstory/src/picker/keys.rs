//! The keys: one table from which the dispatch, the footer and the help are made.
//!
//! Letters belong to the query. An action has a letter that works in the list and in the full view; with Alt it works while
//! typing, too. Keys that a terminal cannot tell apart (Ctrl-I and Tab, Ctrl-M and Enter) are not used.

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Acts on the selected row or on the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Copy,
    Resume,
    Pin,
    Edit,
    Forget,
    Undo,
    Open,
    Scope,
    Kind,
    Time,
}

/// A row of the table.
pub(super) struct Binding {
    pub(super) letter: char,
    pub(super) action: Action,
    /// Shown in the footer.
    pub(super) name: &'static str,
    /// Shown in the help.
    pub(super) help: &'static str,
}

pub(super) const BINDINGS: [Binding; 10] = [
    binding('y', Action::Copy, "copy", "copy it for a prompt"),
    binding('r', Action::Resume, "resume", "continue its session in its agent"),
    binding('p', Action::Pin, "pin", "pin or unpin it"),
    binding('e', Action::Edit, "edit", "edit it in $EDITOR"),
    binding(
        'x',
        Action::Forget,
        "forget",
        "delete it permanently, after a few seconds",
    ),
    binding('u', Action::Undo, "undo", "keep what was to be deleted"),
    binding('o', Action::Open, "open", "open it in the viewer"),
    binding(
        's',
        Action::Scope,
        "scope",
        "search this project, this branch or all",
    ),
    binding(
        't',
        Action::Kind,
        "type",
        "show only sessions, hand-overs or one type",
    ),
    binding('d', Action::Time, "date", "show only recent ones"),
];

const fn binding(letter: char, action: Action, name: &'static str, help: &'static str) -> Binding {
    Binding {
        letter,
        action,
        name,
        help,
    }
}

/// Finds the action of a letter.
pub(super) fn action(letter: char) -> Option<Action> {
    let letter = letter.to_ascii_lowercase();
    let found = BINDINGS.iter().find(|binding| binding.letter == letter);
    found.map(|binding| binding.action)
}

/// A key without the differences between terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Letter(char),
    Alt(char),
    Control(char),
    Enter,
    Escape,
    Tab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Help,
}

impl Key {
    /// Reads a key event; `None` for keys that mean nothing here.
    pub(super) fn read(event: KeyEvent) -> Option<Self> {
        let has = |modifier| event.modifiers.contains(modifier);
        Some(match event.code {
            // Backspace with Ctrl or Alt deletes a word, as in a shell.
            KeyCode::Backspace if has(KeyModifiers::CONTROL) || has(KeyModifiers::ALT) => Self::Control('w'),
            KeyCode::Char(letter) if has(KeyModifiers::CONTROL) => Self::Control(letter.to_ascii_lowercase()),
            KeyCode::Char(letter) if has(KeyModifiers::ALT) => Self::Alt(letter),
            KeyCode::Char(letter) => Self::Letter(letter),
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Escape,
            KeyCode::Tab | KeyCode::BackTab => Self::Tab,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Delete => Self::Delete,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            KeyCode::F(1) => Self::Help,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_has_one_action() {
        for (at, binding) in BINDINGS.iter().enumerate() {
            assert_eq!(action(binding.letter), Some(binding.action));
            assert!(
                BINDINGS[at + 1..]
                    .iter()
                    .all(|other| other.letter != binding.letter)
            );
        }
        // Moving and leaving in the list.
        assert!("jkgqi/?".chars().all(|letter| action(letter).is_none()));
    }
}
