//! Wire formats: one decoding pass cuts key, time and fields out of a value; one encoder puts fields back.
