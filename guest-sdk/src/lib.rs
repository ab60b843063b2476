//! Write Tidegate functions: typed records in, keyed state, records out.
