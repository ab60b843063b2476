//! What every [`Sink`] promises that is [`Delivery::ExactlyOnce`]: staging, and its [`Publisher`].

use model::{Epoch, Generation, LineageId, Parallelism, Retry, SubtaskIndex};

use super::sink::batch_of;
use crate::{Delivery, Publisher, Sink, SinkWriter, StagedOutput, WriterTask};

/// A target to try, and ways to it.
pub struct Trial {
    /// A sink over the target, as a process that starts has it; every one is over the same target.
    pub start: Box<dyn Fn() -> Box<dyn Sink>>,
    /// The values that are visible, in the order of epochs, and of the outputs given within one.
    pub visible: Box<dyn Fn() -> Vec<Vec<u8>>>,
    /// From now on (`true`) the target has room for nothing more, or has some again.
    pub fill: Box<dyn Fn(bool)>,
}

/// Runs every promise; `make` gives a new, empty target.
///
/// # Panics
/// When one is broken.
pub fn check(make: &dyn Fn() -> Trial) {
    nothing_is_visible_before_it_is_published(&make());
    an_epoch_published_again_is_visible_once(&make());
    an_epoch_below_the_last_changes_nothing(&make());
    an_epoch_without_records_costs_nothing(&make());
    what_is_written_after_a_barrier_belongs_to_the_next_epoch(&make());
    what_an_aborted_epoch_owes_is_published_with_the_next(&make());
    subtasks_publish_side_by_side(&make());
    what_was_not_staged_is_dropped(&make());
    what_no_manifest_lists_is_never_visible(&make());
    what_is_listed_outlives_the_search_for_orphans(&make());
    what_a_newer_generation_staged_is_no_orphan(&make());
    a_full_target_takes_nothing_and_loses_nothing(&make());
}

const LINEAGE: LineageId = LineageId(0x00c0_ffee);

fn task(subtask: u32, generation: u64) -> WriterTask {
    WriterTask {
        subtask: SubtaskIndex(subtask),
        parallelism: Parallelism(2),
        lineage: LINEAGE,
        generation: Generation(generation),
    }
}

fn open(sink: &dyn Sink, generation: u64) -> Box<dyn SinkWriter> {
    sink.open(&task(0, generation)).expect("it opens")
}

fn publisher(sink: &dyn Sink) -> Box<dyn Publisher> {
    sink.publisher(LINEAGE).expect("it has a publisher").expect("what is staged can be published")
}

/// Writes values and stages them.
fn stage(writer: &mut dyn SinkWriter, epoch: u64, values: &[&str]) -> Vec<StagedOutput> {
    writer.write(&batch_of(values)).expect("it takes a batch");
    writer.stage(Epoch(epoch)).expect("it stages")().expect("it becomes durable")
}

fn publish(publisher: &mut dyn Publisher, epoch: u64, staged: &[StagedOutput]) {
    publisher.publish(Epoch(epoch), staged).expect("it publishes");
}

#[track_caller]
fn see(trial: &Trial, expected: &[&str], when: &str) {
    let visible = (trial.visible)();
    let visible: Vec<_> = visible.iter().map(|value| String::from_utf8_lossy(value)).collect();
    assert_eq!(visible, expected, "{when}");
}

fn nothing_is_visible_before_it_is_published(trial: &Trial) {
    let sink = (trial.start)();
    assert_eq!(sink.delivery(), Delivery::ExactlyOnce);
    let mut writer = open(&*sink, 1);
    let mut publisher = publisher(&*sink);
    assert_eq!(publisher.last_published().expect("it answers"), None, "nothing was published yet");
    writer.write(&batch_of(&["one", "two"])).expect("it takes a batch");
    writer.flush().expect("it flushes");
    see(trial, &[], "after a flush");
    let mut staging = writer.stage(Epoch(1)).expect("it stages");
    see(trial, &[], "after a barrier");
    let staged = staging().expect("it becomes durable");
    assert_eq!(staged.iter().map(|output| output.records).sum::<u64>(), 2, "what was staged is counted");
    see(trial, &[], "after it was staged");
    publish(&mut *publisher, 1, &staged);
    see(trial, &["one", "two"], "after it was published");
    assert_eq!(publisher.last_published().expect("it answers"), Some(Epoch(1)));
    writer.close().expect("it closes");
    see(trial, &["one", "two"], "after the end");
}

