//! Counts tests from what the runners print.

/// Tests that passed and failed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    /// Takes in a line of a runner's output: the summary of cargo's own runner or of nextest.
    pub(crate) fn see(&mut self, line: &str) {
        let line = line.trim_start();
        let summary =
            line.starts_with("test result: ") || (line.starts_with("Summary [") && line.contains("tests run"));
        if summary {
            self.passed += number_before(line, " passed");
            self.failed += number_before(line, " failed") + number_before(line, " timed out");
        }
    }

    /// Adds another.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// The number that stands right before `word`; 0 where there is none.
fn number_before(line: &str, word: &str) -> u64 {
    let Some((before, _)) = line.split_once(word) else { return 0 };
    let digits = before.rsplit(|it: char| !it.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_both_runners_are_counted_and_nothing_else() {
        let mut tally = Tally::default();
        for line in [
            "test tests::a_thing_holds ... ok",
            "test result: ok. 21 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.37s",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2s",
            "     Summary [   0.512s] 12 tests run: 11 passed, 1 failed, 3 skipped",
            "the house has 7 passed by",
        ] {
            tally.see(line);
        }
        assert_eq!(tally, Tally { passed: 36, failed: 3 });
    }
}
