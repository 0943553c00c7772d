//! Connection pools for the primary database and an optional read replica.
//!
//! Connections are made when they are needed, so the server starts and answers 503 while PostgreSQL is down. Every statement
//! has a deadline: a request must fail and be retried rather than wait for a lock for minutes.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::config::Config;

/// Time to wait for a connection, and to make one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Deadlines of statements, in milliseconds: a push waits at most five seconds for the lock of its project. Generic plans would
/// parse the terms of a search once per row, and would lock all partitions.
const SESSION_SETTINGS: &str = "set statement_timeout = 10000; set lock_timeout = 5000;
    set idle_in_transaction_session_timeout = 10000; set plan_cache_mode = force_custom_plan";

/// The databases of the server.
#[derive(Clone, Debug)]
pub(crate) struct Databases {
    primary: Pool,
    replica: Option<Pool>,
}

impl Databases {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let ca = config.database_ca.as_deref();
        let pool = |name: &str, url: &str| {
            pool(url, ca, config.connections)
                .with_context(|| format!("could not use BACKSTORY_SERVER_{name}"))
        };
        Ok(Self {
            primary: pool("DATABASE_URL", &config.database_url)?,
            replica: config
                .read_database_url
                .as_deref()
                .map(|url| pool("READ_DATABASE_URL", url))
                .transpose()?,
        })
    }

    /// Returns a connection to the primary.
    pub(crate) async fn primary(&self) -> Result<Object, PoolError> {
        self.primary.get().await
    }

    /// Returns a connection for reading: to the replica if there is one and it answers.
    pub(crate) async fn reader(&self) -> Result<Object, PoolError> {
        if let Some(replica) = &self.replica
            && let Ok(connection) = replica.get().await
        {
            return Ok(connection);
        }
        self.primary.get().await
    }

    pub(crate) fn has_replica(&self) -> bool {
        self.replica.is_some()
    }

    /// Returns the number of open connections to the primary, and how many of them are idle.
    pub(crate) fn connections(&self) -> (usize, usize) {
        let status = self.primary.status();
        (status.size, status.available)
    }
}

fn pool(url: &str, ca: Option<&Path>, connections: usize) -> Result<Pool> {
    let mut config: tokio_postgres::Config = url.parse()?;
    config.application_name("backstory-server");
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    let manager = Manager::from_config(
        config,
        MakeRustlsConnect::new(tls(ca)?),
        ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        },
    );
    let settings = Hook::async_fn(|client, _| {
        Box::pin(async move {
            client
                .batch_execute(SESSION_SETTINGS)
                .await
                .map_err(HookError::Backend)
        })
    });
    Ok(Pool::builder(manager)
        .max_size(connections)
        .post_create(settings)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(CONNECT_TIMEOUT))
        .create_timeout(Some(CONNECT_TIMEOUT))
        .recycle_timeout(Some(CONNECT_TIMEOUT))
        .build()?)
}

fn tls(ca: Option<&Path>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = ca {
        let read = || format!("could not read {}", path.display());
        for certificate in CertificateDer::pem_file_iter(path).with_context(read)? {
            roots.add(certificate.with_context(read)?)?;
        }
    } else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
