//! Storage roots: where they are, which jobs they hold, and what a job's log says.
//!
//! # Words
//! - *storage root*: the folder or bucket that `--storage` names, with the places of any number of jobs

mod root;

pub(crate) use root::{StorageRoot, check_savepoint_folder};

use checkpoint::JobStore;
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use model::{JobName, ObjectNumber, Retry};
use protocol::manifest::{LogRecord, Manifest, decode};

use crate::report::{CliError, Problem};

/// The folder beside a job file that is the root unless another is named.
pub(crate) const DEFAULT_FOLDER: &str = ".tidegate";

/// Which job of which storage root a command is about.
#[derive(Debug, Clone, Args)]
pub(crate) struct JobPlace {
    /// The storage root: a folder, or `s3://bucket/prefix`.
    #[arg(long, env = "TIDEGATE_STORAGE", value_name = "DIR|URL", default_value = DEFAULT_FOLDER,
        value_parser = root_parser(), hide_env_values = true)]
    pub(crate) storage: StorageRoot,
    /// The name of the job; needed where the storage root holds several.
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
}

/// A job's place, opened.
#[derive(Debug)]
pub(crate) struct OpenedJob {
    pub(crate) name: JobName,
    pub(crate) store: JobStore,
}

impl JobPlace {
    /// Opens the place of the job, which must be there, to look at it.
    ///
    /// # Errors
    /// When the root cannot be used, or does not hold the job.
    pub(crate) fn open(&self) -> Result<OpenedJob, CliError> {
        let name = self.choose(&self.storage.list_jobs()?)?;
        let store = self.storage.inspect(&name)?;
        Ok(OpenedJob { name, store })
    }

    fn choose(&self, jobs: &[JobName]) -> Result<JobName, CliError> {
        let root = &self.storage;
        let names = || jobs.iter().map(|job| format!("`{job}`")).collect::<Vec<_>>().join(", ");
        let (message, help) = match (&self.job, jobs) {
            (None, [only]) => return Ok(only.clone()),
            (Some(wanted), _) => match jobs.iter().find(|job| job.as_str() == wanted) {
                Some(job) => return Ok(job.clone()),
                None if jobs.is_empty() => (format!("storage root `{root}` holds no job"), None),
                None => {
                    (format!("storage root `{root}` holds no job `{wanted}`"), Some(format!("its jobs: {}", names())))
                }
            },
            (None, []) => (format!("storage root `{root}` holds no job"), None),
            (None, _) => {
                (format!("storage root `{root}` holds several jobs"), Some(format!("name one with --job: {}", names())))
            }
        };
        let help = help.unwrap_or_else(|| "a job with `checkpoint` makes its place when it first runs".to_owned());
        Err(CliError::of(Problem { code: Some("E0470".to_owned()), message, help: Some(help), ..Problem::default() }))
    }
}

/// Takes what `--storage` is given.
pub(crate) fn root_parser() -> impl TypedValueParser<Value = StorageRoot> {
    OsStringValueParser::new().map(StorageRoot::from)
}

/// What stands under a number of a job's log, or why it cannot be read: a command that looks must show what is there.
/// `None`: it was removed since it was listed, so nobody needs it any more.
///
/// # Errors
/// When the store does not answer.
pub(crate) fn read_record(
    store: &JobStore,
    number: ObjectNumber,
) -> Result<Option<Result<LogRecord, String>>, CliError> {
    Ok(match store.log.read(number) {
        Ok(None) => None,
        Ok(Some(object)) => Some(decode(&object.body).map_err(|error| error.to_string())),
        Err(error) if error.retry() == Retry::Backoff => return Err(error.into()),
        Err(error) => Some(Err(error.to_string())),
    })
}

/// The newest manifest of a log that can be read; `None` where no checkpoint is complete.
///
/// # Errors
/// When the store does not answer.
pub(crate) fn newest_manifest(store: &JobStore) -> Result<Option<Manifest>, CliError> {
    for number in store.log.list()?.into_iter().rev() {
        let body = match store.log.read(number) {
            Ok(object) => object.map(|object| object.body),
            Err(error) if error.retry() == Retry::Backoff => return Err(error.into()),
            // Whoever starts the job judges what is damaged.
            Err(_) => None,
        };
        if let Some(Ok(LogRecord::Complete(manifest))) = body.map(|body| decode(&body)) {
            return Ok(Some(*manifest));
        }
    }
    Ok(None)
}
