//! The settings: what can be set, what it is set to, and by whom.
//!
//! Owns the keys, their checks, `config.toml` and the `BACKSTORY_<SECTION>_<KEY>` variables. The defaults are
//! written down once, in `defaults.toml`. Reading the environment and telling people about problems are left
//! to the caller; what a setting does is left to the part that obeys it.

mod document;
mod file;
pub mod hook_cache;
mod keys;
mod lookup;
mod problem;
mod reference;
mod resolve;
mod suggest;
mod value;

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use backstory_capture::{filter, spool::Durability};
use backstory_distill::Price;
use backstory_model::ObservationType;
use serde::{Deserialize, Deserializer, de::Error as _};

pub use file::{SettingChange, change, change_all, read};
pub use keys::{KEYS, Kind, SettingKey, section_names};
pub use lookup::{key_named, setting_json};
pub use problem::SettingsProblem;
pub use reference::{meanings, reference};
pub use resolve::{Resolved, SettingEntry, Source, repeatable, resolve};
pub use value::{from_words, to_words};

/// The defaults, commented for people.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// Reads the file's text and the environment.
///
/// An unknown key or a bad value is reported, and what stood before it stands: the file's value behind a bad
/// variable, the default behind a bad line. `path` only names the file in the reports.
pub fn load(path: &Path, text: Option<&str>, env: &[(String, String)]) -> (Settings, Vec<SettingsProblem>) {
    let resolved = resolve(path, text, env);
    (resolved.settings(), resolved.problems)
}

/// Everything that can be set, checked and typed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What hooks record.
    pub capture: Capture,
    /// How events become memories.
    pub distill: Distill,
    /// Context injection.
    pub context: ContextSettings,
    /// The background process.
    pub worker: WorkerSettings,
    /// The viewer and the HTTP interface.
    pub http: Http,
    /// How long things are kept.
    pub retention: RetentionSettings,
    /// How things are shown to people.
    pub ui: Ui,
}

/// What hooks record.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Tools whose use is not recorded.
    pub skip_tools: Vec<String>,
    /// Globs of folders in which nothing is recorded.
    pub exclude: Vec<String>,
    /// Maximum size of one event, in kilobytes.
    pub max_payload_kb: u32,
    /// Whether secrets are replaced before anything reaches the disk.
    pub redact: bool,
    /// What an event survives once its hook has ended.
    pub durability: Durability,
}

impl Capture {
    /// Returns what decides over the content of an event.
    pub fn capture_settings(&self) -> filter::CaptureSettings {
        filter::CaptureSettings {
            skip_tools: self.skip_tools.clone(),
            redact: self.redact,
            max_payload: self.max_payload_kb as usize * 1024,
        }
    }
}

/// How events become memories.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distill {
    /// The provider that distills.
    pub provider: ProviderName,
    /// The model to ask, if not the provider's own choice.
    #[serde(deserialize_with = "empty_is_none")]
    pub model: Option<String>,
    /// Where the provider is reached, if not at its public address.
    #[serde(deserialize_with = "empty_is_none")]
    pub base_url: Option<String>,
    /// The variable that holds the API key, if not the provider's usual one.
    #[serde(deserialize_with = "empty_is_none")]
    pub api_key_env: Option<String>,
    /// The file that holds the API key, if one does.
    #[serde(deserialize_with = "empty_is_none")]
    pub api_key_file: Option<String>,
    /// The most tokens a day; 0 spends nothing.
    pub daily_tokens: u32,
    /// The most tokens a session; 0 spends nothing.
    pub session_tokens: u32,
    /// What models cost, beyond the list that is built in.
    #[serde(deserialize_with = "prices")]
    pub prices: Vec<Price>,
    /// How many model calls may run at once.
    pub concurrency: u8,
    /// The most tokens of one turn that are shown to the model.
    pub max_input_tokens: u32,
}

/// Context injection.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextSettings {
    /// How many observations a new session is shown at most.
    pub observations: u32,
    /// How many past sessions they may come from.
    pub sessions: u32,
    /// How many of the newest are shown in full.
    pub full: u32,
    /// What an observation shown in full consists of.
    pub full_field: FullField,
    /// Which types are shown; never empty.
    pub types: Vec<ObservationType>,
    /// Which concepts are shown; empty means all.
    pub concepts: Vec<String>,
    /// The most tokens of the block at the start of a session.
    pub budget_tokens: u32,
    /// The most tokens of what is said beside a prompt, a file or an error.
    pub prompt_tokens: u32,
    /// Inject context at session start.
    pub on_start: bool,
    /// Whether a prompt is answered with past work that resembles it.
    pub on_prompt: bool,
    /// Whether a file's history is told before it is read or changed.
    pub on_file: bool,
    /// Whether an error is answered with how it was solved before.
    pub on_error: bool,
}

