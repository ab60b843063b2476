//! Waits for calls over a network, and lets no secret into what they fail with.

use tokio::runtime::{Builder, Runtime};

use super::secrets::Secrets;
use crate::error::Error;

/// What drives calls over a network. Whoever makes a call waits for it on its own thread; the threads of the runtime
/// only move bytes.
#[derive(Debug)]
pub(crate) struct Network {
    /// Taken when it is dropped.
    runtime: Option<Runtime>,
    secrets: Secrets,
}

impl Network {
    pub(super) fn start(secrets: Secrets) -> Result<Self, Error> {
        let mut builder = Builder::new_multi_thread();
        let built = builder.worker_threads(2).thread_name("checkpoint-s3").enable_all().build();
        Ok(Self { runtime: Some(built.map_err(|source| Error::CannotStart { source })?), secrets })
    }

    pub(crate) fn wait<T>(
        &self,
        future: impl Future<Output = Result<T, object_store::Error>>,
    ) -> Result<T, object_store::Error> {
        let answer = self.runtime.as_ref().expect("it is taken when it is dropped").block_on(future);
        answer.map_err(|error| self.secrets.cut_out_of(error))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Dropped in an asynchronous task, a runtime must not wait for its threads.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
