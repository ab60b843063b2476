//! A storage root: a folder of this machine, or a bucket.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use checkpoint::{JobStore, LocalStore, shown_url};
use model::JobName;

use super::DEFAULT_FOLDER;
use crate::report::{CliError, Problem};

/// What a store behind a network is named by.
const BUCKET: &str = "s3://";

/// Where the places of jobs lie.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum StorageRoot {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket, or what its name says that it should be: a URL, which may hold what nobody may see.
    Url(String),
}

impl From<OsString> for StorageRoot {
    fn from(named: OsString) -> Self {
        match named.to_str() {
            Some(text) if is_url(text) => Self::Url(text.to_owned()),
            _ => Self::Folder(named.into()),
        }
    }
}

impl fmt::Display for StorageRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            Self::Url(url) => f.write_str(&shown_url(url)),
        }
    }
}

impl fmt::Debug for StorageRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

impl StorageRoot {
    /// The root of a job that runs: the one named, or `.tidegate` beside the job file, which is made.
    ///
    /// # Errors
    /// When the folder beside the job file cannot be made.
    pub(crate) fn of_run(named: Option<&Self>, job_directory: &Path) -> Result<Self, CliError> {
        if let Some(named) = named {
            return Ok(named.clone());
        }
        let folder = job_directory.join(DEFAULT_FOLDER);
        let made = LocalStore::make_root(&folder);
        let root = Self::Folder(folder);
        made.map_err(|error| root.refused(error))?;
        Ok(root)
    }

    /// Opens the place of a job that is to run: the root is tried out first.
    ///
    /// # Errors
    /// When it cannot be used.
    pub(crate) fn open(&self, job: &JobName) -> Result<JobStore, CliError> {
        match self {
            Self::Folder(folder) => LocalStore::open(folder, job).map_err(|error| self.refused(error)),
            Self::Url(url) => self.bucket(url)?.open(url, job)?.map_err(|error| self.refused(error)),
        }
    }

    /// Opens the place of a job to look at it: nothing is written.
    ///
    /// # Errors
    /// When the root cannot be read.
    pub(crate) fn inspect(&self, job: &JobName) -> Result<JobStore, CliError> {
        match self {
            Self::Folder(folder) => LocalStore::inspect(folder, job).map_err(|error| self.refused(error)),
            Self::Url(url) => self.bucket(url)?.inspect(url, job).map_err(|error| self.refused(error)),
        }
    }

    /// The jobs that have a place in the root, by name.
    ///
    /// # Errors
    /// When the root cannot be read.
    pub(crate) fn list_jobs(&self) -> Result<Vec<JobName>, CliError> {
        match self {
            Self::Folder(folder) => LocalStore::list_jobs(folder).map_err(|error| self.refused(error)),
            Self::Url(url) => self.bucket(url)?.list_jobs(url).map_err(|error| self.refused(error)),
        }
    }

    /// What opens buckets, if the URL is of one and this program can.
    fn bucket(&self, url: &str) -> Result<bucket::Opener, CliError> {
        if !url.starts_with(BUCKET) {
            return Err(CliError::of(Problem {
                code: Some("E0409".to_owned()),
                message: format!("`{self}` names no store: expected a folder or `s3://bucket/prefix`"),
                ..Problem::default()
            }));
        }
        bucket::Opener::new(self)
    }

    fn refused(&self, error: checkpoint::Error) -> CliError {
        let help = match (self, error.code()) {
            (Self::Folder(_), _) => "the root is named by --storage or TIDEGATE_STORAGE".to_owned(),
            (_, Some("E0403" | "E0407")) if std::env::var_os("AWS_ACCESS_KEY_ID").is_none() => {
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, so this machine was asked for its role: set them"
                    .to_owned()
            }
            (_, Some("E0407")) => {
                format!("the keys have to be of somebody who may list, read, create and delete objects of `{self}`")
            }
            (Self::Url(_), _) => "the root is named by --storage or TIDEGATE_STORAGE".to_owned(),
        };
        CliError::from(contract::Error::from(error)).with_help(help)
    }
}

/// Refuses a savepoint that is not in a folder.
///
/// # Errors
/// When `folder` is a URL.
pub(crate) fn check_savepoint_folder(folder: &Path) -> Result<(), CliError> {
    match folder.to_str().filter(|text| is_url(text)) {
        None => Ok(()),
        Some(url) => Err(CliError::usage(format!(
            "`{}`: a savepoint is written to and read from a folder",
            shown_url(url)
        ))
        .with_help(
            "it is complete in itself: copy the folder to a bucket and back, with `aws s3 cp --recursive` or the like",
        )),
    }
}

/// Whether a text is meant as a URL: `scheme://…`.
fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.bytes().all(|it| it.is_ascii_alphanumeric() || b"+-.".contains(&it))
    })
}

#[cfg(feature = "s3")]
mod bucket {
    use checkpoint::{Error, JobStore, S3Credentials, S3Store};
    use model::JobName;

    use super::StorageRoot;
    use crate::randomness::SystemRandomness;
    use crate::report::CliError;

    /// Opens buckets, as whoever the environment says that we are.
    pub(super) struct Opener;

    impl Opener {
        #[expect(clippy::unnecessary_wraps, reason = "a program without the feature `s3` refuses here")]
        pub(super) fn new(_root: &StorageRoot) -> Result<Self, CliError> {
            Ok(Self)
        }

        pub(super) fn open(&self, url: &str, job: &JobName) -> Result<Result<JobStore, Error>, CliError> {
            let randomness = SystemRandomness::open()?;
            Ok(S3Store::open(url, &S3Credentials::Environment, job, &randomness))
        }

        pub(super) fn inspect(&self, url: &str, job: &JobName) -> Result<JobStore, Error> {
            S3Store::inspect(url, &S3Credentials::Environment, job)
        }

        pub(super) fn list_jobs(&self, url: &str) -> Result<Vec<JobName>, Error> {
            S3Store::list_jobs(url, &S3Credentials::Environment)
        }
    }
}

#[cfg(not(feature = "s3"))]
mod bucket {
    use checkpoint::{Error, JobStore};
    use model::JobName;

    use super::StorageRoot;
    use crate::report::{CliError, Problem};

    /// Is never made: this program opens no buckets.
    pub(super) enum Opener {}

    impl Opener {
        pub(super) fn new(root: &StorageRoot) -> Result<Self, CliError> {
            Err(CliError::of(Problem {
                code: Some("E0411".to_owned()),
                message: format!("storage root `{root}`: this tidegate was built without the feature `s3`"),
                help: Some(
                    "name a folder with --storage or TIDEGATE_STORAGE, or build with `cargo build --release --bin tidegate`, which has all features"
                        .to_owned(),
                ),
                ..Problem::default()
            }))
        }

        pub(super) fn open(&self, _url: &str, _job: &JobName) -> Result<Result<JobStore, Error>, CliError> {
            match *self {}
        }

        pub(super) fn inspect(&self, _url: &str, _job: &JobName) -> Result<JobStore, Error> {
            match *self {}
        }

        pub(super) fn list_jobs(&self, _url: &str) -> Result<Vec<JobName>, Error> {
            match *self {}
        }
    }
}
