//! Where the server listens, and how it ends.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr, TcpListener as StdTcpListener},
    path::PathBuf,
    sync::{Arc, atomic::AtomicI64, atomic::Ordering},
    thread::{self, JoinHandle},
    time::Duration,
};

use axum::{Router, middleware};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch},
};

use crate::{
    Backend, Counters, Stores,
    access::{self, AccessGuard, token},
    feed::Feed,
    login::Logins,
    mcp,
    route::routes,
    server::{Server, with_middleware},
    socket::Socket,
    viewer,
};

/// So many connections at once; more are closed at once.
const MAX_CONNECTIONS: usize = 512;

/// A request's head must arrive within this time, and a connection may be silent so long.
pub(crate) const HEAD_TIME: Duration = Duration::from_secs(10);

/// The longest head of a request.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// How long answers in work may take when the server ends.
const DRAIN: Duration = Duration::from_secs(2);

/// So many threads read the store.
const READERS: usize = 4;

/// What to serve, and where.
#[derive(Debug)]
pub struct ServeConfig {
    /// The store.
    pub stores: Stores,
    /// Where to listen; only this machine must reach it.
    pub bind: IpAddr,
    /// The port to try first; 0 takes any.
    pub port: u16,
    /// The socket in the home.
    pub socket: PathBuf,
    /// The file with the token.
    pub token: PathBuf,
    /// The version of the program.
    pub version: &'static str,
}

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Other machines would reach it.
    #[error("{0} is not an address of this machine alone")]
    Bind(IpAddr),
    /// No port is to be had.
    #[error("could not listen on this machine")]
    Listen(#[source] io::Error),
    /// The token cannot be read or made.
    #[error("could not read or make {}", .0.display())]
    Token(PathBuf, #[source] io::Error),
    /// No thread is to be had.
    #[error("could not start the server")]
    Start(#[source] io::Error),
}

/// A server that runs.
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

impl Serving {
    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the socket; absent when its path is too long for the system.
    pub fn socket(&self) -> Option<&PathBuf> {
        self.socket.as_ref()
    }

    /// Says whether somebody listens, or asked something since a time.
    pub fn is_used_since(&self, ms: i64) -> bool {
        let server = &self.last_use.0;
        server.feed.listeners() > 0 || server.last_request_ms.load(Ordering::Relaxed) >= ms
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It ended by itself.
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
        if let Some(socket) = &self.socket {
            // Somebody removed it already.
            fs::remove_file(socket).ok();
        }
    }
}

/// Starts to serve, on a thread of its own. Whoever calls this is the one worker of its home.
pub fn serve(config: ServeConfig, outside: Backend, counters: Arc<Counters>) -> Result<Serving, ServeError> {
    let token = token(&config.token).map_err(|error| ServeError::Token(config.token.clone(), error))?;
    if !config.bind.is_loopback() {
        return Err(ServeError::Bind(config.bind));
    }
    let tcp = listen_on(config.bind, config.port).map_err(ServeError::Listen)?;
    let port = tcp.local_addr().map_err(ServeError::Listen)?.port();
    let at_socket = Socket::listen(&config.socket).ok();
    let socket = at_socket.is_some().then(|| config.socket.clone());
    let (routes, description) = routes(config.version);
    let stores = Arc::new(config.stores);
    let outside = Arc::new(outside);
    let now_ms = (outside.now_ms)();
    let server = Arc::new(Server {
        feed: Feed::start(Arc::clone(&stores), Arc::clone(&outside)).map_err(ServeError::Start)?,
        stores,
        outside,
        access: AccessGuard::new(config.bind, port, token),
        logins: Logins::default(),
        pending_deletes: viewer::PendingDeletes::default(),
        counters,
        description,
        address: SocketAddr::new(config.bind, port),
        version: config.version,
        started_ms: now_ms,
        last_request_ms: AtomicI64::new(now_ms),
    });
    let (stop, stopped) = oneshot::channel();
    let open = with_middleware(
        routes.merge(mcp::routes(&server)).merge(viewer::routes(&server)),
        &server,
    );
    let served = Arc::clone(&server);
    let thread = thread::Builder::new()
        .name("serve".to_owned())
        .spawn(move || run(&served, &open, tcp, at_socket, stopped))
        .map_err(ServeError::Start)?;
    Ok(Serving {
        port,
        socket,
        last_use: LastUse(server),
        stop: Some(stop),
        thread: Some(thread),
    })
}

/// Listens on the port, or on another when it is taken.
fn listen_on(address: IpAddr, port: u16) -> io::Result<StdTcpListener> {
    let listen = |port| StdTcpListener::bind((address, port));
    let listener = listen(port).or_else(|_| listen(0))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn run(
    server: &Arc<Server>,
    open: &Router,
    tcp: StdTcpListener,
    socket: Option<Socket>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(READERS)
        .thread_keep_alive(Duration::from_secs(5))
        .build();
    // Without one there is no server; the worker goes on.
    let Ok(runtime) = runtime else { return };
    let guarded = open
        .clone()
        .layer(middleware::from_fn_with_state(Arc::clone(server), access::guard));
    runtime.block_on(async {
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let (ending, end) = watch::channel(());
        let connections = Connections {
            server,
            graceful: &graceful,
            end: &end,
            room: &room,
        };
        tokio::select! {
            _ = stopped => {}
            () = connections.accept_tcp(tcp, &guarded) => {}
            () = connections.accept_at_socket(socket, open) => {}
        }
        viewer::flush_pending(server).await;
        server.feed.end();
        drop(ending);
        // What takes longer is cut off: nobody waits for a worker that ends.
        tokio::time::timeout(DRAIN, graceful.shutdown()).await.ok();
    });
    runtime.shutdown_timeout(DRAIN);
}

pub(crate) struct Connections<'s> {
    #[cfg_attr(
        windows,
        expect(dead_code, reason = "only connections at the socket ask for it")
    )]
    pub(crate) server: &'s Arc<Server>,
    pub(crate) graceful: &'s GracefulShutdown,
    /// Hung up when the server ends, for those who wait for the other side to say something.
    #[cfg_attr(
        windows,
        expect(dead_code, reason = "only connections at the socket ask for it")
    )]
    pub(crate) end: &'s watch::Receiver<()>,
    pub(crate) room: &'s Arc<Semaphore>,
}

impl Connections<'_> {
    async fn accept_tcp(&self, listener: StdTcpListener, router: &Router) {
        let Ok(listener) = TcpListener::from_std(listener) else {
            return;
        };
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    // Events are small, and somebody waits for each.
                    stream.set_nodelay(true).ok();
                    self.take(stream, router);
                }
                Err(_) => pause().await,
            }
        }
    }

    /// Takes a connection if there is room; else it is closed at once.
    fn take(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: &Router) {
        if let Some(permit) = self.permit() {
            let (router, watcher) = (router.clone(), self.graceful.watcher());
            tokio::spawn(async move {
                answer(stream, router, watcher).await;
                drop(permit);
            });
        }
    }

    pub(crate) fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(self.room).try_acquire_owned().ok()
    }
}

/// Too many files are open, or a connection broke: it may be better in a moment.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Answers the requests of one connection.
pub(crate) async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    watcher: Watcher,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // Whatever went wrong, the other side has seen it.
    watcher.watch(connection).await.ok();
}
