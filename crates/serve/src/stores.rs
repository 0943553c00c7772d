//! Connections to the store, for threads that may block.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use axum::http::StatusCode;
use backstory_store::{BusyTimeout, Store, StoreError};

use crate::problem::ApiError;

/// So many connections wait for the next request. None where a database that somebody has open cannot be replaced.
const IDLE: usize = if cfg!(windows) { 0 } else { 4 };

/// Opens the store when it is needed, and keeps a few connections ready.
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
    /// Names the store. `before_reading` is called before every read: where no worker lives, events must be taken in.
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

    /// Reads on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Store) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let stores = Arc::clone(self);
        run_blocking(move || stores.read_here(work)).await
    }

    /// Reads on this thread.
    pub(crate) fn read_here<T>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        (self.before_reading)();
        let ready = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let store = match ready.filter(Store::is_in_place) {
            Some(store) => store,
            None => self.open_reader()?,
        };
        let result = work(&store);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < IDLE {
            readers.push(store);
        }
        result
    }

    /// Writes on a thread that may block, one at a time.
    pub(crate) async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Store) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let stores = Arc::clone(self);
        run_blocking(move || {
            let mut writer = stores.writer.lock().unwrap_or_else(PoisonError::into_inner);
            // Taken out: a panic in the middle must not leave a connection in an unknown state.
            let mut store = match writer.take().filter(Store::is_in_place) {
                Some(store) => store,
                None => Store::open(&stores.database, &stores.backups)?,
            };
            store.check_schema()?;
            let result = work(&mut store);
            *writer = (IDLE > 0).then_some(store);
            result
        })
        .await
    }

    /// Opens a connection that only reads.
    pub(crate) fn open_reader(&self) -> Result<Store, StoreError> {
        let store = match Store::open_read_only(&self.database, BusyTimeout::Command) {
            // Created or brought up to date first.
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

/// Runs what may block where it holds nobody up.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        // It panicked, or the server ends.
        Err(_) => Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the request could not be finished",
        )),
    }
}
