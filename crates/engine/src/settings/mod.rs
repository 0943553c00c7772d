//! Settings: keys, checks, `config.toml` and the `BACKSTORY_<SECTION>_<KEY>` variables.
//!
//! The defaults are in `defaults.toml`; hooks use a copy in code that a test compares. The caller reads the environment and reports problems; the
//! effect of a setting is implemented by the module that uses it.

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
use backstory_protocol::SharePolicy;
use backstory_recall::FullField;
use serde::{Deserialize, Deserializer, de::Error as _};

pub use file::{SettingChange, change, change_all, read};
pub use keys::{KEYS, Kind, Overrides, SettingKey, section_names};
pub use lookup::{key_named, setting_json};
pub use problem::SettingsProblem;
pub use reference::{meanings, reference};
pub use resolve::{Resolved, SettingEntry, SettingSource, repeatable, resolve};
pub use suggest::nearest;
pub use value::{from_words, to_words};

/// Defaults with comments for users.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// Parses the text of the file and the environment.
///
/// An unknown key or a bad value is reported and ignored: a bad variable leaves the value of the file, a bad line the
/// default. `path` only names the file in the reports.
pub fn load(path: &Path, text: Option<&str>, env: &[(String, String)]) -> (Settings, Vec<SettingsProblem>) {
    let resolved = resolve(path, text, env);
    (resolved.settings(), resolved.problems)
}

/// All settings, checked and typed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Settings of capture.
    pub capture: Capture,
    /// Settings of distilling.
    pub distill: Distill,
    /// Context injection.
    pub context: ContextSettings,
    /// Recall before an action.
    pub recall: RecallSettings,
    /// Settings of the tools that agents call.
    pub mcp: McpSettings,
    /// Settings of the background process.
    pub worker: WorkerSettings,
    /// Settings of the viewer and the HTTP interface.
    pub http: Http,
    /// Retention of data.
    pub retention: RetentionSettings,
    /// Team memory.
    pub team: TeamSettings,
    /// Settings of the display.
    pub ui: Ui,
}

/// Settings of capture.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Tools whose use is not recorded.
    pub skip_tools: Vec<String>,
    /// Globs of folders in which nothing is recorded.
    pub exclude: Vec<String>,
    /// Maximum size of one event, in kilobytes.
    pub max_payload_kb: u32,
    /// True if secrets are redacted before anything is written to disk.
    pub redact: bool,
    /// Guarantee for an event once its hook has exited.
    pub durability: Durability,
}

/// Repeats `defaults.toml` for hooks, which do not parse TOML; a test compares both.
impl Default for Capture {
    fn default() -> Self {
        let skip_tools = [
            "ListMcpResourcesTool",
            "SlashCommand",
            "Skill",
            "TodoWrite",
            "AskUserQuestion",
        ];
        Self {
            skip_tools: skip_tools.map(String::from).to_vec(),
            exclude: Vec::new(),
            max_payload_kb: 256,
            redact: true,
            durability: Durability::Normal,
        }
    }
}

impl Capture {
    /// Returns the settings of the payload filter.
    pub fn capture_settings(&self) -> filter::CaptureSettings {
        filter::CaptureSettings {
            skip_tools: self.skip_tools.clone(),
            redact: self.redact,
            max_payload: self.max_payload_kb as usize * 1024,
        }
    }
}

/// Settings of distilling.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distill {
    /// The provider that distills.
    pub provider: ProviderName,
    /// Model, if not the provider's default.
    #[serde(deserialize_with = "empty_is_none")]
    pub model: Option<String>,
    /// Address of the provider, if not its public one.
    #[serde(deserialize_with = "empty_is_none")]
    pub base_url: Option<String>,
    /// Variable that holds the API key, if not the provider's usual one.
    #[serde(deserialize_with = "empty_is_none")]
    pub api_key_env: Option<String>,
    /// File that holds the API key.
    #[serde(deserialize_with = "empty_is_none")]
    pub api_key_file: Option<String>,
    /// Maximum number of tokens a day; 0 allows none.
    pub daily_tokens: u32,
    /// Maximum number of tokens a session; 0 allows none.
    pub session_tokens: u32,
    /// Prices of models, in addition to the built-in list.
    #[serde(deserialize_with = "prices")]
    pub prices: Vec<Price>,
    /// Maximum number of concurrent model calls.
    pub concurrency: u8,
    /// Maximum number of tokens of a digest.
    pub max_input_tokens: u32,
}

