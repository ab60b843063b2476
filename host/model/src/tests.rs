use crate::{Column, ColumnError, OptionalColumn, Origins, Position, SourceId, Span, SplitIndex, Values};

#[test]
fn column_parts_with_falling_ends_are_refused() {
    let refused = Column::from_parts(vec![1, 2, 3], vec![2, 1, 3]);
    assert_eq!(refused, Err(ColumnError::EndsFall { item: 1 }));
}

#[test]
fn column_parts_that_leave_bytes_over_are_refused() {
    let refused = Column::from_parts(vec![1, 2, 3], vec![2]);
    assert_eq!(refused, Err(ColumnError::LengthMismatch { last_end: 2, bytes: 3 }));
}

#[test]
fn an_absent_item_with_bytes_is_refused() {
    let items: Column = ["a", "b"].iter().collect();
    let refused = OptionalColumn::from_parts(vec![1, 0], items);
    assert_eq!(refused, Err(ColumnError::AbsentWithBytes { item: 1, mark: 0, bytes: 1 }));
}

#[test]
fn absence_is_kept_through_push_select_and_values() {
    let mut column = OptionalColumn::default();
    column.push(Some(b"a"));
    column.push(None);
    column.push(Some(b""));
    let selected = column.select(&[2, 1]);
    assert_eq!(selected.iter().collect::<Vec<_>>(), [Some(&b""[..]), None]);
    let values = Values::from(column.clone());
    assert_eq!(values.to_column(), column);
}

#[test]
#[should_panic(expected = "inside its arena")]
fn a_span_outside_its_arena_panics() {
    let _unreachable = Values::new(std::sync::Arc::new(vec![0; 4]), vec![Span { start: 2, end: 5 }]);
}

#[test]
fn origins_survive_selection_across_runs() {
    let mut origins = Origins::default();
    for row in 0..6u64 {
        let split = SplitIndex(u32::from(row >= 3));
        origins.push(SourceId(0), split, Position(row * 10));
    }
    let selected = origins.select(&[1, 4, 5]);
    assert_eq!(selected.get(0), Some((SourceId(0), SplitIndex(0), Position(10))));
    assert_eq!(selected.get(2), Some((SourceId(0), SplitIndex(1), Position(50))));
    assert_eq!(selected.get(3), None);
    assert_eq!(selected.runs().len(), 2);
}
