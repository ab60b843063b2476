//! The macros of tidegate-guest.
