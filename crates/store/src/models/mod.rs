//! Turns that await a model, the ledger of model calls, and provider backoff.

pub(crate) mod ledger;
pub(crate) mod model_queue;
pub(crate) mod provider_backoff;
