//! What is wrong with the settings, in a line each.

use std::fmt;

use super::keys::SettingKey;

/// One unknown key, bad value or unreadable file, with its place and a way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsProblem {
    place: String,
    message: String,
    about: About,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    WholeFile,
    Key(&'static SettingKey),
    NoKey,
}

impl SettingsProblem {
    /// Nothing in the file could be read.
    pub(super) fn syntax(place: String, message: &str) -> Self {
        let message = format!(
            ": not valid TOML: {}; nothing in the file counts until this is mended",
            shown(message)
        );
        Self {
            place,
            message,
            about: About::WholeFile,
        }
    }

    /// A known key has a bad value; `given` is how it is set, such as ` = "many"`.
    pub(super) fn value(place: String, given: &str, key: &'static SettingKey) -> Self {
        let message = format!("{given}: expected {}", key.kind);
        Self {
            place,
            message,
            about: About::Key(key),
        }
    }

    /// There is no such thing; `known` is what there is instead.
    pub(super) fn unknown(place: String, what: &str, known: &str) -> Self {
        Self {
            place,
            message: format!(": unknown {what}; {known}"),
            about: About::NoKey,
        }
    }

    /// A section is written as something else.
    pub(super) fn shape(place: String, message: &str) -> Self {
        Self {
            place,
            message: format!(": {message}"),
            about: About::NoKey,
        }
    }

    /// Says whether this key is not what somebody wanted it to be.
    pub fn concerns(&self, key: &SettingKey) -> bool {
        match self.about {
            About::WholeFile => true,
            About::Key(about) => about == key,
            About::NoKey => false,
        }
    }

    /// Says whether the file as a whole could not be read.
    pub fn is_syntax(&self) -> bool {
        self.about == About::WholeFile
    }
}

impl fmt::Display for SettingsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.message)
    }
}

/// Makes text from outside fit for a terminal: one line, no control characters, not too long.
pub(super) fn shown(text: &str) -> String {
    const MAX: usize = 80;
    let mut line = String::new();
    for (count, letter) in text.trim().chars().enumerate() {
        match letter {
            _ if count == MAX => {
                line.push('…');
                break;
            }
            letter if letter.is_control() => line.extend(letter.escape_default()),
            letter => line.push(letter),
        }
    }
    line
}
