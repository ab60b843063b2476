//! Storage roots: where they are, which jobs they hold, and what a job's log says.
//!
//! # Words
//! - *storage root*: the folder that `--storage` names, with the places of any number of jobs

use std::path::{Path, PathBuf};

use checkpoint::{JobStore, LocalStore};
use clap::Args;
use model::{JobName, ObjectNumber, Retry};
use protocol::manifest::{Claim, LogRecord, Manifest, decode};

use crate::report::{CliError, Problem};

/// The folder beside a job file that is the root unless another is named.
pub(crate) const DEFAULT_FOLDER: &str = ".tidegate";

/// Which job of which storage root a command is about.
#[derive(Debug, Clone, Args)]
pub(crate) struct JobPlace {
    /// The storage root.
    #[arg(long, env = "TIDEGATE_STORAGE", value_name = "DIR", default_value = DEFAULT_FOLDER)]
    pub(crate) storage: PathBuf,
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
    /// Opens the place of the job, which must be there.
    ///
    /// # Errors
    /// When the root cannot be used, or does not hold the job.
    pub(crate) fn open(&self) -> Result<OpenedJob, CliError> {
        let jobs = LocalStore::list_jobs(&self.storage).map_err(|error| self.root_error(error))?;
        let name = self.choose(&jobs)?;
        let store = LocalStore::open(&self.storage, &name).map_err(|error| self.root_error(error))?;
        Ok(OpenedJob { name, store })
    }

    fn choose(&self, jobs: &[JobName]) -> Result<JobName, CliError> {
        let root = self.storage.display();
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

    fn root_error(&self, error: checkpoint::Error) -> CliError {
        let help = format!("name the root with --storage or TIDEGATE_STORAGE; found `{}`", self.storage.display());
        CliError::from(contract::Error::from(error)).with_help(help)
    }
}

/// The root of a job that runs: the one named, or `.tidegate` beside the job file, which is made.
///
/// # Errors
/// When the folder beside the job file cannot be made.
pub(crate) fn root_for_run(named: Option<&Path>, job_directory: &Path) -> Result<PathBuf, CliError> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let root = job_directory.join(DEFAULT_FOLDER);
    std::fs::create_dir_all(&root).map_err(|error| {
        CliError::failed(format!("make the storage root `{}`: {error}", root.display()))
            .with_help("name a folder that can be written with --storage")
    })?;
    Ok(root)
}

/// What stands under a number of a job's log.
#[derive(Debug)]
pub(crate) struct LogEntry {
    pub(crate) number: ObjectNumber,
    /// What it says, or why it cannot be read.
    pub(crate) record: Result<LogRecord, String>,
}

impl LogEntry {
    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        match &self.record {
            Ok(LogRecord::Complete(manifest)) => Some(manifest),
            _ => None,
        }
    }

    pub(crate) fn claim(&self) -> Option<&Claim> {
        match &self.record {
            Ok(LogRecord::Claim(claim)) => Some(claim),
            _ => None,
        }
    }
}

/// Everything that the log holds, oldest first. What cannot be read is an entry that says so: a command that
/// looks must show what is there.
///
/// # Errors
/// When the store does not answer.
pub(crate) fn read_log(store: &JobStore) -> Result<Vec<LogEntry>, CliError> {
    let mut entries = Vec::new();
    for number in store.log.list()? {
        let record = match store.log.read(number) {
            // Removed since it was listed: nobody needs it any more.
            Ok(None) => continue,
            Ok(Some(object)) => decode(&object.body).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        entries.push(LogEntry { number, record });
    }
    Ok(entries)
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
