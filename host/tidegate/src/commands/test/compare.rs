//! Finds the first record that differs. Pure.

/// The first place where what came out is not what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// From 1.
    pub(super) record: usize,
    /// What was expected; `None`: nothing more.
    pub(super) expected: Option<Vec<u8>>,
    /// What came out; `None`: nothing more.
    pub(super) found: Option<Vec<u8>>,
}

/// The first difference, if there is one.
pub(super) fn first_difference<'a>(
    expected: impl IntoIterator<Item = &'a [u8]>,
    found: impl IntoIterator<Item = &'a [u8]>,
) -> Option<Difference> {
    let mut expected = expected.into_iter();
    let mut found = found.into_iter();
    let mut record = 0;
    loop {
        record += 1;
        match (expected.next(), found.next()) {
            (None, None) => return None,
            (one, other) if one == other => {}
            (one, other) => {
                return Some(Difference {
                    record,
                    expected: one.map(<[u8]>::to_vec),
                    found: other.map(<[u8]>::to_vec),
                });
            }
        }
    }
}

/// The most bytes of a record that a message shows.
const SHOWN_BYTES: usize = 200;

impl Difference {
    /// One line for each side.
    pub(super) fn describe(&self) -> String {
        format!("expected: {}\n  found:    {}", show(self.expected.as_deref()), show(self.found.as_deref()))
    }
}

fn show(record: Option<&[u8]>) -> String {
    match record {
        None => "no more records".to_owned(),
        Some(bytes) => {
            let shown = bytes.get(..SHOWN_BYTES).unwrap_or(bytes);
            let more = if shown.len() < bytes.len() { " …" } else { "" };
            format!("{}{more}", shown.escape_ascii().to_string().replace("\\\"", "\""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Difference, first_difference};

    fn check(expected: &[&str], found: &[&str]) -> Option<Difference> {
        first_difference(expected.iter().map(|text| text.as_bytes()), found.iter().map(|text| text.as_bytes()))
    }

    #[test]
    fn equal_records_have_no_difference() {
        assert_eq!(check(&["a", "b"], &["a", "b"]), None);
    }

    #[test]
    fn a_missing_record_differs_after_the_last() {
        let difference = check(&["a", "b"], &["a"]).expect("they differ");
        assert_eq!((difference.record, difference.found), (2, None));
    }

    #[test]
    fn an_extra_record_differs_after_the_last() {
        let difference = check(&["a"], &["a", "b"]).expect("they differ");
        assert_eq!((difference.record, difference.expected), (2, None));
    }

    #[test]
    fn a_changed_record_is_shown_on_both_sides() {
        let difference = check(&["a", "{\"b\":1}"], &["a", "{\"b\":2}"]).expect("they differ");
        assert_eq!(difference.describe(), "expected: {\"b\":1}\n  found:    {\"b\":2}");
    }
}
