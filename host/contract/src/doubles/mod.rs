//! In-memory doubles of the seams.
