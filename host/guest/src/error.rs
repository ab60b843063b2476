//! What can go wrong before a function runs.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use contract::{Failure, FailureKind};
use model::{Blame, DescriptorError, Retry};

use crate::inspect::{FileKind, WORLD_PACKAGE, WORLD_VERSION};

/// Why a module or an instance cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file has no bytes.
    #[error("the file is empty: expected a WebAssembly component")]
    Empty,
    /// The file is something else.
    #[error("the file is {found}: expected a WebAssembly component, as `tidegate build` makes it")]
    NotWasm {
        /// What it is.
        found: FileKind,
    },
    /// A core module, not yet a component.
    #[error("the file is a WebAssembly core module: expected a component, as `tidegate build` makes it")]
    CoreModule,
    /// Native code.
    #[error("the file is {found}: precompiled code is never loaded, expected the component it was made from")]
    Precompiled {
        /// What it is.
        found: FileKind,
    },
    /// The file is larger than a module may be.
    #[error("the file has {bytes} bytes: at most {most} are allowed")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The cap.
        most: usize,
    },
    /// A component that breaks the rules of WebAssembly.
    #[error("the component is not valid: {reason}")]
    Invalid {
        /// What the validator says.
        reason: String,
    },
    /// A component of another world.
    #[error("the component does not export `{missing}`: it exports {exports}")]
    ForeignWorld {
        /// What every function exports.
        missing: String,
        /// What it exports instead.
        exports: String,
    },
    /// A component that asks for more than a function may have.
    #[error("the component imports {}: a function may import `{WORLD_PACKAGE}` and nothing else", quoted(.imports))]
    ForeignImports {
        /// The names, as they stand in the component.
        imports: Vec<String>,
    },
    /// A component made for another version of the world.
    #[error("the component needs `{name}`: this host has version {WORLD_VERSION}")]
    OtherVersion {
        /// The import or export.
        name: String,
    },
    /// Names fit, types do not.
    #[error("the component does not fit the world `{WORLD_PACKAGE}`: {reason}")]
    OtherShape {
        /// Where they differ.
        reason: String,
    },
    /// It needs more memories, tables or core instances than an instance may have.
    #[error("the component needs more than an instance may have: {reason}")]
    TooDemanding {
        /// What it needs.
        reason: String,
    },
    /// The compiler used up a limit.
    #[error("compile used more than {what} allows ({limit}): the component is too much for it")]
    CompileLimit {
        /// Which limit.
        what: &'static str,
        /// How much it allows.
        limit: String,
    },
    /// The compiler could not be run, or died.
    #[error("run the compiler `{}`: {reason}", program.display())]
    CompilerBroken {
        /// The program.
        program: PathBuf,
        /// What happened.
        reason: String,
    },
    /// `describe` trapped or hit a limit.
    #[error("{0}")]
    Describe(Failure),
    /// What the function says of itself breaks a rule.
    #[error("the function describes itself wrongly: {0}")]
    Descriptor(#[from] DescriptorError),
    /// A schema in the descriptor is no JSON, or too long.
    #[error("the schema of {what} `{name}` {problem}")]
    Schema {
        /// "state", "input" or "output".
        what: &'static str,
        /// Whose.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The function refused its config.
    #[error("the function refuses its config: {message}")]
    Refused {
        /// In its own words.
        message: String,
    },
    /// `open` or a start function trapped or hit a limit.
    #[error("{0}")]
    Open(Failure),
    /// No more instances fit.
    #[error("make an instance: {reason}")]
    Instantiate {
        /// What wasmtime says.
        reason: String,
    },
    /// A limit of the job that cannot be kept.
    #[error("limit `{setting}` is {value}: expected {expected}")]
    Limit {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// The engine cannot be made.
    #[error("reserve {reservation_gib} GiB of address space for functions: {reason}")]
    Engine {
        /// How much it wanted.
        reservation_gib: u64,
        /// What the system says.
        reason: String,
    },
    /// The ticker cannot be started.
    #[error("start the thread for deadlines: {source}")]
    Thread {
        /// What the system says.
        source: io::Error,
    },
    /// The folder for compiled modules cannot be used.
    #[error("use `{}` for compiled modules: {reason}", path.display())]
    CacheFolder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The state behind an instance failed while it was opened.
    #[error(transparent)]
    Behind(#[from] contract::Error),
}

impl Error {
    /// The code of its page in `docs/errors`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "E0201",
            Self::NotWasm { .. } => "E0202",
            Self::CoreModule => "E0203",
            Self::Precompiled { .. } => "E0204",
            Self::TooLarge { .. } => "E0205",
            Self::Invalid { .. } => "E0206",
            Self::ForeignWorld { .. } => "E0207",
            Self::ForeignImports { .. } => "E0208",
            Self::OtherVersion { .. } => "E0209",
            Self::OtherShape { .. } => "E0210",
            Self::CompileLimit { .. } => "E0211",
            Self::CompilerBroken { .. } => "E0212",
            Self::Describe(_) => "E0213",
            Self::Descriptor(_) | Self::Schema { .. } => "E0214",
            Self::Refused { .. } => "E0215",
            Self::Open(_) => "E0216",
            Self::Instantiate { .. } => "E0217",
            Self::Limit { .. } => "E0218",
            Self::Engine { .. } | Self::Thread { .. } => "E0219",
            Self::CacheFolder { .. } => "E0220",
            Self::TooDemanding { .. } => "E0221",
            Self::Behind(error) => error.code().unwrap_or("E0216"),
        }
    }

    /// Whose fault it is.
    #[must_use]
    pub fn blame(&self) -> Blame {
        match self {
            Self::Refused { .. } | Self::Limit { .. } | Self::CacheFolder { .. } => Blame::Config,
            Self::CompilerBroken { .. } | Self::Instantiate { .. } => Blame::Host,
            Self::Engine { .. } | Self::Thread { .. } => Blame::External,
            Self::Behind(error) => error.blame(),
            _ => Blame::Guest,
        }
    }

    /// What helps now.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            // Time is the one limit that a busy machine can exceed without the function's doing.
            Self::Open(failure) | Self::Describe(failure) if failure.kind == FailureKind::Deadline => Retry::Backoff,
            Self::CompilerBroken { .. } | Self::Instantiate { .. } => Retry::Backoff,
            Self::Behind(error) => error.retry(),
            _ => Retry::No,
        }
    }

    pub(crate) fn wall_clock(limit: Duration) -> Self {
        Self::CompileLimit { what: "wall-clock time", limit: format!("{} s", limit.as_secs()) }
    }
}

impl From<Error> for contract::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Behind(error) => error,
            error => {
                Self::new(error.blame(), error.retry(), error.to_string()).with_code(error.code()).with_source(error)
            }
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
