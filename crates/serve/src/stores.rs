//! Connection pool of the store. All access runs on blocking threads, off the async runtime.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::http::StatusCode;
use backstory_engine::{
    engine::Engine,
    ingest::ingest,
    repair::{self, LockOwner},
    worker_process,
};
use backstory_store::{BusyTimeout, Store, StoreError};

use crate::problem::ApiError;

/// Maximum idle connections. None on Windows, where a database that is open cannot be replaced.
const MAX_IDLE: usize = if cfg!(windows) { 0 } else { 4 };

/// Selects when spooled events are ingested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IngestMode {
    /// By the worker that this server belongs to.
    ByWorker,
    /// Before every read, because no worker may be running.
    BeforeRead,
}

/// Opens connections on demand and keeps a few for reuse.
pub(crate) struct Stores {
    engine: Arc<Engine>,
    ingest: IngestMode,
    readers: Mutex<Vec<Store>>,
    writer: Mutex<Option<Store>>,
}

impl std::fmt::Debug for Stores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stores")
            .field("home", &self.engine.home)
            .finish_non_exhaustive()
    }
}

impl Stores {
    pub(crate) fn new(engine: Arc<Engine>, ingest: IngestMode) -> Self {
        Self {
            engine,
            ingest,
            readers: Mutex::default(),
            writer: Mutex::default(),
        }
    }

    pub(crate) fn vectors(&self) -> PathBuf {
        self.engine.home.vectors()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.engine.home.database()
    }

    /// Reads on a blocking thread.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Store) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let stores = Arc::clone(self);
        run_blocking(move || stores.read_here(work)).await
    }

    /// Reads on the current thread.
    pub(crate) fn read_here<T>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        if self.ingest == IngestMode::BeforeRead {
            ingest_spooled(&self.engine);
        }
        let idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let store = match idle.filter(Store::is_in_place) {
            Some(store) => store,
            None => self.open_reader()?,
        };
        let result = work(&store);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < MAX_IDLE {
            readers.push(store);
        }
        result
    }

    /// Writes on a blocking thread, one write at a time.
    pub(crate) async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Store) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let stores = Arc::clone(self);
        run_blocking(move || {
            let mut writer = stores.writer.lock().unwrap_or_else(PoisonError::into_inner);
            // Taken out of the pool, so that a panic does not leave a connection in an unknown state.
            let mut store = match writer.take().filter(Store::is_in_place) {
                Some(store) => store,
                None => Store::open(&stores.database(), &stores.engine.home.backups())?,
            };
            store.check_schema()?;
            let result = work(&mut store);
            *writer = (MAX_IDLE > 0).then_some(store);
            result
        })
        .await
    }

    /// Opens a read-only connection.
    pub(crate) fn open_reader(&self) -> Result<Store, StoreError> {
        let store = match Store::open_read_only(&self.database(), BusyTimeout::Command) {
            // Create or migrate the database first.
            Err(StoreError::Missing(_) | StoreError::Older { .. }) => {
                drop(Store::open(&self.database(), &self.engine.home.backups())?);
                Store::open_read_only(&self.database(), BusyTimeout::Command)
            }
            other => other,
        }?;
        store.map_pages()?;
        Ok(store)
    }
}

/// Ingests spooled events, unless a worker does so within a moment. On failure they stay in the spool, and what is stored can
/// still be read.
fn ingest_spooled(engine: &Engine) {
    const TIMEOUT: Duration = Duration::from_millis(200);
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    let spool = engine.home.spool();
    let has_pending = || spool.pending().is_ok_and(|keys| !keys.is_empty());
    let has_worker = worker_process::is_running(&engine.home);
    if has_worker {
        for _ in 0..TIMEOUT.as_millis() / POLL_INTERVAL.as_millis() {
            if !has_pending() {
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    if has_pending()
        && let Ok(opened) = repair::open(engine, LockOwner::Command)
    {
        let mut store = opened.store;
        // A worker that does not ingest waits for a lock; waiting for the same lock would block the caller.
        if has_worker {
            store.set_busy_timeout(BusyTimeout::Hook).ok();
        }
        ingest(engine, &mut store).ok();
    }
}

/// Runs blocking work off the async runtime.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        // The task panicked, or the server is shutting down.
        Err(_) => Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the request could not be finished",
        )),
    }
}
