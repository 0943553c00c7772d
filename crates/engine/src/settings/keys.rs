//! Table of all keys: name, section and accepted values.

use std::fmt;

use backstory_model::ObservationType;

use super::suggest;

/// Key of a setting.
#[derive(Debug, PartialEq, Eq)]
pub struct SettingKey {
    /// Section of `config.toml`.
    pub section: &'static str,
    /// Name within the section.
    pub name: &'static str,
    /// Accepted values.
    pub kind: Kind,
    /// Power of the environment over the file.
    pub overrides: Overrides,
    /// True if a signed-in browser cannot change it: the setting decides where data goes or what is recorded.
    pub is_guarded: bool,
}

/// Power of an environment variable over the value of the file.
///
/// Variables can come from the project in which an agent works. They must not undo what the user decided for all projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overrides {
    /// Replaces the value.
    Any,
    /// Can set this value only.
    Only(&'static str),
    /// Adds to the list.
    Adds,
    /// Can only lower the number.
    Lowers,
}

/// Accepted values of a key; its display form completes the sentence "expected …".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// `on` or `off`.
    OnOff,
    /// A whole number within bounds.
    Number {
        /// Minimum.
        min: u32,
        /// Maximum.
        max: u32,
    },
    /// Zero for "no limit", or a whole number within bounds.
    Limit {
        /// Minimum.
        min: u32,
        /// Maximum.
        max: u32,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A string, possibly empty.
    Text,
    /// An HTTP address, possibly empty.
    Address,
    /// The name of an environment variable, possibly empty.
    Variable,
    /// The IANA name of a time zone, possibly empty.
    TimeZone,
    /// A loopback address.
    Loopback,
    /// Any number of strings.
    List,
    /// Any number of prices.
    Prices,
    /// At least one of these words.
    ListOf(&'static [&'static str]),
}

/// All keys, in the order of `defaults.toml`.
pub static KEYS: &[SettingKey] = &[
    key("capture", "skip_tools", Kind::List).overridden(Overrides::Adds),
    key("capture", "exclude", Kind::List)
        .overridden(Overrides::Adds)
        .guarded(),
    key("capture", "max_payload_kb", Kind::Number { min: 16, max: 16_384 }).overridden(Overrides::Lowers),
    key("capture", "redact", Kind::Flag)
        .overridden(Overrides::Only("true"))
        .guarded(),
    key("capture", "durability", Kind::Choice(&["normal", "full"])).overridden(Overrides::Only("full")),
    key(
        "distill",
        "provider",
        Kind::Choice(&["builtin", "claude-cli", "anthropic", "openai"]),
    )
    .guarded(),
    key("distill", "model", Kind::Text),
    key("distill", "base_url", Kind::Address).guarded(),
    key("distill", "api_key_env", Kind::Variable).guarded(),
    key("distill", "api_key_file", Kind::Text).guarded(),
    key(
        "distill",
        "daily_tokens",
        Kind::Number {
            min: 0,
            max: 1_000_000_000,
        },
    ),
    key(
        "distill",
        "session_tokens",
        Kind::Number {
            min: 0,
            max: 1_000_000_000,
        },
    ),
    key("distill", "prices", Kind::Prices),
    key("distill", "concurrency", Kind::Number { min: 1, max: 8 }),
    key(
        "distill",
        "max_input_tokens",
        Kind::Number {
            min: 500,
            max: 200_000,
        },
    ),
    key("context", "observations", Kind::Number { min: 1, max: 200 }),
    key("context", "team_percent", Kind::Number { min: 0, max: 100 }),
    key("context", "sessions", Kind::Number { min: 1, max: 50 }),
    key("context", "full", Kind::Number { min: 0, max: 20 }),
    key("context", "full_field", Kind::Choice(&["narrative", "facts"])),
    key("context", "types", Kind::ListOf(&ObservationType::NAMES)),
    key("context", "concepts", Kind::List),
    key("context", "budget_tokens", Kind::Number { min: 200, max: 9_000 }),
    key("context", "prompt_tokens", Kind::Number { min: 50, max: 2_000 }),
    key("context", "on_start", Kind::Flag),
    key("context", "on_prompt", Kind::Flag),
    key("context", "on_file", Kind::Flag),
    key("context", "on_error", Kind::Flag),
    key("context", "withhold", Kind::Number { min: 0, max: 50 }),
    key("recall", "guard", Kind::Choice(&["off", "warn", "ask"])).overridden(Overrides::Only("ask")),
    key("mcp", "all_projects", Kind::Flag)
        .overridden(Overrides::Only("false"))
        .guarded(),
    key("worker", "idle_minutes", Kind::Number { min: 1, max: 1_440 }),
    key("worker", "http", Kind::OnOff),
    key("http", "bind", Kind::Loopback),
    key("http", "port", Kind::Number { min: 0, max: 65_535 }),
    key("retention", "passages_days", Kind::Number { min: 0, max: 36_500 }),
    key(
        "retention",
        "max_db_mb",
        Kind::Limit {
            min: 64,
            max: 1_048_576,
        },
    ),
    key("retention", "backups", Kind::Number { min: 0, max: 365 }),
    key("team", "name", Kind::Text).guarded(),
    key(
        "team",
        "share_mode",
        Kind::Choice(&["off", "manual", "review", "auto"]),
    )
    .overridden(Overrides::Only("off"))
    .guarded(),
    key("team", "share_summaries", Kind::Flag)
        .overridden(Overrides::Only("false"))
        .guarded(),
    key("ui", "timezone", Kind::TimeZone),
    key("ui", "receipts", Kind::Choice(&["start", "all", "off"])),
];

