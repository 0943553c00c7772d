//! Listens on TCP and on the socket, and shuts down gracefully.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr, TcpListener as StdTcpListener},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, atomic::AtomicI64, atomic::Ordering},
    thread::{self, JoinHandle},
    time::Duration,
};

use axum::{Router, middleware};
use backstory_engine::{
    counters::Counters,
    engine::Engine,
    worker::{HttpAddress, HttpServer},
};
use backstory_model::Timestamp;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::sync::{Semaphore, oneshot, watch};

use crate::{
    access::{AccessGuard, token},
    browser_logins::BrowserLogins,
    connection::Connections,
    feed::Feed,
    login::LoginCodes,
    mcp,
    middleware::{guard, with_middleware},
    pending_deletes::PendingDeletes,
    route::routes,
    server::Server,
    socket::Socket,
    stores::{IngestMode, Stores},
    viewer,
};

/// Maximum concurrent connections over TCP; further ones are closed immediately.
const MAX_TCP_CONNECTIONS: usize = 512;

/// Maximum concurrent connections over the socket. They have a pool of their own: every user of the machine can open TCP
/// connections, and must not lock the owner out by leaving them idle.
const MAX_SOCKET_CONNECTIONS: usize = 128;

/// Time that running requests get at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Number of threads that access the store.
const BLOCKING_THREADS: usize = 4;

/// Reasons why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Other machines could reach the address.
    #[error("{0} is not a loopback address")]
    Bind(IpAddr),
    /// No port is available.
    #[error("could not listen on a port")]
    Listen(#[source] io::Error),
    /// The token cannot be read or created.
    #[error("could not read or create {}", .0.display())]
    Token(PathBuf, #[source] io::Error),
    /// A thread could not be started.
    #[error("could not start the server")]
    Start(#[source] io::Error),
}

/// A running server. Dropping it shuts the server down.
#[derive(Debug)]
pub struct Serving {
    port: u16,
    socket: Option<PathBuf>,
    last_use: LastUse,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct LastUse(Arc<Server>);

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl HttpServer for Serving {
    fn port(&self) -> u16 {
        self.port
    }

    fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    fn is_used_since(&self, time: Timestamp) -> bool {
        let server = &self.last_use.0;
        server.feed.listeners() > 0 || server.last_request_ms.load(Ordering::Relaxed) >= time.as_millis()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Fails if the server has already stopped.
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
        if let Some(socket) = &self.socket {
            // Fails if the file is already removed.
            fs::remove_file(socket).ok();
        }
    }
}

/// Starts the server on a thread of its own. The caller must hold the worker lock of the home.
pub fn serve(engine: &Engine, address: HttpAddress, counters: Arc<Counters>) -> Result<Serving, ServeError> {
    let HttpAddress { bind, port } = address;
    let version = env!("CARGO_PKG_VERSION");
    let home = &engine.home;
    let token = token(&home.token()).map_err(|error| ServeError::Token(home.token(), error))?;
    if !bind.is_loopback() {
        return Err(ServeError::Bind(bind));
    }
    let tcp = listen_on(bind, port).map_err(ServeError::Listen)?;
    let port = tcp.local_addr().map_err(ServeError::Listen)?.port();
    let socket_listener = Socket::listen(&home.socket()).ok();
    let socket = socket_listener.is_some().then(|| home.socket());
    let (routes, description) = routes(version);
    let engine = Arc::new(engine.clone());
    let stores = Arc::new(Stores::new(Arc::clone(&engine), IngestMode::ByWorker));
    let now = engine.clock.timestamp();
    let server = Arc::new(Server {
        feed: Feed::start(Arc::clone(&stores), Arc::clone(&engine)).map_err(ServeError::Start)?,
        stores,
        engine,
        access: AccessGuard::new(bind, port, token, BrowserLogins::at(home.logins())),
        login_codes: LoginCodes::default(),
        pending_deletes: PendingDeletes::default(),
        counters,
        injections: Mutex::default(),
        evidence_sizes: Mutex::default(),
        checks: Mutex::default(),
        description,
        address: SocketAddr::new(bind, port),
        version,
        started_at: now,
        last_request_ms: AtomicI64::new(now.as_millis()),
    });
    let (stop, stopped) = oneshot::channel();
    let router = with_middleware(
        routes.merge(mcp::routes(&server)).merge(viewer::routes(&server)),
        &server,
    );
    let served = Arc::clone(&server);
    let thread = thread::Builder::new()
        .name("serve".to_owned())
        .spawn(move || run(&served, &router, tcp, socket_listener, stopped))
        .map_err(ServeError::Start)?;
    Ok(Serving {
        port,
        socket,
        last_use: LastUse(server),
        stop: Some(stop),
        thread: Some(thread),
    })
}

/// Listens on the port, or on any free one if it is taken.
fn listen_on(address: IpAddr, port: u16) -> io::Result<StdTcpListener> {
    let listen = |port| StdTcpListener::bind((address, port));
    let listener = listen(port).or_else(|_| listen(0))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn run(
    server: &Arc<Server>,
    router: &Router,
    tcp: StdTcpListener,
    socket: Option<Socket>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_keep_alive(Duration::from_secs(5))
        .build();
    // Without a runtime there is no server; the worker continues without it.
    let Ok(runtime) = runtime else { return };
    let guarded = router
        .clone()
        .layer(middleware::from_fn_with_state(Arc::clone(server), guard));
    runtime.block_on(async {
        let graceful = GracefulShutdown::new();
        let tcp_permits = Arc::new(Semaphore::new(MAX_TCP_CONNECTIONS));
        let socket_permits = Arc::new(Semaphore::new(MAX_SOCKET_CONNECTIONS));
        let (shutdown, end) = watch::channel(());
        let connections = Connections {
            server,
            graceful: &graceful,
            end: &end,
            tcp_permits: &tcp_permits,
            socket_permits: &socket_permits,
        };
        tokio::select! {
            _ = stopped => {}
            () = connections.accept_tcp(tcp, &guarded) => {}
            () = connections.accept_unix(socket, router) => {}
        }
        viewer::flush_pending(server).await;
        server.feed.close();
        drop(shutdown);
        // Slower requests are cut off: a worker must end quickly.
        tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown())
            .await
            .ok();
    });
    runtime.shutdown_timeout(DRAIN_TIMEOUT);
}
