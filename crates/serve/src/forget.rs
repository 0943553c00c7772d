//! Forgetting memories on request.

use backstory_engine::{engine::Engine, forgetting};
use backstory_model::Handle;
use backstory_store::{Selection, Store};

use crate::problem::ApiError;

/// Forgets memories in the database and in every file derived from it.
pub(crate) fn forget_memories(
    engine: &Engine,
    store: &mut Store,
    handles: &[Handle],
) -> Result<(), ApiError> {
    let context = engine.settings().context;
    forgetting::forget(engine, store, Selection::Memories(handles), &context)
        .map(drop)
        .map_err(|error| ApiError::unavailable(&error))
}
