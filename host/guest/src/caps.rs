//! Bounds on what a guest controls, the same for every function.
//!
//! All of them hold for a batch as for a record alone: a batch that exceeds one is halved by the
//! engine, so each is at least what a full batch of honest records needs.

/// Largest component accepted, in bytes. The largest honest one seen is an 18 MB Python interpreter.
pub const MODULE_BYTES: usize = 64 << 20;

/// Most bytes a batch may stage, all writes and emits together, and what it sends on more than once.
/// 256 times a full batch of 256 KiB, and little enough that every subtask of a host may hold as much at
/// once.
pub const STAGED_BYTES: usize = 64 << 20;

/// Most bytes one call may pass to the host, before anything of it is copied: what a batch may stage,
/// and room for the lists around it.
pub const CALL_BYTES: usize = STAGED_BYTES + (1 << 20);

/// Most rows a batch may emit, all outputs together: 256 for each of 4096 records.
pub const ROWS_OUT: usize = 1 << 20;

/// Most state writes of a batch: 256 for each of 4096 records.
pub const STATE_WRITES: usize = 1 << 20;

/// Most timers a batch may set or cancel, both clocks together: 256 for each of 4096 records.
pub const TIMERS: usize = 1 << 20;

/// Most calls of `emit`, `state.store` and `timers` in a batch: a function that makes a few for each of 4096
/// records passes, one that loops is stopped before the host holds much for it.
pub const STAGING_CALLS: usize = 1 << 16;

/// Longest state value, in bytes; what is larger belongs into a map or a list. A column ends at 4 GiB,
/// which a large batch of them exceeds: loads go by [`LOAD_CHUNK`].
pub const VALUE_BYTES: usize = (1 << 20) - 1;

/// Longest entry key of a map or list, in bytes: what RocksDB and the state log take without harm.
pub const ENTRY_KEY_BYTES: usize = 1 << 16;

/// Most bytes of state handed to a guest by one call: what a guest with the default memory could hold.
pub const LOADED_BYTES: usize = 64 << 20;

/// Values or entries asked of the state at a time: bounds what is read beyond [`LOADED_BYTES`] before we
/// notice, to 128 MiB of values.
pub const LOAD_CHUNK: usize = 128;

/// Longest log line, in bytes; the rest is cut. A line of text, not a dump.
pub const LOG_LINE_BYTES: usize = 4 << 10;

/// Most log lines of a batch; the rest is dropped and counted.
pub const LOG_LINES: usize = 256;

/// Most bytes of log lines of a batch; the rest is dropped and counted. No more than a batch itself
/// weighs.
pub const LOG_BYTES: usize = 64 << 10;

/// Most additions to metrics in a batch; the rest is dropped and counted. A few for each of 4096
/// records pass.
pub const METRIC_CALLS: usize = 1 << 16;

/// Longest text of a panic, a bad record or a refusal, in bytes; the rest is cut.
pub const MESSAGE_BYTES: usize = 4 << 10;

/// Most bytes a descriptor may have, all names, paths and schemas together: 64 ports of 256 fields.
pub const DESCRIPTOR_BYTES: usize = 4 << 20;

/// Longest schema of a state or port, in bytes: it is shown, stored and compared as a whole.
pub const SCHEMA_BYTES: usize = 64 << 10;

/// Linear memories, tables and core instances of one instance. A Rust guest has one memory, two tables
/// and four core instances; an interpreter that links shared libraries some dozens of the last.
pub const MEMORIES: usize = 4;
/// As [`MEMORIES`].
pub const TABLES: usize = 8;
/// As [`MEMORIES`].
pub const CORE_INSTANCES: usize = 64;

/// Elements of one table. An interpreter has some ten thousand functions behind pointers.
pub const TABLE_ELEMENTS: usize = 1 << 16;

/// Cuts `text` to at most `most` bytes, at a character.
pub(crate) fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}
