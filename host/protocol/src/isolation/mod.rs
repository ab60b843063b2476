//! The search for the records to blame when a batch fails.
//!
//! A batch is a transaction: when the function fails on it, nothing it staged counts, and nobody knows
//! which record was to blame. This machine says which rows to try next. It halves the rows that
//! failed, or cuts out the row that the function named, until a row fails alone in a fresh instance:
//! that row is condemned and the search goes on behind it. So the verdict on a record depends on the
//! record and the state before it, never on its neighbours.
//!
//! # Words
//! - *attempt*: one call of the function with consecutive rows
//! - *fresh*: nothing was processed since the instance was made
//! - *condemned*: failed alone in a fresh instance
//!
//! # Invariants
//! 1. Every row is applied in exactly one attempt that succeeded, or condemned; never both.
//! 2. Rows are settled in order: when a row is tried, every row before it is settled.
//! 3. A row is condemned only after it failed alone in a fresh instance.
//! 4. An attempt that follows a failure asks for a fresh instance.
//! 5. With `b` rows that fail whatever their company and `n` rows in all, there are at most
//!    [`attempts_bound`] attempts, whatever rows the function names. A hint that proves wrong is the
//!    last one believed.
//!
//! # Absent on purpose
//! What happens to a condemned row: see [`crate::on_error`]. How an instance is renewed: `guest`.

use std::ops::Range;

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The function returned ok; what it staged was applied.
    Applied,
    /// The function failed; what it staged was dropped.
    Failed {
        /// The row it names, counted from the first row of the batch (not of the attempt).
        hint: Option<u32>,
        /// Whether the instance was fresh when the attempt began.
        fresh: bool,
    },
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Call the function with these rows, then report the [`Outcome`].
    Try {
        /// Consecutive rows of the batch.
        rows: Range<u32>,
        /// Whether the instance must be renewed first.
        fresh: bool,
    },
    /// This row is the bad one. Deal with it, then ask on.
    Condemn {
        /// The row.
        row: u32,
    },
    /// Every row is settled.
    Done,
}

/// The search through one batch. Ask [`Search::next`], act, report with [`Search::report`] after every
/// attempt, until [`Step::Done`].
#[derive(Clone, Debug)]
pub struct Search {
    /// Unsettled ranges, the next one last; together with what is settled they cover the batch.
    ahead: Vec<Part>,
    condemned: Option<u32>,
    after_failure: bool,
    believes_hints: bool,
}

/// A range to try, and what the last hint claims of it.
#[derive(Clone, Debug)]
struct Part {
    rows: Range<u32>,
    claim: Claim,
}

/// What a hint says of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// Nothing.
    None,
    /// That it succeeds: the function came past it.
    Good,
    /// That it fails: it is the row named.
    Bad,
}

impl Search {
    /// A search through the rows `0..rows`, beginning with all of them.
    #[must_use]
    pub fn new(rows: u32) -> Self {
        Self::in_pieces(rows, u32::MAX)
    }

    /// A search through the rows `0..rows`, beginning with pieces of at most `most` rows (at least 1): for
    /// a function that is known to fail on more, although no row of them is bad.
    #[must_use]
    pub fn in_pieces(rows: u32, most: u32) -> Self {
        let mut search = Self { ahead: Vec::new(), condemned: None, after_failure: false, believes_hints: true };
        let mut end = rows;
        while end > 0 {
            let start = (end - 1) / most.max(1) * most.max(1);
            search.push(start..end, Claim::None);
            end = start;
        }
        search
    }

    /// What to do next. Asking twice without a report answers the same, except that a condemned row is
    /// handed out once.
    #[expect(clippy::should_implement_trait, reason = "it is a dialogue, not an iterator: attempts are reported back")]
    pub fn next(&mut self) -> Step {
        if let Some(row) = self.condemned.take() {
            return Step::Condemn { row };
        }
        match self.ahead.last() {
            Some(part) => Step::Try { rows: part.rows.clone(), fresh: self.after_failure },
            None => Step::Done,
        }
    }

    /// Takes the outcome of the attempt that [`Search::next`] asked for.
    pub fn report(&mut self, outcome: Outcome) {
        let Some(part) = self.ahead.pop() else { return };
        match outcome {
            Outcome::Applied => {
                self.after_failure = false;
                self.believes_hints &= part.claim != Claim::Bad;
            }
            Outcome::Failed { hint, fresh } => {
                self.after_failure = true;
                self.believes_hints &= part.claim != Claim::Good;
                self.split(part, hint, fresh);
            }
        }
    }

    fn split(&mut self, part: Part, hint: Option<u32>, fresh: bool) {
        let Range { start, end } = part.rows;
        if end - start == 1 {
            if fresh {
                self.condemned = Some(start);
            } else {
                self.push(start..end, part.claim);
            }
            return;
        }
        match hint.filter(|row| self.believes_hints && (start..end).contains(row)) {
            Some(row) => {
                self.push(row + 1..end, Claim::None);
                self.push(row..row + 1, Claim::Bad);
                self.push(start..row, Claim::Good);
            }
            None => {
                let middle = start + (end - start) / 2;
                self.push(middle..end, Claim::None);
                self.push(start..middle, Claim::None);
            }
        }
    }

    fn push(&mut self, rows: Range<u32>, claim: Claim) {
        if !rows.is_empty() {
            self.ahead.push(Part { rows, claim });
        }
    }
}

/// How many rows a function that costs more than a batch may is given at a time.
///
/// A limit on one record holds for a whole batch, so a batch of rightly expensive
/// records is over it with no record to blame. Halving finds that out anew for every batch; this remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    most: u32,
    clean: u32,
}

/// What a whole batch came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// The longest attempt that succeeded, in rows.
    pub longest_applied: u32,
    /// Whether an attempt of several rows was over a limit that holds for all of them together.
    pub was_over_limit: bool,
    /// Whether a row was condemned.
    pub had_bad_row: bool,
}

impl Pace {
    /// After so many batches in a row without trouble twice as many rows are tried again: rare enough that being
    /// wrong costs little, often enough that a slow stretch is soon forgotten.
    pub const CLEAN_BATCHES: u32 = 64;

    /// Most rows to give at a time.
    #[must_use]
    pub fn most(self) -> u32 {
        self.most
    }

    /// Takes the course of a batch into account. A batch over a limit that had a bad row says nothing about
    /// the others: the row may have been what cost so much.
    pub fn note(&mut self, course: Course) {
        if course.was_over_limit || course.had_bad_row {
            self.clean = 0;
            if !course.had_bad_row {
                self.most = course.longest_applied.max(1);
            }
        } else {
            self.clean += 1;
            if self.clean >= Self::CLEAN_BATCHES {
                self.clean = 0;
                self.most = self.most.saturating_mul(2);
            }
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self { most: u32::MAX, clean: 0 }
    }
}

/// Most attempts for `rows` rows of which `bad` fail whatever their company.
#[must_use]
pub fn attempts_bound(rows: u32, bad: u32) -> u32 {
    let levels = u32::BITS - rows.leading_zeros() + 1;
    // One attempt for the batch; for each bad row both halves on every level, its second attempt in a
    // fresh instance, and the three parts around a hint; three parts for the hint that proved wrong.
    4 + bad * (2 * levels + 4)
}

#[cfg(test)]
mod tests;