fn an_epoch_published_again_is_visible_once(trial: &Trial) {
    let sink = (trial.start)();
    let staged = stage(&mut *open(&*sink, 1), 1, &["one", "two"]);
    let mut first = publisher(&*sink);
    publish(&mut *first, 1, &staged);
    publish(&mut *first, 1, &staged);
    see(trial, &["one", "two"], "published again by the same publisher");
    publish(&mut *publisher(&*sink), 1, &staged);
    see(trial, &["one", "two"], "published again by a later publisher");
    drop(sink);
    let started_again = (trial.start)();
    let mut later = publisher(&*started_again);
    publish(&mut *later, 1, &staged);
    see(trial, &["one", "two"], "published again by a later process");
    assert_eq!(later.last_published().expect("it answers"), Some(Epoch(1)));
}

fn an_epoch_below_the_last_changes_nothing(trial: &Trial) {
    let sink = (trial.start)();
    let (mut writer, mut publisher) = (open(&*sink, 1), publisher(&*sink));
    let first = stage(&mut *writer, 1, &["one"]);
    let third = stage(&mut *writer, 3, &["three"]);
    publish(&mut *publisher, 1, &first);
    publish(&mut *publisher, 3, &third);
    publish(&mut *publisher, 1, &first);
    publish(&mut *publisher, 2, &[]);
    see(trial, &["one", "three"], "after lower epochs");
    assert_eq!(publisher.last_published().expect("it answers"), Some(Epoch(3)));
}

fn an_epoch_without_records_costs_nothing(trial: &Trial) {
    let sink = (trial.start)();
    let (mut writer, mut publisher) = (open(&*sink, 1), publisher(&*sink));
    for epoch in 1..=10 {
        let staged = writer.stage(Epoch(epoch)).expect("it stages")().expect("it becomes durable");
        assert_eq!(staged, [], "epoch {epoch} has no records");
        publish(&mut *publisher, epoch, &staged);
    }
    see(trial, &[], "after ten empty epochs");
    let staged = stage(&mut *writer, 11, &["eleven"]);
    publish(&mut *publisher, 11, &staged);
    see(trial, &["eleven"], "after the first record");
}

fn what_is_written_after_a_barrier_belongs_to_the_next_epoch(trial: &Trial) {
    let sink = (trial.start)();
    let (mut writer, mut publisher) = (open(&*sink, 1), publisher(&*sink));
    writer.write(&batch_of(&["one"])).expect("it takes a batch");
    let mut first = writer.stage(Epoch(1)).expect("it stages");
    writer.write(&batch_of(&["two"])).expect("it takes a batch while the other is staged");
    let mut second = writer.stage(Epoch(2)).expect("it stages while the other is staged");
    let second = second().expect("it becomes durable before the other");
    let first = first().expect("it becomes durable");
    publish(&mut *publisher, 1, &first);
    see(trial, &["one"], "after the first epoch");
    publish(&mut *publisher, 2, &second);
    see(trial, &["one", "two"], "after the second epoch");
}

fn what_an_aborted_epoch_owes_is_published_with_the_next(trial: &Trial) {
    let sink = (trial.start)();
    let mut writer = open(&*sink, 1);
    let mut owed = stage(&mut *writer, 1, &["one"]);
    owed.extend(stage(&mut *writer, 2, &["two"]));
    owed.extend(stage(&mut *writer, 3, &["three"]));
    for _ in 0..2 {
        publish(&mut *publisher(&*sink), 3, &owed);
        see(trial, &["one", "two", "three"], "in the order given");
    }
    let staged = stage(&mut *writer, 4, &["four"]);
    publish(&mut *publisher(&*sink), 4, &staged);
    see(trial, &["one", "two", "three", "four"], "after the next");
}

fn subtasks_publish_side_by_side(trial: &Trial) {
    let sink = (trial.start)();
    let mut writers = [open(&*sink, 1), sink.open(&task(1, 1)).expect("another opens")];
    let mut staged = Vec::new();
    for (writer, value) in writers.iter_mut().zip(["of 0", "of 1"]) {
        staged.extend(stage(&mut **writer, 1, &[value]));
    }
    publish(&mut *publisher(&*sink), 1, &staged);
    see(trial, &["of 0", "of 1"], "of both subtasks");
}

fn what_was_not_staged_is_dropped(trial: &Trial) {
    let sink = (trial.start)();
    let mut writer = open(&*sink, 1);
    let staged = stage(&mut *writer, 1, &["one"]);
    writer.write(&batch_of(&["of no epoch"])).expect("it takes a batch");
    writer.close().expect("it closes");
    let mut dropped = sink.open(&task(1, 1)).expect("another opens");
    dropped.write(&batch_of(&["of no epoch"])).expect("it takes a batch");
    drop(dropped);
    publish(&mut *publisher(&*sink), 1, &staged);
    see(trial, &["one"], "after writers went");
}

