//! The store on S3, or what speaks like it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
use object_store::path::Path as ObjectPath;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use tokio::runtime::{Builder, Runtime};

use contract::Randomness;
use model::JobName;

use crate::error::Error;
use crate::medium::Medium;
use crate::{JOBS_FOLDER, JobStore, place_of};

mod probe;
mod url;

use url::Location;

/// How often one call is tried again when the store says that it is busy or breaks off: more is the caller's to decide.
const RETRIES: usize = 2;
/// After this long one call is not tried again.
const RETRY_FOR: Duration = Duration::from_secs(15);
/// How long one request may take: a large object on a slow line.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Who we are to the store.
#[derive(Clone)]
pub enum S3Credentials {
    /// What the environment says: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, or what else the
    /// AWS tools take from there.
    Environment,
    /// A pair of keys.
    Keys {
        /// Which key.
        access_key_id: String,
        /// The secret: never shown.
        secret_access_key: String,
    },
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Environment => "Environment",
            Self::Keys { .. } => "Keys",
        })
    }
}

/// A store in a bucket: `s3://bucket/prefix?endpoint=http://host:port&region=name`.
///
/// The store has to create an object only where there is none
/// (`If-None-Match: *`), also when many try at once, and a read or a list has to see every write that was answered;
/// the first is tried out when it is opened.
///
/// Its calls block, and must not be made from an asynchronous task.
#[derive(Debug)]
pub struct S3Store;

impl S3Store {
    /// Opens the place of `job` in the bucket, after trying the store out. `randomness` names the objects that the store is tried out with.
    ///
    /// # Errors
    /// When the URL is none of a bucket, the store does not answer or does not let us, or it creates what exists.
    pub fn open(
        url: &str,
        credentials: &S3Credentials,
        job: &JobName,
        randomness: &dyn Randomness,
    ) -> Result<JobStore, Error> {
        let (medium, location) = connect(url, credentials)?;
        probe::check(&medium, &location, randomness)?;
        Ok(place_of(medium, &location.prefix, job))
    }

    /// The jobs that have a place in the bucket, by name.
    ///
    /// # Errors
    /// When the URL is none of a bucket, or the store does not answer or does not let us.
    pub fn list_jobs(url: &str, credentials: &S3Credentials) -> Result<Vec<JobName>, Error> {
        let (medium, location) = connect(url, credentials)?;
        let folders = medium.folders(&location.prefix.clone().join(JOBS_FOLDER));
        let folders = folders.map_err(|source| location.error("list jobs", source))?;
        let mut jobs: Vec<JobName> = folders.iter().filter_map(|name| JobName::new(name).ok()).collect();
        jobs.sort_unstable();
        Ok(jobs)
    }
}

/// What drives calls over a network.
#[derive(Debug)]
pub(crate) struct Network {
    /// Taken when it is dropped.
    runtime: Option<Runtime>,
}

impl Network {
    fn start() -> Result<Self, Error> {
        let mut builder = Builder::new_multi_thread();
        let built = builder.worker_threads(2).thread_name("checkpoint-s3").enable_all().build();
        Ok(Self { runtime: Some(built.map_err(|source| Error::CannotStart { source })?) })
    }

    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.as_ref().expect("it is taken when it is dropped").block_on(future)
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

fn connect(url: &str, credentials: &S3Credentials) -> Result<(Medium, Location), Error> {
    let location = Location::parse(url)?;
    let retry = RetryConfig {
        backoff: BackoffConfig { max_backoff: Duration::from_secs(2), ..BackoffConfig::default() },
        max_retries: RETRIES,
        retry_timeout: RETRY_FOR,
    };
    let client = ClientOptions::new()
        .with_timeout(REQUEST_TIMEOUT)
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_allow_http(location.is_plain_http());
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&location.bucket)
        .with_client_options(client)
        .with_retry(retry)
        .with_conditional_put(S3ConditionalPut::ETagMatch);
    if let S3Credentials::Keys { access_key_id, secret_access_key } = credentials {
        builder = builder.with_access_key_id(access_key_id).with_secret_access_key(secret_access_key);
    }
    if let Some(endpoint) = &location.endpoint {
        builder = builder.with_endpoint(endpoint).with_virtual_hosted_style_request(false);
    }
    if let Some(region) = &location.region {
        builder = builder.with_region(region);
    }
    let store = builder.build().map_err(|source| location.bad(source.to_string()))?;
    Ok((Medium::of_network(Arc::new(store), Network::start()?), location))
}

impl Location {
    /// The error of a call that tried the bucket out.
    fn error(&self, action: &str, source: object_store::Error) -> Error {
        match source {
            object_store::Error::NotFound { .. } => Error::RootMissing { root: PathBuf::from(&self.url) },
            source => Error::medium(&format!("{action} at `{}`", self.url), source),
        }
    }

    /// Where objects are made to try the store out.
    fn probe_folder(&self) -> ObjectPath {
        self.prefix.clone().join("probe")
    }
}

#[cfg(test)]
mod tests;
