use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use model::{JobName, OperatorUid, SubtaskIndex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::LogBook;

/// Keeps the messages of events.
#[derive(Clone, Default)]
struct Messages(Arc<Mutex<Vec<String>>>);

struct Message<'a>(&'a mut String);

impl Visit for Message<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            write!(self.0, "{value:?}").unwrap();
        }
    }
}

impl Subscriber for Messages {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = String::new();
        event.record(&mut Message(&mut text));
        self.0.lock().unwrap().push(text);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

#[test]
fn lines_lost_in_the_last_second_are_told_once_at_the_end() {
    let (job, operator) = (JobName::new("job").unwrap(), OperatorUid::new("loud").unwrap());
    let mut book = LogBook::new(job, operator, SubtaskIndex(0), Arc::default());
    book.dropped = 3;
    let messages = Messages::default();
    tracing::subscriber::with_default(messages.clone(), || {
        book.close();
        book.close();
    });
    let expected = "3 log lines dropped: at most 100 a second are let through";
    assert_eq!(*messages.0.lock().unwrap(), [expected]);
}
