//! What nearly every function needs: `use tidegate::prelude::*;`.
//!
//! It brings a `Result` whose error may be left out, and the derives of the same names as the types.

pub use crate::{
    Aggregate, Aggregating, Assign, Assignment, Bytes, Config, Context, Count, Counter, Emitting, Envelope, Error,
    Fields, Forward, Gauge, Inputs, Json, KeyOnly, Keyed, List, Map, Max, Min, Output, RawJson, Reduce, Reducing,
    Result, Schema, Stored, Sum, Task, Timer, TimerClock, Timestamp, Unkeyed, Utf8, Value, bail, debug, error, info,
    trace, warn,
};
