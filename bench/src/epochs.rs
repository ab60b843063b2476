//! Jobs of the engine with epochs: what they are stored in, and what their checkpoints cost.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use connectors::file::{DEFAULT_ROLL_BYTES, FileLayout, StagedFileSink, StagedFileSinkOptions, committed_files};
use model::job::{FormatSpec, SinkCompression};
use runtime::{CheckpointSummary, Durability, JobGraph, JobHandle, Summary, SystemClock};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::measure::nanos;
use crate::raw::each_line;
use crate::stored;
use crate::tally::Tally;

/// What one checkpoint of a job cost.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct EpochFigures {
    /// From the trigger until the manifest was there; `None`: it was aborted.
    pub(crate) duration_ns: Option<u64>,
    /// From the manifest until every sink had published.
    pub(crate) publish_ns: Option<u64>,
    /// The longest sync part of a subtask.
    pub(crate) sync_ns: u64,
    /// The longest alignment of a subtask.
    pub(crate) alignment_ns: u64,
    /// The longest upload of a subtask.
    pub(crate) upload_ns: u64,
    /// Bytes that became durable.
    pub(crate) bytes: u64,
}

impl EpochFigures {
    fn new(summary: &CheckpointSummary) -> Self {
        let subtasks = || summary.subtasks.iter();
        let most =
            |of: fn(&runtime::SubtaskCheckpoint) -> Duration| nanos(subtasks().map(of).max().unwrap_or_default());
        let between = |from: Option<Duration>, to: Option<Duration>| Some(nanos(to?.saturating_sub(from?)));
        Self {
            duration_ns: between(Some(summary.triggered_at), summary.completed_at),
            publish_ns: between(summary.completed_at, summary.published_at),
            sync_ns: most(|subtask| subtask.sync),
            alignment_ns: most(|subtask| subtask.alignment),
            upload_ns: most(|subtask| subtask.upload),
            bytes: subtasks().map(|subtask| subtask.bytes).sum(),
        }
    }
}

/// Storage and output of a job with epochs: in a folder that goes with it.
pub(crate) struct Epochs {
    folder: TempDir,
    durability: Durability,
}

impl Epochs {
    /// Epochs of `interval`, below `directory`.
    ///
    /// # Errors
    /// When the folder cannot be made or written.
    pub(crate) fn prepare(directory: &Path, interval: Duration) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("epochs-").tempdir_in(directory)?;
        let durability = stored::durability(folder.path(), Some(interval))?;
        Ok(Self { folder, durability })
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    /// The exactly-once sink of the job.
    pub(crate) fn sink(&self, format: FormatSpec) -> StagedFileSink {
        StagedFileSink::new(StagedFileSinkOptions {
            path: self.output(),
            layout: FileLayout::Commits,
            compression: SinkCompression::None,
            format,
            roll_bytes: DEFAULT_ROLL_BYTES,
            owner: "job `bench`, sink `sink`".to_owned(),
            takes_over: None,
        })
    }

    /// Starts the job.
    ///
    /// # Errors
    /// When the engine refuses.
    pub(crate) fn start(&self, graph: &JobGraph) -> anyhow::Result<JobHandle> {
        Ok(runtime::start_durable(graph, Arc::new(SystemClock::new()), &self.durability)?)
    }

    /// What the sink has committed.
    ///
    /// # Errors
    /// When a file is not as it was committed.
    pub(crate) fn committed(&self) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        let committed = committed_files(&self.output())?;
        ensure!(committed.is_whole(), "a committed file is not as it was committed");
        for file in committed.files {
            each_line(&file.path, |line| {
                tally.sum(line);
                Ok(())
            })?;
        }
        Ok(tally)
    }
}

/// Waits for the end of a job, and says what its checkpoints cost, oldest first.
///
/// # Errors
/// The failure of the job.
pub(crate) fn wait(handle: JobHandle) -> anyhow::Result<(Summary, Vec<EpochFigures>)> {
    /// The end is signalled; this only bounds how long one wait takes.
    const LOOK: Duration = Duration::from_secs(60);
    while !handle.wait_for(LOOK) {}
    let checkpoints = handle.checkpoints().iter().rev().map(EpochFigures::new).collect();
    Ok((handle.wait()?, checkpoints))
}
