//! The job file as a JSON Schema: for editors, and for a person who asks `tidegate` for it.
//!
//! These types describe and are never filled: the readers beside this module report every problem with
//! its place, which a derived reader cannot. A test holds the two together key by key.
#![expect(dead_code, reason = "the types describe the file and are never filled")]

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{DEFAULT_KEY_GROUPS, MAX_KEY_GROUPS, MAX_PARALLELISM};

mod operators;

use self::operators::{DeadLetters, Function, Sink, Source};
use super::spec::JobSpec;

impl JobSpec {
    /// The JSON Schema of a job file, as a pretty JSON text.
    #[must_use]
    pub fn json_schema() -> String {
        let schema = schemars::schema_for!(JobFile);
        format!("{:#}", schema.as_value())
    }
}

/// A JSON schema with a type of its own.
macro_rules! described {
    ($(#[$doc:meta])* $name:ident, $title:literal, $schema:tt) => {
        $(#[$doc])*
        struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $title.into()
            }

            fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

described!(
    /// A number of bytes.
    Size, "size", {
        "description": "A size such as `64MiB` or `100kB`, or a number of bytes.",
        "type": ["string", "integer"],
        "minimum": 0
    }
);
described!(
    /// A stretch of time.
    Span, "duration", {
        "description": "A duration with its unit, such as `250ms`, `5s` or `1h 30m`.",
        "type": "string"
    }
);
described!(
    /// One reference or several.
    Refs, "inputs", {
        "description": "A source (`orders`), a function (`dedup`), one of its outputs (`dedup.late`), or a list of such.",
        "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "string" }, "minItems": 1 }
        ]
    }
);
described!(
    /// One text or several.
    Texts, "texts", {
        "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "string" }, "minItems": 1 }
        ]
    }
);

/// A Tidegate job: sources, functions and sinks, and how records flow between them.
#[derive(JsonSchema)]
#[schemars(title = "Tidegate job file", deny_unknown_fields)]
struct JobFile {
    /// The name of the job: 1 to 64 of a-z, 0-9 and `-`, a letter first.
    #[schemars(regex(pattern = "^[a-z][a-z0-9-]{0,63}$"))]
    name: String,
    /// How many subtasks each operator has unless it says otherwise.
    #[schemars(range(min = 1, max = MAX_PARALLELISM), default = "one")]
    parallelism: Option<u32>,
    /// How many key groups keyed state is cut into: the most subtasks it can ever be spread over.
    #[schemars(range(min = 1, max = MAX_KEY_GROUPS), default = "key_groups")]
    key_groups: Option<u32>,
    /// Checkpoints; without it the job has none, and reads everything again after a crash.
    checkpoint: Option<Checkpoint>,
    /// Where keyed state lives.
    state: Option<State>,
    /// What happens after a failure; of a job with checkpoints alone.
    restart: Option<Restart>,
    /// When a batch of records is closed.
    batch: Option<Batch>,
    /// The most bytes that wait between two subtasks before the sender is held.
    queue_bytes: Option<Size>,
    /// Where records come from, by name.
    #[schemars(length(min = 1))]
    sources: BTreeMap<String, Source>,
    /// What is done with them, by operator uid.
    functions: Option<BTreeMap<String, Function>>,
    /// Where they go, by name.
    #[schemars(length(min = 1))]
    sinks: BTreeMap<String, Sink>,
    /// Where records go that were given up on: one connector of a sink.
    dead_letters: Option<DeadLetters>,
}

fn one() -> u32 {
    1
}

fn three() -> u32 {
    3
}

fn ten() -> u32 {
    10
}

fn key_groups() -> u32 {
    u32::from(DEFAULT_KEY_GROUPS)
}

/// Checkpoints: `{}` for every default.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Checkpoint {
    /// From the start of one to the start of the next, 10ms to 1day; 10s.
    interval: Option<Span>,
    /// After this long a checkpoint is aborted, 100ms to 1day; 60s.
    timeout: Option<Span>,
    /// The least time from the end of one to the start of the next, up to 1day; 1s, or half the interval if that is less.
    min_pause: Option<Span>,
    /// How many in a row may be aborted before the job fails.
    #[schemars(range(min = 0, max = 1000), default = "three")]
    tolerable_failures: Option<u32>,
    /// How many complete ones are kept.
    #[schemars(range(min = 1, max = 1000), default = "three")]
    retain: Option<u32>,
}

/// Where keyed state lives.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct State {
    /// What stores it.
    backend: Option<Backend>,
}

/// What stores keyed state.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum Backend {
    /// The memory of the process.
    Memory,
    /// A local disk, through RocksDB, with what was used last in memory; for state larger than memory. Needs `checkpoint`.
    Rocksdb,
}

/// What happens after a failure.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Restart {
    /// How often the job is started again before it stays failed; 0: never.
    #[schemars(range(min = 0, max = 1_000_000), default = "ten")]
    attempts: Option<u32>,
    /// The wait before the first and the longest wait, 10ms to 1h: `1s..60s`. Each is twice the one before.
    backoff: Option<String>,
}

/// When a batch of records is closed: at whichever comes first, and always when the input is idle.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Batch {
    /// The most rows.
    #[schemars(range(min = 1, max = 65_536))]
    max_rows: Option<u32>,
    /// About the most bytes; a larger record travels alone.
    max_bytes: Option<Size>,
    /// The longest a record waits for others.
    max_age: Option<Span>,
}