fn what_no_manifest_lists_is_never_visible(trial: &Trial) {
    let sink = (trial.start)();
    let mut writer = open(&*sink, 1);
    let first = stage(&mut *writer, 1, &["one"]);
    stage(&mut *writer, 2, &["computed and lost"]);
    writer.write(&batch_of(&["not even staged"])).expect("it takes a batch");
    publish(&mut *publisher(&*sink), 1, &first);
    drop((writer, sink));
    let sink = (trial.start)();
    let mut publisher = publisher(&*sink);
    let removed = publisher.discard_orphans(&[], Generation(2)).expect("it looks for orphans");
    assert!(removed > 0, "what was staged for nobody is removed");
    let again = publisher.discard_orphans(&[], Generation(2)).expect("it looks again");
    assert_eq!(again, 0, "nothing is left to remove");
    see(trial, &["one"], "what was published stays");
    // The same epoch again, by the next generation.
    let second = stage(&mut *open(&*sink, 2), 2, &["computed again"]);
    publish(&mut *publisher, 2, &second);
    see(trial, &["one", "computed again"], "of the next generation");
}

fn what_is_listed_outlives_the_search_for_orphans(trial: &Trial) {
    let sink = (trial.start)();
    let mut writer = open(&*sink, 1);
    let mut listed = stage(&mut *writer, 1, &["one"]);
    listed.extend(stage(&mut *writer, 2, &["two"]));
    stage(&mut *writer, 3, &["orphan"]);
    drop((writer, sink));
    let sink = (trial.start)();
    let mut publisher = publisher(&*sink);
    publisher.discard_orphans(&listed, Generation(2)).expect("it looks for orphans");
    let (first, second) = listed.split_at(1);
    publish(&mut *publisher, 1, first);
    publish(&mut *publisher, 2, second);
    publisher.discard_orphans(&listed, Generation(2)).expect("it looks for orphans after publishing");
    publisher.discard_orphans(&[], Generation(2)).expect("it looks for orphans when nothing is listed any more");
    see(trial, &["one", "two"], "after all that");
}

fn what_a_newer_generation_staged_is_no_orphan(trial: &Trial) {
    let sink = (trial.start)();
    let staged = stage(&mut *open(&*sink, 3), 1, &["one"]);
    // Generation 2 was overtaken before it looked.
    let overtaken = (trial.start)();
    let removed = publisher(&*overtaken).discard_orphans(&[], Generation(2)).expect("it looks for orphans");
    assert_eq!(removed, 0, "nothing is older");
    publish(&mut *publisher(&*sink), 1, &staged);
    see(trial, &["one"], "after a start that was overtaken");
}

fn a_full_target_takes_nothing_and_loses_nothing(trial: &Trial) {
    /// Far above what any writer gathers.
    const MOST_BYTES: usize = 64 << 20;
    let sink = (trial.start)();
    let mut writer = open(&*sink, 1);
    let values: Vec<String> = (0..64).map(|row| format!("{row}-{}", "long ".repeat(200))).collect();
    let batch_bytes: usize = values.iter().map(String::len).sum();
    writer.write(&batch_of(&values)).expect("it takes a batch");
    let mut taken = 1;
    (trial.fill)(true);
    let refused = loop {
        assert!(taken * batch_bytes < MOST_BYTES, "what it keeps in memory has no bound");
        match writer.write(&batch_of(&values)) {
            Ok(()) => taken += 1,
            Err(refused) => break refused,
        }
    };
    assert_eq!((refused.retry(), refused.is_out_of_room()), (Retry::Backoff, true), "{refused}");
    let mut staging = writer.stage(Epoch(1)).expect("a barrier passes");
    for _ in 0..3 {
        let put_off = staging().expect_err("there is no room");
        assert_eq!((put_off.retry(), put_off.is_out_of_room()), (Retry::Backoff, true), "{put_off}");
    }
    (trial.fill)(false);
    writer.write(&batch_of(&["behind it"])).expect("what was refused is taken when there is room");
    let staged = staging().expect("it becomes durable when there is room");
    assert_eq!(staged.iter().map(|output| output.records).sum::<u64>(), 64 * taken as u64, "all that was taken");
    let second = writer.stage(Epoch(2)).expect("it stages")().expect("it becomes durable");
    let mut publisher = publisher(&*sink);
    publish(&mut *publisher, 1, &staged);
    publish(&mut *publisher, 2, &second);
    let visible = (trial.visible)();
    let mut expected: Vec<&str> = (0..taken).flat_map(|_| values.iter().map(String::as_str)).collect();
    expected.push("behind it");
    assert!(visible.iter().map(Vec::as_slice).eq(expected.iter().map(|value| value.as_bytes())), "whole and in order");
}
