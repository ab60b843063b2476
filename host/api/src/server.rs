//! Serving the routes.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::error::Error;

/// How to serve.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Where; a port of 0 takes a free one.
    pub address: SocketAddr,
}

impl Default for Options {
    /// Loopback on port 8081: other machines cannot reach it.
    fn default() -> Self {
        Self { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 8081)) }
    }
}

/// A server that listens and does not serve yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    stop: watch::Receiver<bool>,
}

/// Stops a server.
#[derive(Clone, Debug)]
pub struct Handle {
    address: SocketAddr,
    stop: watch::Sender<bool>,
}

impl Server {
    /// Listens; call [`Server::run`] to serve.
    ///
    /// # Errors
    /// [`Error::NotLoopback`] and [`Error::CannotListen`].
    pub async fn bind(options: Options, router: Router) -> Result<(Self, Handle), Error> {
        let address = options.address;
        if !address.ip().is_loopback() {
            return Err(Error::NotLoopback { address });
        }
        let cannot_listen = |source| Error::CannotListen { address, source };
        let listener = TcpListener::bind(address).await.map_err(cannot_listen)?;
        let address = listener.local_addr().map_err(cannot_listen)?;
        let (sender, stop) = watch::channel(false);
        Ok((Self { listener, address, router, stop }, Handle { address, stop: sender }))
    }

    /// Serves until the handle stops it, then lets the requests that run end.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub async fn run(mut self) -> Result<(), Error> {
        let address = self.address;
        let stopped = async move {
            // A handle that was dropped can stop nothing any more: serve on.
            if self.stop.wait_for(|stop| *stop).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let serving = axum::serve(self.listener, self.router).with_graceful_shutdown(stopped);
        serving.await.map_err(|source| Error::Ended { address, source })
    }
}

impl Handle {
    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends [`Server::run`]; a second time changes nothing.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}
