//! The store on S3, or what speaks like it.

use std::fmt;
use std::path::PathBuf;

use object_store::path::Path as ObjectPath;

use contract::Randomness;
use model::JobName;

use crate::error::Error;
use crate::{JOBS_FOLDER, JobStore, place_of};

mod connect;
mod network;
mod probe;
mod secrets;
mod url;

pub(crate) use network::Network;

use connect::connect;
use url::Location;

/// Who we are to the store.
#[derive(Clone)]
pub enum S3Credentials {
    /// What the environment says: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`; or a web
    /// identity, or the role of a container or an instance. Profiles in files are not read.
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

/// A store in a bucket: `s3://bucket/prefix?endpoint=https://host:port&region=name`. What the URL does not say is taken
/// from `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, and from `AWS_REGION`. An endpoint that is not encrypted is on this
/// machine, or `AWS_ALLOW_HTTP` is `true`.
///
/// The store has to create an object only where there is none
/// (`If-None-Match: *`), also when many try at once, and a read or a list has to see every write that was answered;
/// the first is tried out when it is opened.
///
/// Its calls block, and must not be made from an asynchronous task.
#[derive(Debug)]
pub struct S3Store;

impl S3Store {
    /// Opens the place of `job` in the bucket, after trying the store out. `randomness` names the objects that the store
    /// is tried out with.
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

    /// Opens the place of `job` to look at it: nothing is tried out, nothing written. Keys that only read are enough.
    ///
    /// # Errors
    /// When the URL is none of a bucket.
    pub fn inspect(url: &str, credentials: &S3Credentials, job: &JobName) -> Result<JobStore, Error> {
        let (medium, location) = connect(url, credentials)?;
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
