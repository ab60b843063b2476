//! Why the interface is not served.

use std::io;
use std::net::SocketAddr;

/// Why the server does not start, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Other machines could reach it, and nothing would ask them who they are.
    #[error("serve on {address}: expected a loopback address such as 127.0.0.1; authentication is not available yet")]
    NotLoopback {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The address is taken, or not ours.
    #[error("listen on {address}: {source}")]
    CannotListen {
        /// The address asked for.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Serving ended with an error.
    #[error("serve on {address}: {source}")]
    Ended {
        /// The address served.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}
