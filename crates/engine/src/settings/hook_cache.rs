//! Settings in a form that a hook reads in microseconds: the sections `SECTIONS`.
//!
//! A hook must not parse TOML. It takes the [`Stamp`] of `config.toml`, reads the cache next to it and decodes the section it
//! needs; only when that fails does it parse the file and renew the cache. The stamp is taken before the file is read: if
//! the file changes in between, the next hook sees another stamp and reads it again.
//!
//! A mistake in the file must not turn `capture.exclude` off: the cache then keeps the capture settings of the last valid file,
//! and says so ([`Validity`]).
//!
//! The cache holds the values of the file and the defaults. The environment differs between hooks, so [`overlay`] applies
//! it afterwards. Keys come from [`KEYS`]: a new setting needs no change here.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::UNIX_EPOCH;

use backstory_text::hash64;
use toml::{Table, Value};

use super::keys::{KEYS, Kind, SettingKey};
use super::resolve::{SettingEntry, from_variable};
use super::value::overridden;
use super::{Capture, ContextSettings, DEFAULTS, RecallSettings, Ui, to_words};

/// A section of settings that hooks use.
pub trait HookSection: Default + serde::de::DeserializeOwned {
    /// Name in `config.toml`.
    const NAME: &str;

    /// Builds the section from a table in which every key is present; `None` if a value is not valid.
    fn from_table(table: Table) -> Option<Self> {
        Self::deserialize(table).ok()
    }
}

impl HookSection for Capture {
    const NAME: &str = "capture";
}

impl HookSection for ContextSettings {
    const NAME: &str = "context";
}

impl HookSection for RecallSettings {
    const NAME: &str = "recall";
}

impl HookSection for Ui {
    const NAME: &str = "ui";
}

/// Sections in the cache.
const SECTIONS: [&str; 4] = [
    Capture::NAME,
    ContextSettings::NAME,
    RecallSettings::NAME,
    Ui::NAME,
];

/// Identifies a version of `config.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Time of the last change, in nanoseconds since 1970.
    pub mtime_ns: u128,
    /// Size in bytes.
    pub size: u64,
}

impl Stamp {
    /// Returns the stamp of an existing file; the caller follows links (`fs::metadata`).
    pub fn of(file: &Metadata) -> Self {
        // Without file times, or with a time before 1970, the size has to do.
        let since_1970 = file
            .modified()
            .ok()
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Self {
            mtime_ns: since_1970.unwrap_or_default().as_nanos(),
            size: file.len(),
        }
    }

    /// Stamp of a file that does not exist.
    pub const NO_FILE: Self = Self { mtime_ns: 0, size: 0 };

    /// Stamp of a file that exists but cannot be examined, such as a broken link.
    pub const UNREADABLE: Self = Self { mtime_ns: 1, size: 0 };

    /// Returns the stamp of the file at a path; `None` if it cannot be read.
    pub fn of_file(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|file| Self::of(&file))
    }
}

/// Changes with the format and with every default, so that a new version never uses an old version's cache.
const VERSION: u64 = hash64(DEFAULTS.as_bytes());

/// Returns the keys of a section.
fn keys(section: &str) -> impl Iterator<Item = &'static SettingKey> {
    KEYS.iter().filter(move |key| key.section == section)
}

/// Returns the variables that override a section.
pub fn variables(section: &str) -> impl Iterator<Item = String> {
    keys(section).map(SettingKey::variable)
}

/// Origin of the capture settings in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// The file.
    Valid,
    /// The last valid file: the present one has a mistake.
    LastValid,
    /// The defaults: the file has a mistake, and no earlier one is known.
    Unknown,
}

impl Validity {
    const ALL: [Self; 3] = [Self::Valid, Self::LastValid, Self::Unknown];

    const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::LastValid => "last-valid",
            Self::Unknown => "unknown",
        }
    }
}

/// Encodes the cache.
pub fn encode(entries: &[SettingEntry], stamp: Stamp, validity: Validity) -> String {
    let mut text = head(stamp);
    text.push_str(&format!("validity={}\n", validity.name()));
    for SettingEntry { key, value, .. } in entries {
        if SECTIONS.contains(&key.section) {
            for word in to_words(value) {
                text.push_str(&format!("{key}={}\n", escape(&word)));
            }
        }
    }
    // Protects against damage, not against users, who could as well edit `config.toml`.
    let sum = hash64(text.as_bytes());
    text.push_str(&format!("end={sum:016x}\n"));
    text
}

