//! Connection pool of the store. All access runs on blocking threads, off the async runtime.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use axum::http::StatusCode;
use backstory_store::{BusyTimeout, Store, StoreError};

use crate::problem::ApiError;

/// Maximum idle connections. None on Windows, where a database that is open cannot be replaced.
const MAX_IDLE: usize = if cfg!(windows) { 0 } else { 4 };

/// Opens connections on demand and keeps a few for reuse.
pub struct Stores {
    database: PathBuf,
    backups: PathBuf,
    vectors: PathBuf,
    before_reading: Box<dyn Fn() + Send + Sync>,
    readers: Mutex<Vec<Store>>,
    writer: Mutex<Option<Store>>,
}

impl std::fmt::Debug for Stores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stores")
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

impl Stores {
    /// Creates a pool. `before_reading` is called before every read, to ingest events if no worker is running.
    pub fn new(
        database: PathBuf,
        backups: PathBuf,
        vectors: PathBuf,
        before_reading: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        Self {
            database,
            backups,
            vectors,
            before_reading,
            readers: Mutex::default(),
            writer: Mutex::default(),
        }
    }

    pub(crate) fn vectors(&self) -> &Path {
        &self.vectors
    }

    pub(crate) fn database(&self) -> &Path {
        &self.database
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
        (self.before_reading)();
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
                None => Store::open(&stores.database, &stores.backups)?,
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
        let store = match Store::open_read_only(&self.database, BusyTimeout::Command) {
            // Create or migrate the database first.
            Err(StoreError::Missing(_) | StoreError::Older { .. }) => {
                drop(Store::open(&self.database, &self.backups)?);
                Store::open_read_only(&self.database, BusyTimeout::Command)
            }
            other => other,
        }?;
        store.map_pages()?;
        Ok(store)
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