impl ContextSettings {
    /// Returns how much a new session is told.
    pub fn limits(&self) -> backstory_recall::Limits {
        backstory_recall::Limits {
            observations: self.observations as usize,
            sessions: self.sessions as usize,
            full: self.full as usize,
            full_field: match self.full_field {
                FullField::Narrative => backstory_recall::FullField::Narrative,
                FullField::Facts => backstory_recall::FullField::Facts,
            },
            types: self.types.clone(),
            concepts: self.concepts.clone(),
            tokens: self.budget_tokens as usize,
        }
    }
}

/// The background process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSettings {
    /// Idle timeout in minutes.
    pub idle_minutes: u32,
    /// Whether it serves the viewer and the HTTP interface.
    #[serde(deserialize_with = "on_is_true")]
    pub http: bool,
}

/// The viewer and the HTTP interface.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Where to listen; only this machine reaches it.
    pub bind: std::net::IpAddr,
    /// The port to try first; 0 takes a free one.
    pub port: u16,
}

/// How long things are kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionSettings {
    /// After how many days passages are dropped, if ever.
    #[serde(deserialize_with = "zero_is_none")]
    pub passages_days: Option<NonZeroU32>,
    /// The size in megabytes above which the oldest passages are dropped, if there is a limit.
    #[serde(deserialize_with = "zero_is_none")]
    pub max_db_mb: Option<NonZeroU32>,
    /// How many daily backups are kept; 0 takes none.
    pub backups: u32,
}

impl RetentionSettings {
    /// Returns how long things are kept, as the store counts it.
    pub fn to_retention(&self) -> backstory_store::Retention {
        backstory_store::Retention {
            passages_max_age: self
                .passages_days
                .map(|days| Duration::from_hours(24) * days.get()),
            most_bytes: self.max_db_mb.map(|megabytes| u64::from(megabytes.get()) << 20),
        }
    }
}

/// How things are shown to people.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ui {
    /// The IANA name of the time zone of shown times, if not the system's.
    #[serde(deserialize_with = "empty_is_none")]
    pub timezone: Option<String>,
}

/// The provider that distills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderName {
    /// Rules, no model.
    Builtin,
    /// The installed `claude` program.
    ClaudeCli,
    /// Anthropic's Messages API.
    Anthropic,
    /// Any endpoint that speaks OpenAI's protocol.
    Openai,
}

impl ProviderName {
    /// Returns the name used in settings, in the database and outside.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::ClaudeCli => "claude-cli",
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
        }
    }
}

/// What an observation shown in full consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FullField {
    /// Its narrative.
    Narrative,
    /// Its facts.
    Facts,
}

impl Default for Settings {
    fn default() -> Self {
        Self::from_table(defaults().clone())
    }
}

impl Settings {
    /// Types a table in which every key is present and checked.
    fn from_table(table: toml::Table) -> Self {
        Self::deserialize(table).expect("a test reads the extremes of every kind of value into its field")
    }
}

/// Returns `defaults.toml`, parsed.
fn defaults() -> &'static toml::Table {
    static TABLE: LazyLock<toml::Table> =
        LazyLock::new(|| DEFAULTS.parse().expect("a test parses the embedded defaults"));
    &TABLE
}

fn empty_is_none<'de, D: Deserializer<'de>>(text: D) -> Result<Option<String>, D::Error> {
    Ok(Some(String::deserialize(text)?).filter(|text| !text.is_empty()))
}

fn prices<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<Price>, D::Error> {
    let texts = Vec::<String>::deserialize(list)?;
    let prices = texts.iter().map(|text| text.parse());
    prices.collect::<Result<_, _>>().map_err(D::Error::custom)
}

fn zero_is_none<'de, D: Deserializer<'de>>(number: D) -> Result<Option<NonZeroU32>, D::Error> {
    u32::deserialize(number).map(NonZeroU32::new)
}

fn on_is_true<'de, D: Deserializer<'de>>(word: D) -> Result<bool, D::Error> {
    String::deserialize(word).map(|word| word == "on")
}

#[cfg(test)]
mod tests;
