//! Driving a function in a plain test.
