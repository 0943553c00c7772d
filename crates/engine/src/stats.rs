//! Numbers of stored memories and the cost of model calls.

use std::{fs, time::Duration};

use backstory_model::{MemoryKind, Timestamp};
use backstory_store::{Counts, ImpactSums, ProviderBackoff, Spending, Store, StoreError};
use serde_json::{Map, Value, json};

use crate::{
    engine::Engine,
    home::Home,
    models::{self, Model},
    settings::Settings,
    time_arg::rfc3339,
};

/// Counts of stored memories, model spending and the state of the providers.
#[derive(Debug)]
pub struct StatsReport {
    /// Stored memories, sessions and projects.
    pub counts: Counts,
    /// Size of the database, its write-ahead log and the vector file.
    pub bytes: u64,
    /// Configured model; `None` if the built-in rules distill.
    pub model: Option<Model>,
    /// Model calls of today, of the last seven days and of all time.
    pub spans: [(&'static str, Vec<Spending>); 3],
    /// Start of the current day.
    pub day_start: Timestamp,
    /// Tokens used since then.
    pub tokens_today: u64,
    /// Token limit of a day.
    pub daily_tokens: u64,
    /// Turns in the model queue.
    pub pending_turns: u64,
    /// Providers that are in backoff.
    pub backoffs: Vec<ProviderBackoff>,
    /// What became of the memories that were injected in the last thirty days.
    pub impact: ImpactSums,
}

const DAY: Duration = Duration::from_hours(24);

/// Days whose injections are summed up.
pub const IMPACT_DAYS: u32 = 30;

impl StatsReport {
    /// Collects the numbers.
    pub fn collect(engine: &Engine, settings: &Settings, store: &Store) -> Result<Self, StoreError> {
        let now = engine.clock.timestamp();
        let day = models::start_of_day(now, &models::zone(settings));
        // Seven days including today; daylight saving time may shift it by an hour.
        let week = models::start_of_day(day - 6 * DAY, &models::zone(settings));
        Ok(Self {
            counts: store.counts()?,
            bytes: size(&engine.home),
            model: Model::from_settings(settings, &engine.environment),
            spans: [
                ("today", store.spending(day, Timestamp::MAX)?),
                ("7 days", store.spending(week, Timestamp::MAX)?),
                ("all", store.spending(Timestamp::EPOCH, Timestamp::MAX)?),
            ],
            day_start: day,
            tokens_today: store.tokens_since(day)?,
            daily_tokens: u64::from(settings.distill.daily_tokens),
            pending_turns: store.pending_model_jobs()?,
            backoffs: store.provider_backoffs()?,
            impact: store.impact_since(now - IMPACT_DAYS * DAY)?,
        })
    }

    /// Returns the average number of tokens per memory that a model wrote.
    pub fn tokens_per_memory(&self) -> Option<u64> {
        let [.., (_, all)] = &self.spans;
        let tokens: u64 = all.iter().map(|one| one.tokens_in + one.tokens_out).sum();
        (tokens > 0)
            .then(|| tokens.checked_div(self.counts.by_model))
            .flatten()
    }

    /// Returns the tokens that are left of the daily budget.
    pub fn tokens_left(&self) -> u64 {
        self.daily_tokens.saturating_sub(self.tokens_today)
    }

    /// Returns the report as `backstory stats --json` prints it.
    pub fn to_json(&self) -> Value {
        let memories: Map<String, Value> = MemoryKind::ALL
            .iter()
            .map(|kind| {
                let number = self.counts.memories.get(kind).copied().unwrap_or_default();
                (kind.name().to_owned(), number.into())
            })
            .collect();
        let types: Map<String, Value> = self
            .counts
            .types
            .iter()
            .map(|(kind, number)| (kind.name().to_owned(), (*number).into()))
            .collect();
        let backoffs: Vec<Value> = self
            .backoffs
            .iter()
            .map(|pause| {
                let mut value = json!(pause);
                value["since"] = rfc3339(pause.since).into();
                value["until"] = rfc3339(pause.until).into();
                value
            })
            .collect();
        let [(_, today), (_, week), (_, all)] = &self.spans;
        let impact = &self.impact;
        json!({
            "memories": memories,
            "types": types,
            "projects": self.counts.projects,
            "sessions": self.counts.sessions,
            "store_bytes": self.bytes,
            "impact": {
                "days": IMPACT_DAYS,
                "sessions": impact.sessions,
                "recalls": impact.recalls,
                "used": impact.used,
                "ignored": impact.ignored,
                "contradicted": impact.contradicted,
                "failures_avoided": impact.avoided,
                "failures_repeated": impact.repeated,
                "reads": impact.reads,
                "reads_of_known_files": impact.known_reads,
            },
            "models": {
                "provider": self.model.as_ref().map_or("builtin", |model| model.provider_name),
                "model": self.model.as_ref().map(|model| &model.name),
                "today": today,
                "last_7_days": week,
                "all": all,
                "memories": self.counts.by_model,
                "tokens_per_memory": self.tokens_per_memory(),
                "budget": {
                    "daily_tokens": self.daily_tokens,
                    "spent": self.tokens_today,
                    "left": self.tokens_left(),
                    "day_began_at": rfc3339(self.day_start),
                },
                "waiting_turns": self.pending_turns,
                "paused": backoffs,
            },
        })
    }
}

/// Returns the size of all files that hold memories.
fn size(home: &Home) -> u64 {
    [home.database(), home.database_log(), home.vectors()]
        .iter()
        .filter_map(|path| Some(fs::metadata(path).ok()?.len()))
        .sum()
}
