//! Listening, TLS, and a shutdown that lets running requests finish.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use axum::Router;
use hyper::{Request, body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_rustls::TlsAcceptor;

use crate::{config::TlsFiles, log::log, routes::Peer};

/// Time for a request's head, or a TLS handshake, to arrive; also the idle timeout of a connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of a request's head.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// Maximum concurrent connections: waiting readers have one each.
const MAX_CONNECTIONS: usize = 20_000;

/// Time that running requests get at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// An address that is being listened on.
pub(crate) struct Listener {
    tcp: TcpListener,
    tls: Option<TlsAcceptor>,
}

impl Listener {
    pub(crate) async fn bind(address: SocketAddr, tls: Option<&TlsFiles>) -> Result<Self> {
        Ok(Self {
            tls: tls.map(acceptor).transpose()?,
            tcp: TcpListener::bind(address)
                .await
                .with_context(|| format!("could not listen on {address}"))?,
        })
    }

    /// Returns the URL of the address.
    pub(crate) fn url(&self) -> Result<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}", self.tcp.local_addr()?))
    }

    /// Serves requests until `end` is ready, and then finishes those that are running.
    pub(crate) async fn serve(self, router: Router, end: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        tokio::select! {
            () = self.accept(&router, &permits, &graceful) => {}
            () = end => {}
        }
        if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown())
            .await
            .is_err()
        {
            log(format_args!(
                "some requests were still running after {} s",
                DRAIN_TIMEOUT.as_secs()
            ));
        }
    }

    async fn accept(&self, router: &Router, permits: &Arc<Semaphore>, graceful: &GracefulShutdown) {
        loop {
            let Ok((stream, peer)) = self.tcp.accept().await else {
                // Too many open files, for example.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // Over the limit the connection is closed at once.
            let Ok(permit) = Arc::clone(permits).try_acquire_owned() else {
                continue;
            };
            let service = Service {
                router: TowerToHyperService::new(router.clone()),
                // Behind this address there may be several clients; `guard` finds out.
                peer: Peer(peer.ip()),
            };
            let (tls, watcher) = (self.tls.clone(), graceful.watcher());
            tokio::spawn(async move {
                stream.set_nodelay(true).ok();
                if let Some(tls) = tls {
                    if let Some(stream) = handshake(&tls, stream).await {
                        serve_connection(stream, service, watcher).await;
                    }
                } else {
                    serve_connection(stream, service, watcher).await;
                }
                drop(permit);
            });
        }
    }
}

/// The routes for one connection. A layer with the address instead would copy every route for every connection.
#[derive(Clone, Debug)]
struct Service {
    router: TowerToHyperService<Router>,
    peer: Peer,
}

impl hyper::service::Service<Request<Incoming>> for Service {
    type Response = <TowerToHyperService<Router> as hyper::service::Service<Request<Incoming>>>::Response;
    type Error = <TowerToHyperService<Router> as hyper::service::Service<Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<Router> as hyper::service::Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        self.router.call(request)
    }
}

async fn handshake(
    tls: &TlsAcceptor,
    stream: TcpStream,
) -> Option<impl AsyncRead + AsyncWrite + Unpin + use<>> {
    tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream))
        .await
        .ok()?
        .ok()
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: Service,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // The client sees any error as a closed connection.
    watcher.watch(connection).await.ok();
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor> {
    let read = |path: &std::path::Path| format!("could not read {}", path.display());
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| read(&files.certificate))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).with_context(|| read(&files.key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("the certificate and the key do not fit")?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
