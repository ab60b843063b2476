//! Timers, as a function sees them.

use std::time::Duration;

use crate::prelude::*;
use crate::testing::{Harness, Record, Run};

/// Does with timers what the record says: words such as `set 10`, `cancel 10`, `wall 10`, `unwall 10`.
#[tidegate::function(timers)]
struct Obedient {
    #[state]
    script: Value<String>,
}

impl Obedient {
    fn obey(&mut self, words: &str, cx: &mut Context<Self>) -> Result {
        for words in words.split(';').filter(|words| !words.is_empty()) {
            let (word, at) = words.split_once(' ').unwrap_or((words, "0"));
            let at = Timestamp::from_millis(at.parse()?);
            match word {
                "set" => cx.set_timer(at),
                "cancel" => cx.cancel_timer(at),
                "wall" => cx.set_processing_timer(at),
                "unwall" => cx.cancel_processing_timer(at),
                "fail" => bail!("told to"),
                "forward" => cx.emit("forwarded"),
                other => self.script.set(other.to_owned()),
            }
        }
        Ok(())
    }
}

impl Keyed for Obedient {
    type In = Utf8;
    type Out = Utf8;

    fn on_record(&mut self, words: &str, cx: &mut Context<Self>) -> Result {
        self.obey(words, cx)
    }

    /// Tells what it is, and then does what the last record wanted done by timers, after `then`.
    fn on_timer(&mut self, timer: Timer, cx: &mut Context<Self>) -> Result {
        let clock = match timer.clock() {
            TimerClock::EventTime => "event",
            TimerClock::ProcessingTime => "wall",
        };
        cx.emit(&format!("{} {clock} {}", cx.key_text()?, timer.at().millis()));
        let script = self.script.get()?.cloned().unwrap_or_default();
        if let Some(then) = script.strip_prefix("then,") {
            self.obey(&then.replace(',', ";").replace('_', " "), cx)?;
        }
        Ok(())
    }
}

fn told(run: &Run) -> Vec<&str> {
    run.main().iter().map(|sent| sent.text()).collect()
}

fn record(key: &str, words: &str) -> Record {
    Record::text(words).key(key).event_time(0)
}

#[test]
fn timers_of_a_key_fire_in_the_order_of_their_times_and_once() {
    let mut function = Harness::<Obedient>::new();
    function.run([record("b", "set 20;set 10;set 10"), record("a", "set 20"), record("a", "set 30")]);
    assert_eq!(told(&function.advance_watermark(9)), [""; 0]);
    assert_eq!(told(&function.advance_watermark(20)), ["b event 10", "a event 20", "b event 20"]);
    assert_eq!(told(&function.advance_watermark(20)), [""; 0]);
    assert_eq!(function.timers("a").len(), 1);
    assert_eq!(told(&function.end_input()), ["a event 30"]);
}

#[test]
fn a_timer_has_its_own_key_and_time_and_what_it_sends_has_them_too() {
    let mut function = Harness::<Obedient>::new();
    function.run([record("k", "set 7;wall 100")]);
    let fired = function.advance_watermark(10);
    let sent = &fired.main()[0];
    assert_eq!((sent.key(), sent.event_time()), (Some(b"k".as_slice()), Some(Timestamp::from_millis(7))));
    assert_eq!(sent.timer().map(Timer::at), Some(Timestamp::from_millis(7)));
    let fired = function.advance_clock(100);
    // By the host's clock, so its event time is how far event time has come.
    assert_eq!(fired.main()[0].event_time(), Some(Timestamp::from_millis(10)));
    assert_eq!(fired.main()[0].text(), "k wall 100");
}

#[test]
fn the_last_word_on_a_timer_holds_also_within_a_batch() {
    let mut function = Harness::<Obedient>::new();
    let run = function.run_every_way([
        record("a", "set 5;cancel 5"),
        record("b", "cancel 5;set 5"),
        record("c", "set 5"),
        record("c", "cancel 5"),
        record("c", "wall 5;wall 6;unwall 5"),
    ]);
    assert!(run.bad_records().is_empty());
    assert_eq!(told(&function.end_input()), ["b event 5"]);
    assert_eq!(told(&function.advance_clock(10)), ["c wall 6"]);
}

#[test]
fn a_record_that_fails_sets_no_timer() {
    let mut function = Harness::<Obedient>::new();
    let run = function.run([record("a", "set 5;fail"), record("b", "set 5")]);
    assert_eq!(run.bad_records().len(), 1);
    assert_eq!(told(&function.end_input()), ["b event 5"]);
}

