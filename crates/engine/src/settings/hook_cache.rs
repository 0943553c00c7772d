//! Capture settings in a form that a hook reads in microseconds.
//!
//! A hook must not parse TOML. It takes the [`Stamp`] of `config.toml`, reads the cache next to it and decodes it;
//! only when that fails does it parse the file and renew the cache. The stamp is taken
//! before the file is read: if the file changes in between, the next hook sees another stamp and reads it again.
//!
//! The cache holds the values of the file and the defaults. The environment differs between hooks, so [`overlay`] applies
//! it afterwards.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::UNIX_EPOCH;

use backstory_capture::spool::Durability;
use backstory_model::ObservationType;
use backstory_text::hash64;

use super::keys::{KEYS, SettingKey};
use super::resolve::from_variable;
use backstory_recall::FullField;

use super::{Capture, ContextSettings, DEFAULTS, to_words};

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

    /// Returns the stamp of the file at a path; `None` if it cannot be read.
    pub fn of_file(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|file| Self::of(&file))
    }
}

/// Changes with the format and with every default, so that a new version never uses an old version's cache.
const VERSION: u64 = hash64(DEFAULTS.as_bytes());

/// Variables that a hook reads.
pub const VARIABLES: [&str; 5] = [
    "BACKSTORY_CAPTURE_SKIP_TOOLS",
    "BACKSTORY_CAPTURE_EXCLUDE",
    "BACKSTORY_CAPTURE_MAX_PAYLOAD_KB",
    "BACKSTORY_CAPTURE_REDACT",
    "BACKSTORY_CAPTURE_DURABILITY",
];

/// Returns the capture defaults of `defaults.toml`. A hook without a settings file reads no file at all.
pub fn defaults() -> Capture {
    let skip_tools = [
        "ListMcpResourcesTool",
        "SlashCommand",
        "Skill",
        "TodoWrite",
        "AskUserQuestion",
    ];
    Capture {
        skip_tools: skip_tools.map(String::from).to_vec(),
        exclude: Vec::new(),
        max_payload_kb: 256,
        redact: true,
        durability: Durability::Normal,
    }
}

/// Returns the context defaults of `defaults.toml`.
pub fn default_context() -> ContextSettings {
    ContextSettings {
        observations: 50,
        sessions: 10,
        full: 5,
        full_field: FullField::Narrative,
        types: vec![
            ObservationType::Decision,
            ObservationType::Bugfix,
            ObservationType::Feature,
            ObservationType::Refactor,
            ObservationType::Discovery,
            ObservationType::Change,
        ],
        concepts: Vec::new(),
        budget_tokens: 2000,
        prompt_tokens: 500,
        on_start: true,
        on_prompt: true,
        on_file: true,
        on_error: true,
    }
}

/// Encodes the cache.
pub fn encode(capture: &Capture, stamp: Stamp) -> String {
    let Capture {
        skip_tools,
        exclude,
        max_payload_kb,
        redact,
        durability,
    } = capture;
    let mut text = head(stamp);
    for tool in skip_tools {
        text.push_str(&format!("skip_tools={}\n", escape(tool)));
    }
    for glob in exclude {
        text.push_str(&format!("exclude={}\n", escape(glob)));
    }
    let durability = match durability {
        Durability::Normal => "normal",
        Durability::Full => "full",
    };
    text.push_str(&format!(
        "max_payload_kb={max_payload_kb}\nredact={redact}\ndurability={durability}\n"
    ));
    // Protects against damage, not against users, who could as well edit `config.toml`.
    let sum = hash64(text.as_bytes());
    text.push_str(&format!("end={sum:016x}\n"));
    text
}

/// Decodes the cache; `None` if it belongs to another file or another version, or is damaged.
pub fn decode(text: &str, stamp: Stamp) -> Option<Capture> {
    let body = text.strip_prefix(&head(stamp))?;
    let (body, end) = body.split_at_checked(body.rfind("end=")?)?;
    let sum = hash64(&text.as_bytes()[..text.len() - end.len()]);
    if end != format!("end={sum:016x}\n") {
        return None;
    }
    let (mut skip_tools, mut exclude) = (Vec::new(), Vec::new());
    let (mut max_payload_kb, mut redact, mut durability) = (None, None, None);
    for line in body.lines() {
        match line.split_once('=')? {
            ("skip_tools", tool) => skip_tools.push(unescape(tool)?),
            ("exclude", glob) => exclude.push(unescape(glob)?),
            ("max_payload_kb", number) => max_payload_kb = Some(number.parse().ok()?),
            ("redact", flag) => redact = Some(flag.parse().ok()?),
            ("durability", word) => durability = Some(durability_named(word)?),
            _ => return None,
        }
    }
    Some(Capture {
        skip_tools,
        exclude,
        max_payload_kb: max_payload_kb?,
        redact: redact?,
        durability: durability?,
    })
}

