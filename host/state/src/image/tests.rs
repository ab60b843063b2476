use contract::compliance::state as suite;
use contract::{KeyedState, StateDelta};

use crate::tests::{batch, empty, write_all};
use crate::{Error, MemoryBackend, soundness};

fn segments(table: &mut crate::StateLog) -> Vec<std::sync::Arc<Vec<u8>>> {
    table.image().unwrap().map(Result::unwrap).collect()
}

#[test]
fn segments_of_which_all_is_live_are_shared_as_they_are() {
    let mut table = empty(4096);
    write_all(&mut table, &batch(0..2_000), Some(b"value"), 1);
    let delta = table.mark();
    let image = segments(&mut table);
    let shared =
        |segment: &&std::sync::Arc<Vec<u8>>| delta.iter().any(|of_delta| std::sync::Arc::ptr_eq(of_delta, segment));
    assert_eq!(image.iter().filter(shared).count(), image.len());
    // One entry dies in the first: it is copied without it.
    write_all(&mut table, &batch(0..1), None, 2);
    table.mark();
    let image = segments(&mut table);
    assert_eq!(image.iter().filter(shared).count(), delta.len() - 1);
    let bytes: usize = image.iter().map(|segment| segment.len()).sum();
    let before: usize = delta.iter().map(|segment| segment.len()).sum();
    assert!(bytes < before, "{bytes} of {before} bytes");
}

#[test]
fn an_image_of_mostly_dead_segments_is_about_as_long_as_what_lives() {
    let mut table = empty(4096);
    write_all(&mut table, &batch(0..4_000), Some(b"value"), 1);
    table.mark();
    for key in (0..4_000).filter(|key| key % 10 != 0) {
        write_all(&mut table, &batch(key..key + 1), None, 2);
    }
    table.mark();
    let live = table.log.live;
    let image = segments(&mut table);
    let bytes: usize = image.iter().map(|segment| segment.len()).sum();
    assert!(bytes < live + live / 10, "{bytes} bytes for {live} of live entries");
    assert!(image.iter().all(|segment| segment.len() <= 4096));
    let restored = suite::restored(&MemoryBackend::default(), suite::scope(), &[StateDelta { segments: image }]);
    assert_eq!(restored.stats().live_entries, 400);
}

#[test]
fn an_image_is_refused_once_the_next_epoch_has_written() {
    let mut table = empty(4096);
    write_all(&mut table, &batch(0..3), Some(b"value"), 1);
    assert_eq!(table.image_of_mark().unwrap_err(), Error::NotAtMark);
    table.mark();
    assert!(table.image_of_mark().is_ok());
    write_all(&mut table, &batch(1..2), Some(b"newer"), 2);
    assert_eq!(table.image_of_mark().unwrap_err(), Error::NotAtMark);
}

#[test]
fn an_image_is_made_on_another_thread_while_entries_die_and_move() {
    let mut table = empty(4096);
    write_all(&mut table, &batch(0..3_000), Some(b"value"), 1);
    table.mark();
    write_all(&mut table, &batch(0..1_000), None, 2);
    table.mark();
    while table.maintain(10_000).unwrap() > 0 {}
    let image = table.image().unwrap();
    let maker = std::thread::spawn(move || image.map(Result::unwrap).collect::<Vec<_>>());
    for round in 0..20 {
        write_all(&mut table, &batch(round * 100..round * 100 + 400), (round % 2 == 0).then_some(b"other"), 3);
        table.mark();
        table.maintain(50_000).unwrap();
        soundness::check(&table);
    }
    let segments = maker.join().unwrap();
    let restored = suite::restored(&MemoryBackend::default(), suite::scope(), &[StateDelta { segments }]);
    assert_eq!(restored.stats().live_entries, 2_000);
}

#[test]
fn an_entry_longer_than_a_segment_is_in_the_image() {
    let mut table = empty(4096);
    write_all(&mut table, &batch(0..3), Some(&[7; 9_000]), 1);
    write_all(&mut table, &batch(3..40), Some(b"short"), 1);
    table.mark();
    write_all(&mut table, &batch(3..20), None, 1);
    table.mark();
    let segments = segments(&mut table);
    let restored = suite::restored(&MemoryBackend::default(), suite::scope(), &[StateDelta { segments }]);
    assert_eq!(restored.stats().live_entries, 23);
}