const fn key(section: &'static str, name: &'static str, kind: Kind) -> SettingKey {
    SettingKey {
        section,
        name,
        kind,
        overrides: Overrides::Any,
        is_guarded: false,
    }
}

/// Returns the names of the sections, in order.
pub fn section_names() -> Vec<&'static str> {
    let mut names: Vec<_> = KEYS.iter().map(|key| key.section).collect();
    names.dedup();
    names
}

impl SettingKey {
    const fn overridden(mut self, overrides: Overrides) -> Self {
        self.overrides = overrides;
        self
    }

    const fn guarded(mut self) -> Self {
        self.is_guarded = true;
        self
    }

    /// Finds a key by its full name, such as `context.full`.
    pub fn named(full: &str) -> Option<&'static Self> {
        let (section, name) = full.split_once('.')?;
        Self::at(section, name)
    }

    /// Finds a key by its section and its name.
    pub fn at(section: &str, name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.section == section && key.name == name)
    }

    /// Returns the most similar key; prefers the same section.
    pub fn nearest(section: Option<&str>, name: &str) -> Option<&'static Self> {
        KEYS.iter()
            .filter_map(|key| {
                let elsewhere = section.is_some_and(|section| section != key.section);
                suggest::edit_similarity(key.name, name).map(|far| (far + usize::from(elsewhere), key))
            })
            .min_by_key(|(far, _)| *far)
            .map(|(_, key)| key)
    }

    /// Returns the environment variable that overrides the key.
    pub fn variable(&self) -> String {
        // Hooks need a dozen names, and `format` takes several times as many instructions.
        let mut name = ["BACKSTORY_", self.section, "_", self.name].concat();
        name.make_ascii_uppercase();
        name
    }
}

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.section, self.name)
    }
}

impl Kind {
    /// Returns true if the key takes several values.
    pub const fn is_list(self) -> bool {
        matches!(self, Self::List | Self::Prices | Self::ListOf(_))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("true or false"),
            Self::OnOff => f.write_str("on or off"),
            Self::Number { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Limit { min, max } => write!(f, "0, or a whole number from {min} to {max}"),
            Self::Choice(words) => match words {
                [init @ .., last] if !init.is_empty() => write!(f, "{} or {last}", init.join(", ")),
                _ => f.write_str(&words.join(", ")),
            },
            Self::Text => f.write_str("a string, or empty"),
            Self::Address => f.write_str("an address that starts with http:// or https://, or empty"),
            Self::Variable => {
                f.write_str("the name of an environment variable (not the key itself), or empty")
            }
            Self::TimeZone => f.write_str("a time zone such as Europe/Berlin, or empty"),
            Self::Loopback => f.write_str(
                "127.0.0.1 or another loopback address (for access from other machines, use a reverse proxy with TLS and a login)",
            ),
            Self::List => f.write_str("a list of strings"),
            Self::Prices => f.write_str("a list of prices such as gpt-5-mini=0.25/2"),
            Self::ListOf(words) => write!(f, "a list with at least one of {}", words.join(", ")),
        }
    }
}