/// Decodes a section of the cache; `None` if it belongs to another file or another version, or is damaged.
pub fn decode(text: &str, stamp: Stamp, section: &str) -> Option<(Table, Validity)> {
    text.starts_with(&head(stamp))
        .then(|| decode_any(text, section))
        .flatten()
}

/// Decodes a section of the cache of any file; `None` if it belongs to another version or is damaged.
pub fn decode_any(text: &str, section: &str) -> Option<(Table, Validity)> {
    let (first, body) = text.split_once('\n')?;
    if !first.starts_with(&format!("{FORMAT} {VERSION:016x} ")) {
        return None;
    }
    let (body, end) = body.split_at_checked(body.rfind("end=")?)?;
    let sum = hash64(&text.as_bytes()[..text.len() - end.len()]);
    if end != format!("end={sum:016x}\n") {
        return None;
    }
    let of_section = body
        .lines()
        .filter_map(|line| line.strip_prefix(section)?.strip_prefix('.')?.split_once('='));
    let lines: Vec<(&str, &str)> = of_section.collect();
    let mut table = Table::new();
    for key in keys(section) {
        let words = lines.iter().filter(|(name, _)| *name == key.name);
        let words = words.map(|(_, word)| unescape(word)).collect::<Option<_>>()?;
        table.insert(key.name.to_owned(), from_plain(key.kind, words)?);
    }
    let validity = body.lines().next()?.strip_prefix("validity=")?;
    let validity = Validity::ALL.into_iter().find(|known| known.name() == validity)?;
    Some((table, validity))
}

/// Returns the value that [`to_words`] turned into these words.
fn from_plain(kind: Kind, words: Vec<String>) -> Option<Value> {
    if kind.is_list() {
        return Some(Value::from(words));
    }
    let [word] = &words[..] else {
        return None;
    };
    Some(match kind {
        Kind::Flag => Value::Boolean(word.parse().ok()?),
        Kind::Number { .. } | Kind::Limit { .. } => Value::Integer(word.parse().ok()?),
        _ => Value::from(word.as_str()),
    })
}

/// Applies environment variables to a section; an invalid one, and one that would loosen the section, is ignored.
pub fn overlay(table: &mut Table, section: &str, env: &[(String, String)]) {
    for (variable, text) in env {
        if let Some(key) = keys(section).find(|key| key.variable() == *variable)
            && let Ok(Some(value)) = from_variable(key.kind, text)
            && let Some(file) = table.get(key.name)
            && let Some(value) = overridden(key.overrides, file, value)
        {
            table.insert(key.name.to_owned(), value);
        }
    }
}

fn head(Stamp { mtime_ns, size }: Stamp) -> String {
    format!("{FORMAT} {VERSION:016x} {mtime_ns} {size}\n")
}

