//! Tests on the source tree itself: room edges, file length, error pages.