#[test]
fn a_timer_that_fails_is_gone_and_leaves_its_neighbours_alone() {
    let mut function = Harness::<Obedient>::new();
    function.run([record("a", "set 5"), record("b", "then,set_9,fail;set 5"), record("c", "set 5")]);
    let fired = function.advance_watermark(5);
    assert_eq!(told(&fired), ["a event 5", "c event 5"]);
    let bad = &fired.bad_records()[0];
    assert_eq!((bad.message(), bad.timer().map(Timer::at)), ("told to", Some(Timestamp::from_millis(5))));
    assert!(function.timers("b").is_empty());
}

#[test]
fn what_a_timer_sets_fires_in_its_turn_if_it_is_later() {
    let mut function = Harness::<Obedient>::new();
    function.run([record("a", "then,set_20,cancel_30;set 10;set 30")]);
    assert_eq!(told(&function.advance_watermark(40)), ["a event 10", "a event 20"]);
    // It set itself anew, and waits for the next rise.
    assert_eq!(function.timers("a"), [Timer::new(TimerClock::EventTime, Timestamp::from_millis(20))]);
    assert_eq!(told(&function.advance_watermark(40)), [""; 0]);
    assert_eq!(told(&function.advance_watermark(41)), ["a event 20"]);
}

#[test]
fn a_timer_whose_time_has_come_fires_right_after_the_records_at_hand() {
    let mut function = Harness::<Obedient>::new();
    function.set_watermark(100);
    assert_eq!(told(&function.run([record("a", "set 99"), record("a", "set 101")])), ["a event 99"]);
}

/// Calls itself every minute for ever, unless it is told that the input has ended.
#[tidegate::function(timers)]
struct Heartbeat {
    #[state]
    beats: Counter,
}

impl Keyed for Heartbeat {
    type In = KeyOnly;
    type Out = ();

    fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
        cx.set_timer(Timestamp::from_millis(0));
        Ok(())
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Context<Self>) -> Result {
        self.beats.add(1)?;
        cx.set_timer(timer.at().plus(Duration::from_secs(60)));
        Ok(())
    }
}

#[test]
fn a_timer_that_sets_itself_for_ever_ends_with_the_input() {
    let mut heart = Harness::<Heartbeat>::new();
    heart.run([Record::tombstone().key("k")]);
    heart.advance_watermark(59_999);
    assert_eq!(heart.state("beats").value::<i64>("k"), Some(1));
    heart.end_input();
    assert_eq!(heart.state("beats").value::<i64>("k"), Some(1002));
    assert_eq!(heart.timers("k").len(), 1);
}

/// Says nothing of what to do.
#[tidegate::function(timers)]
struct Forgetful;

impl Keyed for Forgetful {
    type In = KeyOnly;
    type Out = Forward;

    fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
        cx.set_timer(Timestamp::from_millis(1));
        Ok(())
    }
}

#[test]
fn a_function_without_on_timer_says_so_when_one_fires() {
    let mut forgetful = Harness::<Forgetful>::new();
    forgetful.run([Record::tombstone().key("k")]);
    let fired = forgetful.end_input();
    assert!(fired.bad_records()[0].message().ends_with("it lacks `fn on_timer`"));
}

/// Sends timers on.
#[tidegate::function(timers)]
struct Forwards;

impl Keyed for Forwards {
    type In = KeyOnly;
    type Out = Forward;

    fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
        cx.set_timer(Timestamp::from_millis(1));
        Ok(())
    }

    fn on_timer(&mut self, _: Timer, cx: &mut Context<Self>) -> Result {
        cx.forward();
        Ok(())
    }
}

#[test]
fn a_timer_is_no_record_that_could_be_sent_on() {
    let mut forwards = Harness::<Forwards>::new();
    forwards.run([Record::tombstone().key("k")]);
    assert!(forwards.end_input().bad_records()[0].message().contains("a timer is no record"));
}

/// Remembers for ten milliseconds of event time.
#[tidegate::function(timers)]
struct Mortal {
    #[state(ttl = "10ms", clock = "event-time")]
    last: Value<i64>,
}

impl Keyed for Mortal {
    type In = KeyOnly;
    type Out = Utf8;

    fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
        self.last.set(1);
        cx.set_timer(Timestamp::from_millis(9));
        cx.set_timer(Timestamp::from_millis(10));
        Ok(())
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Context<Self>) -> Result {
        let seen = self.last.get()?.is_some();
        cx.emit(&format!("{} {seen}", timer.at().millis()));
        Ok(())
    }
}

#[test]
fn state_is_seen_at_the_time_of_the_timer() {
    let mut mortal = Harness::<Mortal>::new();
    mortal.run([Record::tombstone().key("k").event_time(0)]);
    assert_eq!(told(&mortal.end_input()), ["9 true", "10 false"]);
}
