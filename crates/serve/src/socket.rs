//! The socket in the home: requests and lines of those who may read the folder. There is none on Windows, where everybody
//! comes by the port and with the token.

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
    };

    use axum::Router;
    use rustix::net::RecvFlags;
    use tokio::{
        io::Interest,
        net::{UnixListener, UnixStream},
    };

    use crate::{
        line_protocol::serve_line_protocol,
        listen::{Connections, HEAD_TIME, answer, pause},
    };

    #[derive(Debug)]
    pub(crate) struct Socket(StdUnixListener);

    impl Socket {
        /// Listens at the socket. One that is there belongs to a worker that is gone: only one lives at a time.
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
        pub(crate) async fn accept_at_socket(&self, socket: Option<Socket>, router: &Router) {
            let listener = socket.and_then(|socket| UnixListener::from_std(socket.0).ok());
            let Some(listener) = listener else {
                return std::future::pending().await;
            };
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => self.take_at_socket(stream, router),
                    Err(_) => pause().await,
                }
            }
        }

        fn take_at_socket(&self, stream: UnixStream, router: &Router) {
            let Some(permit) = self.permit() else { return };
            let (server, router) = (Arc::clone(self.server), router.clone());
            let (watcher, mut end) = (self.graceful.watcher(), self.end.clone());
            tokio::spawn(async move {
                let speaks_lines = tokio::select! {
                    speaks_lines = speaks_lines(&stream) => speaks_lines,
                    _ = end.changed() => return,
                };
                match speaks_lines {
                    true => {
                        // The other side hung up.
                        serve_line_protocol(server, stream, end).await.unwrap_or_default();
                        // Kept until here: a line in work is answered before the end.
                        drop(watcher);
                    }
                    false => answer(stream, router, watcher).await,
                }
                drop(permit);
            });
        }
    }

    /// Looks at the first byte: a request begins with a letter, a line with a brace.
    async fn speaks_lines(stream: &UnixStream) -> bool {
        let mut first = [0];
        loop {
            let Ok(Ok(())) = tokio::time::timeout(HEAD_TIME, stream.readable()).await else {
                return false;
            };
            match stream.try_io(Interest::READABLE, || {
                Ok(rustix::net::recv(stream, &mut first, RecvFlags::PEEK)?)
            }) {
                Ok((count, _)) => return count > 0 && first[0] == b'{',
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

    use crate::listen::Connections;

    #[derive(Debug)]
    pub(crate) enum Socket {}

    impl Socket {
        pub(crate) fn listen(_path: &Path) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    impl Connections<'_> {
        pub(crate) async fn accept_at_socket(&self, _socket: Option<Socket>, _router: &Router) {
            std::future::pending().await
        }
    }
}
