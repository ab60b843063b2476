//! Made-up records.
