//! Problems of the settings, one line each.

use std::fmt;

use super::keys::SettingKey;

/// Unknown key, bad value or unreadable file, with its position and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsProblem {
    location: String,
    message: String,
    about: About,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    WholeFile,
    Key(&'static SettingKey),
    /// A name or form that no setting has, in this section if that is known.
    Unknown {
        in_section: Option<&'static str>,
    },
}

impl SettingsProblem {
    /// Returns the problem of a file that cannot be parsed.
    pub(super) fn syntax(location: String, message: &str) -> Self {
        let message = format!(
            ": not valid TOML: {}; the file is ignored until this is fixed",
            shown(message)
        );
        Self {
            location,
            message,
            about: About::WholeFile,
        }
    }

    /// Returns the problem of a bad value; `given` is the assignment, such as ` = "many"`.
    pub(super) fn value(location: String, given: &str, key: &'static SettingKey) -> Self {
        let message = format!("{given}: expected {}", key.kind);
        Self {
            location,
            message,
            about: About::Key(key),
        }
    }

    /// Returns the problem of a variable that would loosen a setting of the file.
    pub(super) fn looser(key: &'static SettingKey) -> Self {
        let message =
            format!(": ignored, because the environment can only make {key} stricter; set it in config.toml");
        Self {
            location: key.variable(),
            message,
            about: About::Key(key),
        }
    }

    /// Returns the problem of an unknown name; `known` suggests an alternative.
    pub(super) fn unknown(location: String, what: &str, known: &str) -> Self {
        Self {
            location,
            message: format!(": unknown {what}; {known}"),
            about: About::Unknown { in_section: None },
        }
    }

    /// Sets the section in which the unknown name stands.
    pub(super) fn in_section(mut self, section: Option<&'static str>) -> Self {
        self.about = About::Unknown { in_section: section };
        self
    }

    /// Returns the problem of a section that has another form.
    pub(super) fn shape(location: String, message: &str) -> Self {
        Self {
            location,
            message: format!(": {message}"),
            about: About::Unknown { in_section: None },
        }
    }

    /// Returns true if the key does not have the value that the user set.
    pub fn concerns(&self, key: &SettingKey) -> bool {
        match self.about {
            About::WholeFile => true,
            About::Key(about) => about == key,
            About::Unknown { .. } => false,
        }
    }

    /// Returns true if a setting of the section may not have the value that the user meant.
    pub fn may_concern(&self, section: &str) -> bool {
        match self.about {
            About::WholeFile | About::Unknown { in_section: None } => true,
            About::Key(key) => key.section == section,
            About::Unknown {
                in_section: Some(known),
            } => known == section,
        }
    }

    /// Returns true if the file as a whole could not be parsed.
    pub fn is_syntax(&self) -> bool {
        self.about == About::WholeFile
    }
}

impl fmt::Display for SettingsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.location, self.message)
    }
}

/// Escapes and truncates text for one line of a terminal.
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
