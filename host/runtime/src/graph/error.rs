//! Why a graph cannot be run.

use format::CutError;
use model::{Blame, InputId, OperatorUid, Parallelism, Retry};
use protocol::key_group;

/// Why a graph cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Two nodes have one name, or one has a name the engine uses itself.
    #[error("operator `{uid}`: the name is {why}")]
    Name {
        /// The name.
        uid: OperatorUid,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An edge from a node that does not exist.
    #[error("operator `{uid}` reads `{from}`: there is no source or function of that name")]
    NoSuchNode {
        /// Who reads.
        uid: OperatorUid,
        /// What it names.
        from: OperatorUid,
    },
    /// An edge from an output that does not exist.
    #[error("operator `{uid}` reads `{from}.{output}`: the outputs of `{from}` are {outputs}")]
    NoSuchOutput {
        /// Who reads.
        uid: OperatorUid,
        /// The node it names.
        from: OperatorUid,
        /// The output it names.
        output: String,
        /// What there is.
        outputs: String,
    },
    /// An edge into an input that does not exist.
    #[error("function `{uid}` has no input {input}: its inputs are {inputs}")]
    NoSuchInput {
        /// The function.
        uid: OperatorUid,
        /// The input named.
        input: InputId,
        /// What there is.
        inputs: String,
    },
    /// Something that reads, and is given nothing.
    #[error("operator `{uid}` has nothing to read: {what} is not connected")]
    NotConnected {
        /// The function or sink.
        uid: OperatorUid,
        /// Which of its inputs.
        what: String,
    },
    /// A function reads, over others, what it writes.
    #[error("operators {path} form a cycle")]
    Cycle {
        /// The functions of the cycle.
        path: String,
    },
    /// A key where none belongs, or none where one is needed.
    #[error("function `{uid}` {why}")]
    Key {
        /// The function.
        uid: OperatorUid,
        /// What does not fit.
        why: &'static str,
    },
    /// Key, time or fields cannot be cut out of what arrives.
    #[error("operator `{uid}` reads `{from}`: {cause}")]
    Cut {
        /// Who asks.
        uid: OperatorUid,
        /// Whose records they are.
        from: OperatorUid,
        /// Why not.
        cause: CutError,
    },
    /// The fields of an output cannot be written in the format asked for.
    #[error("output `{output}` of `{uid}`: {cause}")]
    Encode {
        /// The function.
        uid: OperatorUid,
        /// The output.
        output: String,
        /// Why not.
        cause: CutError,
    },
    /// Key groups and parallelism do not go together.
    #[error("operator `{uid}`: {cause}")]
    KeyGroups {
        /// The operator.
        uid: OperatorUid,
        /// Why not.
        cause: key_group::Error,
    },
    /// No subtask at all.
    #[error("operator `{uid}`: parallelism {parallelism}: expected 1 to {most}")]
    Parallelism {
        /// The operator.
        uid: OperatorUid,
        /// What was asked for.
        parallelism: Parallelism,
        /// The most there can be.
        most: u32,
    },
    /// Keyed state and nothing to hold it.
    #[error("function `{uid}` declares state or timers: it needs a state backend")]
    NoStateBackend {
        /// The function.
        uid: OperatorUid,
    },
}

impl Error {
    /// The code of its page.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSuchNode { .. }
            | Self::NoSuchOutput { .. }
            | Self::NoSuchInput { .. }
            | Self::NotConnected { .. } => "E0501",
            Self::Cycle { .. } => "E0502",
            Self::Key { .. } => "E0503",
            Self::Name { .. } => "E0504",
            Self::KeyGroups { .. } | Self::Parallelism { .. } => "E0505",
            Self::NoStateBackend { .. } => "E0506",
            Self::Cut { cause, .. } | Self::Encode { cause, .. } => cause.code(),
        }
    }
}

impl From<Error> for contract::Error {
    fn from(error: Error) -> Self {
        let code = error.code();
        Self::new(Blame::Config, Retry::No, error.to_string()).with_code(code)
    }
}
