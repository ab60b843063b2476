use std::sync::Mutex;
use std::sync::mpsc::Receiver;

use contract::doubles::ManualClock;
use model::{Generation, HostTime};

use super::*;

/// Answers as it is told, and notes what it was asked.
struct Scripted {
    answers: Vec<Result<(), Option<Retry>>>,
    asked: Arc<Mutex<Vec<u64>>>,
}

impl Publisher for Scripted {
    fn publish(&mut self, epoch: Epoch, _: &[StagedOutput]) -> Result<(), Error> {
        self.asked.lock().unwrap().push(epoch.0);
        match self.answers.remove(0) {
            Ok(()) => Ok(()),
            Err(Some(retry)) => Err(Error::new(Blame::External, retry, "told to")),
            Err(None) => panic!("told to"),
        }
    }

    fn last_published(&mut self) -> Result<Option<Epoch>, Error> {
        Ok(None)
    }

    fn discard_orphans(&mut self, _: &[StagedOutput], _: Generation) -> Result<u64, Error> {
        Ok(0)
    }
}

type Told = Receiver<Message>;

fn start(answers: Vec<Result<(), Option<Retry>>>) -> (PublishingSink, Told, Arc<Mutex<Vec<u64>>>) {
    let (to_coordinator, told) = std::sync::mpsc::sync_channel(64);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let publisher = Box::new(Scripted { answers, asked: Arc::clone(&asked) });
    let link = Arc::new(EpochLink::new(Epoch(0), HostTime(0), 0, to_coordinator));
    let clock = Arc::new(ManualClock::new(HostTime(0)));
    let parting = Arc::new(Parting::new(Arc::clone(&clock) as _, std::time::Duration::from_secs(60)));
    let control = Arc::new(Control::new(clock, 1, 0));
    let sink = PublishingSink::start(0, OperatorUid::new("out").unwrap(), publisher, link, control, parting).unwrap();
    (sink, told, asked)
}

fn staged() -> Vec<StagedOutput> {
    vec![StagedOutput { slot: 0, records: 1, bytes: 1, body: Vec::new() }]
}

/// The next thing told, in words.
fn next(told: &Told) -> String {
    match told.recv().unwrap() {
        Message::Done(done) => match *done {
            Done::Published { epoch, .. } => format!("published {epoch}"),
            Done::NotPublished { epoch, .. } => format!("not published {epoch}"),
            Done::Unpublishable { epoch, error, .. } => format!("unpublishable {epoch}: {error}"),
            _ => "something else".to_owned(),
        },
        _ => "something else".to_owned(),
    }
}

#[test]
fn a_later_epoch_waits_for_an_earlier_one_that_is_tried_again() {
    let (sink, told, asked) = start(vec![Err(Some(Retry::Backoff)), Ok(()), Ok(())]);
    sink.publish(Epoch(1), staged());
    sink.publish(Epoch(2), Vec::new());
    sink.publish(Epoch(3), staged());
    let words: Vec<String> = (0..4).map(|_| next(&told)).collect();
    assert_eq!(words, ["not published 1", "published 1", "published 2", "published 3"]);
    // Of an epoch without output the target hears nothing.
    assert_eq!(*asked.lock().unwrap(), [1, 1, 3]);
}

#[test]
fn what_no_repetition_can_publish_is_said_and_nothing_later_is_tried() {
    for (answer, says) in [(Some(Retry::No), "told to"), (Some(Retry::RestoreFirst), "told to"), (None, "panicked")] {
        let (sink, told, asked) = start(vec![Err(answer)]);
        sink.publish(Epoch(1), staged());
        sink.publish(Epoch(2), staged());
        let word = next(&told);
        assert!(word.starts_with("unpublishable 1") && word.contains(says), "{word}");
        drop(sink);
        assert_eq!(*asked.lock().unwrap(), [1]);
    }
}
