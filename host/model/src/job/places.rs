//! Where each value of a job file stands.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The text of a job file, and where each value stands in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    file_name: String,
    text: Arc<str>,
    spans: BTreeMap<String, Range<usize>>,
}

/// Two specs are equal when they say the same, wherever it stands.
impl PartialEq for Places {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Places {
    pub(super) fn new(file_name: &str, text: &str) -> Self {
        Self { file_name: file_name.to_owned(), text: Arc::from(text), spans: BTreeMap::new() }
    }

    pub(super) fn file_name(&self) -> &str {
        &self.file_name
    }

    pub(super) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Notes that the value at `path` stands at `span`.
    pub(super) fn note(&mut self, path: &str, span: Range<usize>) {
        self.spans.insert(path.to_owned(), span);
    }

    /// The value at `path`, or else the nearest value around it: its path, and where it stands.
    pub(super) fn find(&self, path: &str) -> (String, Range<usize>) {
        let mut path = path;
        loop {
            if let Some(span) = self.spans.get(path) {
                return (path.to_owned(), span.clone());
            }
            match path.rfind(['.', '[']).and_then(|at| path.get(..at)) {
                Some(around) => path = around,
                None => return (String::new(), 0..0),
            }
        }
    }
}
