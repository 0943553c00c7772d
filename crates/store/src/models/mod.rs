//! Model calls: the queue of turns, the ledger with its budget, and the backoff of providers.

pub(crate) mod ledger;
pub(crate) mod model_queue;
pub(crate) mod provider_backoff;