/// Context injection.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextSettings {
    /// Maximum number of observations at session start.
    pub observations: u32,
    /// Maximum share of observations that others have shared, in percent.
    pub team_percent: u32,
    /// Maximum number of past sessions that they come from.
    pub sessions: u32,
    /// Number of observations that are shown in full.
    pub full: u32,
    /// Field of an observation that is shown in full.
    #[serde(deserialize_with = "full_field")]
    pub full_field: FullField,
    /// Included types; never empty.
    pub types: Vec<ObservationType>,
    /// Included concepts; empty means all.
    pub concepts: Vec<String>,
    /// Maximum number of tokens of the context block.
    pub budget_tokens: u32,
    /// Maximum number of tokens of an injection at a prompt, a file or an error.
    pub prompt_tokens: u32,
    /// Inject context at session start.
    pub on_start: bool,
    /// Inject related memories at a prompt.
    pub on_prompt: bool,
    /// Inject the history of a file before it is read or changed.
    pub on_file: bool,
    /// Inject the solution of a known error.
    pub on_error: bool,
    /// Share of sessions without recall, in percent.
    pub withhold: u32,
}

/// Repeats `defaults.toml` for hooks, which do not parse TOML; a test compares both.
impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            observations: 50,
            team_percent: 50,
            sessions: 10,
            full: 5,
            full_field: FullField::Narrative,
            types: ObservationType::ALL.to_vec(),
            concepts: Vec::new(),
            budget_tokens: 2000,
            prompt_tokens: 500,
            on_start: true,
            on_prompt: true,
            on_file: true,
            on_error: true,
            withhold: 0,
        }
    }
}

impl ContextSettings {
    /// Returns the limits of the context block.
    pub fn limits(&self) -> backstory_recall::Limits {
        backstory_recall::Limits {
            observations: self.observations as usize,
            team_percent: self.team_percent as usize,
            sessions: self.sessions as usize,
            full: self.full as usize,
            full_field: self.full_field,
            types: self.types.clone(),
            concepts: self.concepts.clone(),
            tokens: self.budget_tokens as usize,
        }
    }
}

/// Recall before an action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecallSettings {
    /// Recall before a command.
    pub guard: Guard,
}

/// Recall before a command that failed before or that the user ruled out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guard {
    /// None.
    Off,
    /// The agent is warned.
    #[default]
    Warn,
    /// The agent is warned, and the user is asked before a command that the user ruled out.
    Ask,
}

/// Settings of the tools that agents call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSettings {
    /// True if agents may read memories of other projects than their own.
    pub all_projects: bool,
}

/// Settings of the background process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSettings {
    /// Idle timeout in minutes.
    pub idle_minutes: u32,
    /// True if the worker serves the viewer and the HTTP interface.
    #[serde(deserialize_with = "on_is_true")]
    pub http: bool,
}

/// Settings of the viewer and the HTTP interface.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Listen address; loopback only.
    pub bind: std::net::IpAddr,
    /// Preferred port; 0 takes a free one.
    pub port: u16,
}

/// Retention of data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionSettings {
    /// Age in days at which passages are deleted, if ever.
    #[serde(deserialize_with = "zero_is_none")]
    pub passages_days: Option<NonZeroU32>,
    /// Size in megabytes above which the oldest passages are deleted, if there is a limit.
    #[serde(deserialize_with = "zero_is_none")]
    pub max_db_mb: Option<NonZeroU32>,
    /// Number of daily backups that are kept; 0 makes none.
    pub backups: u32,
}

impl RetentionSettings {
    /// Returns the retention limits in the units of the store.
    pub fn to_retention(&self) -> backstory_store::Retention {
        backstory_store::Retention {
            passages_max_age: self
                .passages_days
                .map(|days| Duration::from_hours(24) * days.get()),
            most_bytes: self.max_db_mb.map(|megabytes| u64::from(megabytes.get()) << 20),
        }
    }
}

/// Team memory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamSettings {
    /// The name under which memories are shared.
    #[serde(deserialize_with = "empty_is_none")]
    pub name: Option<String>,
    /// The mode of newly enrolled projects.
    pub share_mode: SharePolicy,
    /// Summaries may be shared too.
    pub share_summaries: bool,
}

/// Settings of the display.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ui {
    /// IANA name of the time zone for displayed times, if not the system's.
    #[serde(deserialize_with = "empty_is_none")]
    pub timezone: Option<String>,
    /// Lines for the user about injections.
    pub receipts: Receipts,
}

/// Injections that are shown to the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Receipts {
    /// The context block at session start.
    #[default]
    Start,
    /// Every injection.
    All,
    /// None.
    Off,
}

/// The provider that distills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderName {
    /// Built-in rules, no model.
    Builtin,
    /// The installed `claude` program.
    ClaudeCli,
    /// Anthropic's Messages API.
    Anthropic,
    /// Any endpoint with OpenAI's protocol.
    Openai,
}

impl ProviderName {
    /// Returns the name in settings, in the database and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::ClaudeCli => "claude-cli",
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::from_table(defaults().clone())
    }
}

impl Settings {
    /// Deserializes a table in which every key is present and checked.
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

fn full_field<'de, D: Deserializer<'de>>(text: D) -> Result<FullField, D::Error> {
    match String::deserialize(text)?.as_str() {
        "narrative" => Ok(FullField::Narrative),
        "facts" => Ok(FullField::Facts),
        other => Err(D::Error::unknown_variant(other, &["narrative", "facts"])),
    }
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
