//! Connections: accepting them within limits, and serving HTTP on each.

use std::{net::TcpListener as StdTcpListener, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore, watch},
};

use crate::server::Server;

/// Time for a request's head to arrive; also the idle timeout of a connection.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of a request's head.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// Open connections of a server, and what they need.
pub(crate) struct Connections<'s> {
    #[cfg_attr(windows, expect(dead_code, reason = "used by socket connections only"))]
    pub(crate) server: &'s Arc<Server>,
    pub(crate) graceful: &'s GracefulShutdown,
    /// Closed at shutdown, for tasks that wait for client input.
    #[cfg_attr(windows, expect(dead_code, reason = "used by socket connections only"))]
    pub(crate) end: &'s watch::Receiver<()>,
    pub(crate) tcp_permits: &'s Arc<Semaphore>,
    #[cfg_attr(windows, expect(dead_code, reason = "used by socket connections only"))]
    pub(crate) socket_permits: &'s Arc<Semaphore>,
}

impl Connections<'_> {
    /// Accepts TCP connections.
    pub(crate) async fn accept_tcp(&self, listener: StdTcpListener, router: &Router) {
        let Ok(listener) = TcpListener::from_std(listener) else {
            return;
        };
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    // Events are small and latency matters.
                    stream.set_nodelay(true).ok();
                    self.spawn(stream, router);
                }
                Err(_) => back_off().await,
            }
        }
    }

    /// Serves a connection, or closes it if there are too many.
    fn spawn(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: &Router) {
        if let Some(permit) = permit(self.tcp_permits) {
            let (router, watcher) = (router.clone(), self.graceful.watcher());
            tokio::spawn(async move {
                serve_connection(stream, router, watcher).await;
                drop(permit);
            });
        }
    }
}

/// Takes a place in a pool; `None` if it is full.
pub(crate) fn permit(pool: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(pool).try_acquire_owned().ok()
}

/// Waits before accepting again after an error, such as too many open files.
pub(crate) async fn back_off() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Serves the requests of one connection.
pub(crate) async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    watcher: Watcher,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // The client sees any error as a closed connection.
    watcher.watch(connection).await.ok();
}