/// Applies the `BACKSTORY_CAPTURE_…` variables to the settings of the file; an invalid one is ignored.
pub fn overlay(mut capture: Capture, env: &[(String, String)]) -> Capture {
    for (variable, text) in env
        .iter()
        .filter(|(variable, _)| variable.starts_with("BACKSTORY_CAPTURE_"))
    {
        if let Some(key) = KEYS.iter().find(|key| key.variable() == *variable)
            && let Ok(Some(value)) = from_variable(key.kind, text)
        {
            assign(&mut capture, key, to_words(&value));
        }
    }
    capture
}

/// Sets one field from checked strings.
fn assign(capture: &mut Capture, key: &SettingKey, words: Vec<String>) {
    let word = words.first().map_or("", String::as_str);
    match key.name {
        "max_payload_kb" => capture.max_payload_kb = word.parse().unwrap_or(capture.max_payload_kb),
        "redact" => capture.redact = word.parse().unwrap_or(capture.redact),
        "durability" => capture.durability = durability_named(word).unwrap_or(capture.durability),
        "skip_tools" => capture.skip_tools = words,
        "exclude" => capture.exclude = words,
        _ => {}
    }
}

fn durability_named(word: &str) -> Option<Durability> {
    match word {
        "normal" => Some(Durability::Normal),
        "full" => Some(Durability::Full),
        _ => None,
    }
}

fn head(Stamp { mtime_ns, size }: Stamp) -> String {
    format!("backstory-capture-settings 1 {VERSION:016x} {mtime_ns} {size}\n")
}

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
    use crate::settings::Settings;

    const STAMP: Stamp = Stamp {
        mtime_ns: 1_763_200_000_123_456_789,
        size: 412,
    };

    fn any_capture() -> impl Strategy<Value = Capture> {
        let list = || prop::collection::vec(any::<String>(), 0..5);
        let durability = prop_oneof![Just(Durability::Normal), Just(Durability::Full)];
        (list(), list(), any::<u32>(), any::<bool>(), durability).prop_map(
            |(skip_tools, exclude, max_payload_kb, redact, durability)| Capture {
                skip_tools,
                exclude,
                max_payload_kb,
                redact,
                durability,
            },
        )
    }

    #[test]
    fn without_a_file_the_defaults_apply() {
        assert_eq!(defaults(), Settings::default().capture);
        assert_eq!(default_context(), Settings::default().context);
    }

    #[test]
    fn a_hook_reads_every_variable_of_capture() {
        let keys = KEYS.iter().filter(|key| key.section == "capture");
        assert_eq!(keys.map(SettingKey::variable).collect::<Vec<_>>(), VARIABLES);
    }

    proptest! {
        #[test]
        fn encoding_round_trips(capture in any_capture(), mtime_ns: u128, size: u64) {
            let stamp = Stamp { mtime_ns, size };
            prop_assert_eq!(decode(&encode(&capture, stamp), stamp), Some(capture));
        }

        #[test]
        fn a_damaged_cache_yields_nothing(capture in any_capture(), at: prop::sample::Index, byte: u8) {
            let whole = encode(&capture, STAMP);
            let at = at.index(whole.len());
            let mut bytes = whole.clone().into_bytes();
            bytes[at] = byte;
            if let Ok(damaged) = String::from_utf8(bytes) {
                prop_assert_eq!(decode(&damaged, STAMP).is_some(), damaged == whole);
            }
            if let Some(torn) = whole.get(..at) {
                prop_assert_eq!(decode(torn, STAMP), None);
            }
            prop_assert_eq!(decode(&format!("{whole}x"), STAMP), None);
        }

        #[test]
        fn no_text_makes_it_panic(text: String) {
            prop_assert_eq!(decode(&text, STAMP), None);
            prop_assert_eq!(decode(&format!("{}{text}", head(STAMP)), STAMP), None);
        }
    }

    #[test]
    fn a_cache_of_another_file_yields_nothing() {
        let text = encode(&Settings::default().capture, STAMP);
        let others = [
            Stamp { size: 413, ..STAMP },
            Stamp {
                mtime_ns: STAMP.mtime_ns + 1,
                ..STAMP
            },
        ];
        for other in others {
            assert_eq!(decode(&text, other), None);
        }
        assert!(decode(&text, STAMP).is_some());
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
    fn the_environment_wins_over_the_cache() {
        let variables = [
            ("BACKSTORY_CAPTURE_EXCLUDE", "/a/**, /b"),
            ("BACKSTORY_CAPTURE_REDACT", "off"),
            ("BACKSTORY_CAPTURE_DURABILITY", "full"),
            ("BACKSTORY_CAPTURE_MAX_PAYLOAD_KB", "1"),
            ("BACKSTORY_CAPTURE_NOTHING", "1"),
            ("BACKSTORY_CONTEXT_FULL", "1"),
        ];
        let env: Vec<(String, String)> = variables.map(|(name, text)| (name.into(), text.into())).into();
        let all = crate::settings::load("config.toml".as_ref(), None, &env)
            .0
            .capture;
        let laid_over = overlay(Settings::default().capture, &env);
        assert_eq!(laid_over, all);
        assert_eq!(laid_over.exclude, ["/a/**", "/b"]);
        assert_eq!((laid_over.redact, laid_over.max_payload_kb), (false, 256));
    }
}