const FORMAT: &str = "backstory-hook-settings 2";

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            letter => letter,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::settings::{SettingSource, Settings, resolve};

    const STAMP: Stamp = Stamp {
        mtime_ns: 1_763_200_000_123_456_789,
        size: 412,
    };

    /// Returns values of every kind that the two sections have. Lists hold any text.
    fn any_entries() -> impl Strategy<Value = Vec<SettingEntry>> {
        let lists = prop::collection::vec(prop::collection::vec(any::<String>(), 0..5), KEYS.len());
        (lists, any::<u32>(), any::<bool>()).prop_map(|(lists, number, flag)| {
            let entry = |(key, list): (&'static SettingKey, Vec<String>)| SettingEntry {
                key,
                value: match key.kind {
                    Kind::List => Value::from(list),
                    Kind::ListOf(words) => Value::from(words[..2].to_vec()),
                    Kind::Choice(words) => Value::from(words[usize::from(flag)]),
                    Kind::Number { .. } => Value::from(number),
                    Kind::Flag => Value::from(flag),
                    _ => Value::from("text"),
                },
                source: SettingSource::Default,
            };
            KEYS.iter().zip(lists).map(entry).collect()
        })
    }

    fn table_of(entries: &[SettingEntry], section: &str) -> Table {
        let entries = entries.iter().filter(|entry| entry.key.section == section);
        entries
            .map(|entry| (entry.key.name.to_owned(), entry.value.clone()))
            .collect()
    }

    #[test]
    fn without_a_file_the_defaults_apply() {
        let all = Settings::default();
        assert_eq!(Capture::default(), all.capture);
        assert_eq!(ContextSettings::default(), all.context);
        assert_eq!(RecallSettings::default(), all.recall);
        assert_eq!(Ui::default(), all.ui);
    }

    proptest! {
        #[test]
        fn encoding_round_trips(entries in any_entries(), mtime_ns: u128, size: u64) {
            let stamp = Stamp { mtime_ns, size };
            let text = encode(&entries, stamp, Validity::LastValid);
            for section in SECTIONS {
                prop_assert_eq!(decode(&text, stamp, section), Some((table_of(&entries, section), Validity::LastValid)));
            }
        }

        #[test]
        fn a_damaged_cache_yields_nothing(entries in any_entries(), at: prop::sample::Index, byte: u8) {
            let whole = encode(&entries, STAMP, Validity::Valid);
            let at = at.index(whole.len());
            let mut bytes = whole.clone().into_bytes();
            bytes[at] = byte;
            if let Ok(damaged) = String::from_utf8(bytes) {
                prop_assert_eq!(decode(&damaged, STAMP, "capture").is_some(), damaged == whole);
            }
            if let Some(torn) = whole.get(..at) {
                prop_assert_eq!(decode(torn, STAMP, "capture"), None);
            }
            prop_assert_eq!(decode(&format!("{whole}x"), STAMP, "capture"), None);
        }

        #[test]
        fn no_text_makes_it_panic(text: String) {
            prop_assert_eq!(decode(&text, STAMP, "capture"), None);
            prop_assert_eq!(decode(&format!("{}{text}", head(STAMP)), STAMP, "context"), None);
        }
    }

    #[test]
    fn a_cache_of_another_file_yields_nothing() {
        let entries = resolve("config.toml".as_ref(), None, &[]).entries;
        let text = encode(&entries, STAMP, Validity::Valid);
        let others = [
            Stamp { size: 413, ..STAMP },
            Stamp {
                mtime_ns: STAMP.mtime_ns + 1,
                ..STAMP
            },
        ];
        for other in others {
            assert_eq!(decode(&text, other, "capture"), None);
        }
        assert!(decode(&text, STAMP, "capture").is_some());
    }

    #[test]
    fn a_changed_file_has_another_stamp() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let before = Stamp::of(&file.as_file().metadata().unwrap());
        std::io::Write::write_all(&mut file, b"x").unwrap();
        let after = Stamp::of(&file.as_file().metadata().unwrap());
        assert_eq!((before.size, after.size), (0, 1));
        assert!(before.mtime_ns > 1_700_000_000_000_000_000 && after.mtime_ns >= before.mtime_ns);
    }

    #[test]
    fn the_environment_applies_to_the_cache_as_to_the_file() {
        let variables = [
            ("BACKSTORY_CAPTURE_EXCLUDE", "/a/**, /b"),
            ("BACKSTORY_CAPTURE_REDACT", "off"),
            ("BACKSTORY_CAPTURE_DURABILITY", "full"),
            ("BACKSTORY_CAPTURE_MAX_PAYLOAD_KB", "512"),
            ("BACKSTORY_CAPTURE_NOTHING", "1"),
            ("BACKSTORY_CONTEXT_FULL", "1"),
        ];
        let env: Vec<(String, String)> = variables.map(|(name, text)| (name.into(), text.into())).into();
        let all = crate::settings::load("config.toml".as_ref(), None, &env).0;
        let entries = resolve("config.toml".as_ref(), None, &[]).entries;
        let mut capture = table_of(&entries, "capture");
        overlay(&mut capture, "capture", &env);
        let capture = Capture::from_table(capture).unwrap();
        assert_eq!(capture, all.capture);
        assert_eq!(capture.exclude, ["/a/**", "/b"]);
        assert_eq!((capture.redact, capture.max_payload_kb), (true, 256));
        assert_eq!(capture.durability, backstory_capture::spool::Durability::Full);
        let mut context = table_of(&entries, "context");
        overlay(&mut context, "context", &env);
        assert_eq!(ContextSettings::from_table(context), Some(all.context));
    }
}
