//! Unix socket in the home: HTTP and the line protocol for processes of the owner, without a token.
//!
//! Windows has no such socket; all clients connect over TCP with the token.

#[cfg(unix)]
pub(crate) use unix::Socket;

#[cfg(windows)]
pub(crate) use windows::Socket;

#[cfg(unix)]
mod unix {
    use std::{
        fs, io,
        os::unix::{fs::PermissionsExt as _, net::UnixListener as StdUnixListener},
        path::Path,
        sync::Arc,
        time::Duration,
    };

    use axum::Router;
    use rustix::net::RecvFlags;
    use tokio::{
        io::Interest,
        net::{UnixListener, UnixStream},
    };

    use crate::{
        connection::{Connections, HEAD_TIMEOUT, back_off, permit, serve_connection},
        line_protocol::serve_line_protocol,
    };

    /// Time between two looks at a first word that is not complete.
    const PEEK_INTERVAL: Duration = Duration::from_millis(5);

    #[derive(Debug)]
    pub(crate) struct Socket(StdUnixListener);

    impl Socket {
        /// Listens on the socket. An existing file is left over from an earlier worker: only one runs at a time.
        pub(crate) fn listen(path: &Path) -> io::Result<Self> {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let listener = StdUnixListener::bind(path)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            Ok(Self(listener))
        }
    }

    impl Connections<'_> {
        pub(crate) async fn accept_unix(&self, socket: Option<Socket>, router: &Router) {
            let listener = socket.and_then(|socket| UnixListener::from_std(socket.0).ok());
            let Some(listener) = listener else {
                return std::future::pending().await;
            };
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => self.spawn_unix(stream, router),
                    Err(_) => back_off().await,
                }
            }
        }

        fn spawn_unix(&self, stream: UnixStream, router: &Router) {
            let Some(permit) = permit(self.socket_permits) else {
                return;
            };
            let (server, router) = (Arc::clone(self.server), router.clone());
            let (watcher, mut end) = (self.graceful.watcher(), self.end.clone());
            tokio::spawn(async move {
                let is_line_protocol = tokio::select! {
                    is_line_protocol = is_line_protocol(&stream) => is_line_protocol,
                    _ = end.changed() => return,
                };
                match is_line_protocol {
                    true => {
                        // Fails if the client disconnects.
                        serve_line_protocol(server, stream, end).await.unwrap_or_default();
                        // Held until here, so that shutdown waits for the current line.
                        drop(watcher);
                    }
                    false => serve_connection(stream, router, watcher).await,
                }
                drop(permit);
            });
        }
    }

    /// Peeks at the start of the first line: an HTTP request begins with a method and a space. Anything else gets the answers of
    /// the line protocol, also if it is not JSON.
    async fn is_line_protocol(stream: &UnixStream) -> bool {
        tokio::time::timeout(HEAD_TIMEOUT, peek_protocol(stream))
            .await
            .unwrap_or_default()
    }

    async fn peek_protocol(stream: &UnixStream) -> bool {
        // Longer than every method.
        let mut start = [0; 16];
        loop {
            if stream.readable().await.is_err() {
                return false;
            }
            let peeked = stream.try_io(Interest::READABLE, || {
                Ok(rustix::net::recv(stream, &mut start, RecvFlags::PEEK)?)
            });
            match peeked {
                Ok((0, _)) => return false,
                Ok((count, _)) => {
                    let start = &start[..count];
                    let letters = start.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
                    match start.get(letters) {
                        Some(next) => return letters == 0 || *next != b' ',
                        None if count == 16 => return true,
                        // The rest of the word is on its way. The socket stays readable, so readiness does not tell when.
                        None => tokio::time::sleep(PEEK_INTERVAL).await,
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::{io, path::Path};

    use axum::Router;

    use crate::connection::Connections;

    #[derive(Debug)]
    pub(crate) enum Socket {}

    impl Socket {
        pub(crate) fn listen(_path: &Path) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    impl Connections<'_> {
        pub(crate) async fn accept_unix(&self, _socket: Option<Socket>, _router: &Router) {
            std::future::pending().await
        }
    }
}
