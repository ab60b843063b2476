//! One module per command: reads its arguments, asks the rooms, prints the result.

pub(crate) mod build;
pub(crate) mod checkpoint;
pub(crate) mod explain;
pub(crate) mod files;
pub(crate) mod new;
pub(crate) mod run;
pub(crate) mod savepoint;
pub(crate) mod test;
pub(crate) mod texts;
