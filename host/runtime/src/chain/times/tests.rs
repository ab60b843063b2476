use super::*;

fn times(millis: &[i64]) -> Vec<EventTime> {
    millis.iter().map(|millis| EventTime(*millis)).collect()
}

#[test]
fn each_slot_looks_from_its_earliest_to_its_latest_row() {
    let mut looks = LookTimes::default();
    look(&mut looks, 3, &[0, 1, 0, 1], &times(&[5, 9, 2, 11]), HostTime(4));
    assert_eq!(looks.earliest, [EventTime(2), EventTime(9), EventTime(i64::MAX)]);
    assert_eq!(looks.latest, [EventTime(5), EventTime(11), EventTime(i64::MIN)]);
    assert_eq!(looks.now, HostTime(4));
}

#[test]
fn the_cut_is_at_the_first_row_beyond_what_the_first_row_of_its_key_sees() {
    let change = |at| Some((EventTime(at), None));
    let cut = |slots: &[u32], millis: &[i64], sides: &[Option<(EventTime, Option<bool>)>]| {
        first_that_sees_otherwise(slots, &times(millis), &mut sides.to_vec())
    };
    assert_eq!(cut(&[0, 0, 0], &[1, 9, 10], &[change(10)]), Some(2));
    // Back in time is otherwise too.
    assert_eq!(cut(&[0, 0], &[12, 9], &[change(10)]), Some(1));
    assert_eq!(cut(&[0, 1, 0, 1], &[1, 50, 2, 60], &[change(10), change(10)]), None);
    assert_eq!(cut(&[0, 1, 1], &[1, 5, 60], &[None, change(10)]), Some(2));
}
