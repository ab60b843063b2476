//! What became of the checkpoints of a job, over all its incarnations in this process.

use model::Epoch;
use runtime::CheckpointSummary;

/// Counts that only rise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) completed: u64,
    pub(crate) aborted: u64,
    counted: Epoch,
    last_complete: Option<Epoch>,
}

impl Tally {
    /// Counts what has come to its end since the last call; `checkpoints` are the last ones, newest first.
    pub(crate) fn update(&mut self, checkpoints: &[CheckpointSummary]) {
        for checkpoint in checkpoints.iter().rev() {
            if checkpoint.epoch <= self.counted {
                continue;
            }
            match (checkpoint.completed_at, &checkpoint.aborted) {
                (Some(_), _) => {
                    self.completed += 1;
                    self.last_complete = Some(checkpoint.epoch);
                }
                (None, Some(_)) => self.aborted += 1,
                // Those after it have not come to their end either.
                (None, None) => break,
            }
            self.counted = checkpoint.epoch;
        }
    }

    /// The last epoch whose checkpoint was seen to be complete.
    pub(crate) fn last_complete(&self) -> Option<Epoch> {
        self.last_complete
    }
}
