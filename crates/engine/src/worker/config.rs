//! Settings of the worker, when it ends and what it reports.

use std::{net::IpAddr, sync::Arc, time::Duration};

use anyhow::Result;
use backstory_store::Retention;

use super::{distill::DistillOptions, model_call::ModelConfig};
use crate::{
    engine::Engine,
    ingest::IngestReport,
    models::Model,
    settings::{ContextSettings, hook_cache::Stamp},
};

/// When the worker ends.
#[derive(Clone, Copy, Debug)]
pub enum RunMode {
    /// When all spooled events are ingested and distilled.
    Done,
    /// When nothing happened for a while.
    Idle,
}

/// What a worker did during its lifetime.
#[derive(Clone, Debug, Default)]
pub struct WorkerReport {
    /// Ingested events.
    pub taken: IngestReport,
    /// Distilled events.
    pub distilled: usize,
}

impl WorkerReport {
    pub(super) fn add(&mut self, cycle: &Self) {
        self.taken.new += cycle.taken.new;
        self.taken.torn += cycle.taken.torn;
        self.taken.left = cycle.taken.left;
        self.distilled += cycle.distilled;
    }
}

/// Address of the HTTP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpAddress {
    /// Loopback address.
    pub bind: IpAddr,
    /// Port to try first; 0 takes any.
    pub port: u16,
}

/// Settings that the worker follows.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// Options of the built-in rules.
    pub rules: DistillOptions,
    /// Model that distills after the rules, if one is configured.
    pub asking: Option<Arc<ModelConfig>>,
    /// Limits of the context block.
    pub context: ContextSettings,
    /// How long data is kept.
    pub retention: Retention,
    /// Address of the HTTP server; `None` if it is switched off.
    pub address: Option<HttpAddress>,
    /// Number of daily backups to keep.
    pub backups: usize,
    /// Time without work after which the worker ends.
    pub idle: Duration,
    /// State of the settings file that this was read from.
    pub written: Option<Stamp>,
}

impl WorkerConfig {
    /// Reads the settings. Fails if one of them is invalid.
    pub fn load(engine: &Engine) -> Result<Self> {
        // Taken before the file is read, so that a change in between is noticed by the next comparison.
        let written = Stamp::of_file(&engine.home.config());
        let settings = engine.checked_settings()?;
        let keep = settings.capture.capture_settings();
        let asking = Model::from_settings(&settings, &engine.environment).map(|model| {
            Arc::new(ModelConfig {
                model,
                keep: keep.clone(),
            })
        });
        Ok(Self {
            rules: DistillOptions {
                keep,
                with_model: asking.is_some(),
            },
            asking,
            context: settings.context,
            retention: settings.retention.to_retention(),
            address: settings.worker.http.then_some(HttpAddress {
                bind: settings.http.bind,
                port: settings.http.port,
            }),
            backups: settings.retention.backups as usize,
            written,
            idle: Duration::from_secs(60 * u64::from(settings.worker.idle_minutes)),
        })
    }
}
