use model::{
    ColumnError, EventTime, FieldKind, FieldSpec, PortDescriptor, Refresh, StateDescriptor, StateId, StateKind, Ttl,
};
use proptest::prelude::*;

use super::*;

fn lifted(items: &[&str]) -> wit::ColumnResult {
    convert_back(items.iter().collect())
}

fn convert_back(column: Column) -> wit::ColumnResult {
    let (bytes, ends) = column.into_parts();
    wit::ColumnResult { bytes, ends }
}

fn all_present(items: &[&str]) -> wit::OptionalColumnResult {
    wit::OptionalColumnResult { present: Vec::new(), items: lifted(items) }
}

fn port(kinds: &[FieldKind]) -> PortDescriptor {
    let field = |(at, &kind): (usize, &FieldKind)| FieldSpec {
        name: format!("f{at}"),
        path: format!("/f{at}"),
        kind,
        required: true,
    };
    PortDescriptor {
        id: 0,
        name: "out".to_owned(),
        fields: kinds.iter().enumerate().map(field).collect(),
        schema: None,
    }
}

fn batch(rows: Vec<u32>, values: &[&str]) -> wit::OutputBatch {
    wit::OutputBatch {
        rows,
        keys: None,
        values: all_present(values),
        fields: Vec::new(),
        timestamps: Vec::new(),
        headers: None,
    }
}

fn state(kind: StateKind) -> StateDescriptor {
    StateDescriptor { id: StateId(0), name: "s".to_owned(), kind, schema: "{}".to_owned(), version: 1, ttl: None }
}

#[test]
fn an_empty_push_is_nothing_and_no_violation() {
    let records = output(batch(Vec::new(), &[]), &port(&[]), 0).unwrap();
    assert!(records.rows.is_empty());
}

#[test]
fn the_first_row_that_is_not_there_is_named() {
    let refused = output(batch(vec![0, 1, 5, 7], &["a", "b", "c", "d"]), &port(&[]), 5).unwrap_err();
    assert_eq!(refused, Violation::Row { what: "rows", row: 5, at: 2, rows: 5 });
}

#[test]
fn a_whole_batch_of_the_longest_values_fits_a_column() {
    assert!(caps::VALUE_BYTES * 4096 <= u32::MAX as usize);
}

#[test]
fn entry_keys_of_a_list_are_indexes_of_eight_bytes() {
    let refused = entry_keys(lifted(&["1234567"]), 1, &state(StateKind::Appended)).unwrap_err();
    assert!(refused.to_string().contains("8 bytes long"), "{refused}");
    entry_keys(lifted(&["12345678"]), 1, &state(StateKind::Appended)).unwrap();
    entry_keys(lifted(&["1234567"]), 1, &state(StateKind::MapEntries)).unwrap();
}

/// What a write of row `rows` to slot 1 stages, in a batch of two keys whose rows are of slots 0, 1, 1.
fn written(rows: Vec<u32>, ttl: Option<TtlClock>) -> Result<Vec<EventTime>, Violation> {
    let ttl = ttl.map(|clock| Ttl { millis: 1, clock, refresh: Refresh::OnWrite });
    let state = StateDescriptor { ttl, ..state(StateKind::Value) };
    let by = Written { slot_count: 2, row_slots: &[0, 1, 1], times: &[10, 20, 30].map(EventTime) };
    let given = Writes { slots: vec![1], entry_keys: None, values: all_present(&["v"]), rows };
    writes(given, &state, by).map(|staged| staged.written)
}

#[test]
fn the_event_time_of_the_row_is_the_write_time_where_event_time_decides() {
    assert_eq!(written(vec![2], Some(TtlClock::EventTime)), Ok(vec![EventTime(30)]));
    assert_eq!(written(Vec::new(), Some(TtlClock::EventTime)), Ok(Vec::new()));
    assert_eq!(written(vec![2], Some(TtlClock::ProcessingTime)), Ok(Vec::new()));
    assert_eq!(written(vec![2], None), Ok(Vec::new()));
}

#[test]
fn the_row_of_a_write_is_in_the_batch_and_of_its_slot() {
    for ttl in [None, Some(TtlClock::EventTime), Some(TtlClock::ProcessingTime)] {
        let refused = |rows| written(rows, ttl).unwrap_err();
        assert_eq!(refused(vec![3]), Violation::Row { what: "row", row: 3, at: 0, rows: 3 });
        assert_eq!(refused(vec![u32::MAX]), Violation::Row { what: "row", row: u32::MAX, at: 0, rows: 3 });
        assert_eq!(refused(vec![0]), Violation::RowOfSlot { row: 0, at: 0, found: 0, slot: 1 });
        assert_eq!(refused(vec![1, 2]), Violation::Length { what: "rows", found: 2, expected: 1 });
    }
}

#[test]
fn an_absent_cell_holds_no_text() {
    let with = |present: Vec<u8>, cells: &[&str]| {
        let field = wit::FieldColumnResult { present, cells: wit::CellsResult::Texts(lifted(cells)) };
        let batch = wit::OutputBatch { fields: vec![field], ..batch(vec![0, 0], &[]) };
        output(batch, &port(&[FieldKind::Json]), 1)
    };
    with(vec![0, 1], &["", "1"]).unwrap();
    assert!(with(vec![0, 1], &["2", "1"]).unwrap_err().to_string().contains("record 0 is not empty, though absent"));
}

#[test]
fn a_violation_says_what_was_expected_and_found() {
    let refused = optional("values", wit::OptionalColumnResult { present: vec![1], items: lifted(&["a", "b"]) });
    let problem = ColumnError::PresenceMismatch { present: 1, items: 2 };
    assert_eq!(refused, Err(Violation::Column { what: "values", problem }));
}

proptest! {
    #[test]
    fn whatever_a_guest_passes_is_refused_or_whole(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        fuzzing::check_anything(&bytes);
    }

    #[test]
    fn rows_are_accepted_exactly_when_they_rise_and_exist(
        which in proptest::collection::vec(0u32..12, 0..12),
        rows in 0u32..12,
    ) {
        let good = which.is_sorted() && which.iter().all(|&row| row < rows);
        prop_assert_eq!(rising_rows("rows", &which, rows).is_ok(), good);
    }

    #[test]
    fn slots_are_accepted_exactly_when_they_exist(which in proptest::collection::vec(0u32..12, 0..12), count in 0usize..12) {
        prop_assert_eq!(slots(&which, count).is_ok(), which.iter().all(|&slot| (slot as usize) < count));
    }

    #[test]
    fn honest_values_and_keys_pass_unchanged(items in proptest::collection::vec(".{0,6}", 0..12)) {
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        let rows: Vec<u32> = (0..).take(items.len()).collect();
        let count = u32::try_from(items.len()).unwrap();
        let honest = wit::OutputBatch { keys: Some(all_present(&items)), ..batch(rows, &items) };
        let records = output(honest, &port(&[]), count).unwrap();
        let values: Vec<_> = records.values.iter().flatten().map(<[u8]>::to_vec).collect();
        prop_assert_eq!(values, items.iter().map(|item| item.as_bytes().to_vec()).collect::<Vec<_>>());
        prop_assert_eq!(records.keys.unwrap().len(), items.len());
    }

    #[test]
    fn cutting_keeps_a_prefix_of_whole_characters(text in ".{0,40}", most in 0usize..40) {
        let mut cut = text.clone();
        caps::cut(&mut cut, most);
        prop_assert!(cut == text || text.starts_with(cut.strip_suffix('…').unwrap()));
        prop_assert!(cut.len() <= most + '…'.len_utf8() || cut == text && text.len() <= most);
    }
}
