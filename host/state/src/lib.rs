//! The state log: keyed state as an index over append-only segments.
