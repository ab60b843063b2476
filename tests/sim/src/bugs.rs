//! Mistakes that a host can be told to make.

/// A planted bug. Each breaks one rule of the protocol; the oracle has to see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Output leaves when its manifest is about to be created, not when it is there.
    PublishBeforeManifest,
    /// The publisher does not look at the target's ledger.
    SkipLedger,
    /// A manifest lists its own epoch and forgets what aborted epochs owe.
    ForgetOwed,
    /// What a function wrote before it trapped is kept.
    ApplyTrappedWrites,
    /// A host whose number was taken takes the next one and goes on.
    IgnoreFence,
    /// A subtask acknowledges before its snapshot is durable.
    AcknowledgeEarly,
    /// A subtask takes its snapshot at the first barrier instead of the last.
    SkipAlignment,
    /// After a change of parallelism a subtask takes over whole parts instead of its own key groups.
    RestoreWholeParts,
    /// Positions are noted when the snapshot is uploaded, not when the barrier is sent.
    NotePositionsLate,
    /// Pending epochs of the manifest started from are not published.
    ForgetPending,
}

impl Bug {
    /// Every one.
    pub const ALL: [Self; 10] = [
        Self::PublishBeforeManifest,
        Self::SkipLedger,
        Self::ForgetOwed,
        Self::ApplyTrappedWrites,
        Self::IgnoreFence,
        Self::AcknowledgeEarly,
        Self::SkipAlignment,
        Self::RestoreWholeParts,
        Self::NotePositionsLate,
        Self::ForgetPending,
    ];
}
