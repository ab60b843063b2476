use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use contract::doubles::ManualClock;
use model::{HostTime, OperatorUid, SubtaskIndex};
use proptest::prelude::*;

use super::{Closed, Received, Receiver, Sender, Signal, queue};
use crate::JobFailure;
use crate::control::Control;

fn control() -> Arc<Control> {
    Arc::new(Control::new(Arc::new(ManualClock::new(HostTime(0))), 2, 0))
}

fn stop(control: &Control) {
    let operator = OperatorUid::new("operator").unwrap();
    control.fail(JobFailure::host(&operator, SubtaskIndex(0), "E0521", "told to".to_owned()));
}

fn new_queue(limit_bytes: usize) -> (Sender<u64>, Receiver<u64>, Arc<Signal>) {
    let arrival = Arc::new(Signal::default());
    let (sender, receiver) = queue(limit_bytes, Arc::clone(&arrival));
    (sender, receiver, arrival)
}

/// Receives until the sender is gone.
fn receive_all(receiver: &Receiver<u64>, arrival: &Signal, control: &Control) -> Vec<u64> {
    arrival.bind();
    let mut received = Vec::new();
    loop {
        match receiver.receive() {
            Received::Element(element) => received.push(element),
            Received::Empty => arrival.wait(control, None, || receiver.is_ready()),
            Received::Closed => return received,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_element_arrives_once_and_in_order(weights in prop::collection::vec(0usize..200, 0..2_000), limit in 0usize..400) {
        let (sender, receiver, arrival) = new_queue(limit);
        let control = control();
        let sending = Arc::clone(&control);
        let count = weights.len() as u64;
        let thread = thread::spawn(move || {
            sending.register();
            for (number, weight) in (0u64..).zip(weights) {
                sender.send(number, weight, &sending).unwrap();
            }
        });
        control.register();
        let received = receive_all(&receiver, &arrival, &control);
        thread.join().unwrap();
        prop_assert_eq!(received, (0..count).collect::<Vec<_>>());
    }
}

#[test]
fn what_waits_stays_within_the_limit_or_is_alone() {
    let (sender, receiver, arrival) = new_queue(100);
    let control = control();
    let sent = Arc::new(AtomicUsize::new(0));
    let (sending, counting) = (Arc::clone(&control), Arc::clone(&sent));
    let thread = thread::spawn(move || {
        for weight in [60, 40, 500, 1, 99, 1] {
            sender.send(weight, usize::try_from(weight).unwrap(), &sending).unwrap();
            counting.fetch_add(1, Ordering::SeqCst);
        }
    });
    arrival.bind();
    let mut received: Vec<u64> = Vec::new();
    while received.len() < 6 {
        arrival.wait(&control, None, || receiver.is_ready());
        let waiting = receiver.0.lock().0.iter().map(|(_, weight)| *weight).collect::<Vec<_>>();
        assert!(waiting.iter().sum::<usize>() <= 100 || waiting.len() == 1, "{waiting:?}");
        if let Received::Element(element) = receiver.receive() {
            received.push(element);
        }
    }
    thread.join().unwrap();
    assert_eq!(received, [60, 40, 500, 1, 99, 1]);
}

#[test]
fn a_full_queue_has_no_room_and_an_empty_one_always_has() {
    let (sender, receiver, _arrival) = new_queue(10);
    let control = control();
    assert!(sender.has_room(1_000));
    sender.send(1, 8, &control).unwrap();
    assert!(sender.has_room(2));
    assert!(!sender.has_room(3));
    assert_eq!(receiver.receive(), Received::Element(1));
    assert!(sender.has_room(1_000));
}

#[test]
fn a_dropped_receiver_wakes_a_waiting_sender() {
    let (sender, receiver, _arrival) = new_queue(1);
    let control = control();
    let (waiting, is_waiting) = std::sync::mpsc::channel();
    let sending = Arc::clone(&control);
    let thread = thread::spawn(move || {
        sender.send(1, 1, &sending).unwrap();
        waiting.send(()).unwrap();
        sender.send(2, 1, &sending)
    });
    is_waiting.recv().unwrap();
    drop(receiver);
    assert_eq!(thread.join().unwrap(), Err(Closed));
}

#[test]
fn a_dropped_sender_is_noticed_after_its_last_element() {
    let (sender, receiver, arrival) = new_queue(100);
    let control = control();
    sender.send(7, 1, &control).unwrap();
    drop(sender);
    assert_eq!(receive_all(&receiver, &arrival, &control), [7]);
}

#[test]
fn a_stopped_job_wakes_both_sides() {
    let (sender, receiver, arrival) = new_queue(1);
    let control = control();
    let (waiting, is_waiting) = std::sync::mpsc::channel();
    let sending = Arc::clone(&control);
    let blocked = thread::spawn(move || {
        sending.register();
        sender.send(1, 1, &sending).unwrap();
        waiting.send(()).unwrap();
        (sender.send(2, 1, &sending), sender)
    });
    is_waiting.recv().unwrap();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let waiting_control = Arc::clone(&control);
    let idle = thread::spawn(move || {
        waiting_control.register();
        arrival.bind();
        ready.send(()).unwrap();
        while !waiting_control.is_stopped() {
            arrival.wait(&waiting_control, None, || false);
        }
    });
    is_ready.recv().unwrap();
    stop(&control);
    let (sent, _sender) = blocked.join().unwrap();
    assert_eq!(sent, Err(Closed));
    idle.join().unwrap();
    drop(receiver);
}
