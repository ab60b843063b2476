use proptest::prelude::*;

use crate::{
    Cells, Column, ColumnError, Descriptor, DescriptorError, FieldColumn, FieldKind, FieldSpec, Headers,
    OptionalColumn, Origins, PointerError, PortDescriptor, Position, RecordBatch, Routing, SourceId, Span, SplitIndex,
    StateDescriptor, StateId, TimerClock, Values, pointer_steps, timer_entry_key, timer_of_origin, timer_time,
};

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

/// Every way to the same items.
fn ways(items: &[Option<&[u8]>]) -> Vec<OptionalColumn> {
    let mut pushed = OptionalColumn::default();
    for item in items {
        pushed.push(*item);
    }
    let present = items.iter().map(|item| u8::from(item.is_some())).collect();
    let parts = OptionalColumn::from_parts(present, items.iter().map(|item| item.unwrap_or_default()).collect());
    let mut among_others = OptionalColumn::default();
    for item in items {
        among_others.push(None);
        among_others.push(*item);
    }
    let rows: Vec<u32> = (0..items.len()).map(|row| u32::try_from(2 * row + 1).unwrap()).collect();
    let selected = among_others.select(&rows);
    let through_values = Values::from(pushed.clone()).to_column();
    vec![pushed, parts.unwrap(), selected, through_values]
}

proptest! {
    #[test]
    fn equal_items_make_equal_columns(items in prop::collection::vec(prop::option::weighted(0.8, prop::collection::vec(any::<u8>(), 0..3)), 0..6)) {
        let items: Vec<Option<&[u8]>> = items.iter().map(Option::as_deref).collect();
        let ways = ways(&items);
        for way in &ways {
            prop_assert_eq!(way, &ways[0]);
        }
    }

    #[test]
    fn equal_cells_make_equal_fields(cells in prop::collection::vec(prop::option::weighted(0.8, any::<i64>()), 0..6)) {
        let push = |column: &mut FieldColumn, cell: Option<i64>| match (cell, &mut column.cells) {
            (Some(cell), Cells::Integers(cells)) => { cells.push(cell); column.mark_present(); }
            _ => column.push_absent(),
        };
        let (mut alone, mut among_others) = (FieldColumn::for_kind(FieldKind::Integer), FieldColumn::for_kind(FieldKind::Integer));
        for &cell in &cells {
            push(&mut alone, cell);
            push(&mut among_others, None);
            push(&mut among_others, cell);
        }
        let rows: Vec<u32> = (0..cells.len()).map(|row| u32::try_from(2 * row + 1).unwrap()).collect();
        prop_assert_eq!(among_others.select(&rows), alone);
    }
}

#[test]
fn whatever_grows_in_a_batch_makes_it_heavier() {
    const MIB: usize = 1 << 20;
    let long = vec![b'x'; MIB];
    let one = || Column::from_iter([&long]);
    let light = RecordBatch { values: Values::from(Column::from_iter(["v"])), ..RecordBatch::default() };
    let headers = |names: Column, values: Column| {
        Some(Headers { owners: vec![0; names.len()], names, values: OptionalColumn::from(values) })
    };
    let texts = FieldColumn { present: Vec::new(), cells: Cells::Texts(one()) };
    let grown = [
        RecordBatch { values: Values::from(one()), ..light.clone() },
        RecordBatch { record_keys: Some(OptionalColumn::from(one())), ..light.clone() },
        RecordBatch { headers: headers(one(), Column::from_iter(["v"])), ..light.clone() },
        RecordBatch { headers: headers(Column::from_iter(["n"]), one()), ..light.clone() },
        // Headers without a byte in them are many nevertheless.
        RecordBatch {
            headers: headers(vec![""; MIB].iter().collect(), vec![""; MIB].iter().collect()),
            ..light.clone()
        },
        RecordBatch { routing: Some(Routing { keys: one(), hashes: vec![0] }), ..light.clone() },
        RecordBatch { fields: vec![texts], ..light.clone() },
    ];
    for (index, batch) in grown.iter().enumerate() {
        assert!(batch.weight_bytes() + 1 >= light.weight_bytes() + MIB, "part {index} weighs {}", batch.weight_bytes());
    }
}

#[test]
fn field_names_of_a_port_are_checked() {
    let check = |names: &[&str]| {
        let field = |name: &&str| FieldSpec {
            name: (*name).to_owned(),
            path: "/a".to_owned(),
            kind: FieldKind::Text,
            required: false,
        };
        let port = |fields| PortDescriptor { id: 0, name: "port".to_owned(), fields, schema: None };
        let fields: Vec<FieldSpec> = names.iter().map(field).collect();
        let input = Descriptor { inputs: vec![port(fields.clone())], ..Descriptor::default() };
        let output = Descriptor { inputs: vec![port(vec![])], outputs: vec![port(fields)], ..Descriptor::default() };
        let (input, output) = (input.check(), output.check());
        assert_eq!(input, output);
        input.map_err(|error| error.to_string())
    };
    assert_eq!(check(&["event_id", "Amount-2"]), Ok(()));
    for (names, why) in [
        (&[""][..], "field ``: a name is not empty"),
        (&["a", "a"], "field `a`: a name stands once"),
        (&["a b"], "field `a b`: a name is made of letters, digits, `_` and `-`"),
        (&["a\nb"], "a name is made of"),
        (&[&"a".repeat(65)], "a name has at most 64 bytes"),
    ] {
        let refused = check(names).expect_err("a broken name");
        assert!(refused.contains(why), "{names:?}: {refused}");
    }
}

#[test]
fn a_path_is_refused_with_the_rule_that_it_breaks() {
    for (path, why) in [
        ("", PointerError::NoSlash),
        ("a/b", PointerError::NoSlash),
        ("/", PointerError::NoName),
        ("/a~", PointerError::Escape),
        ("/~2", PointerError::Escape),
        (&format!("/{}", "é".repeat(512)), PointerError::TooLong { found: 1025 }),
        (&"/a".repeat(128), PointerError::TooDeep { found: 128 }),
    ] {
        assert_eq!(pointer_steps(path), Err(why), "{path}");
    }
    assert_eq!(pointer_steps("/a~1b~0/0//").unwrap(), ["a/b~", "0", "", ""]);
    assert_eq!(pointer_steps(&"/a".repeat(127)).unwrap().len(), 127);
}

#[test]
fn a_column_reserves_no_more_for_rows_it_repeats_than_it_holds() {
    let mut column = Column::default();
    column.push(&vec![b'x'; 1 << 20]);
    column.push(b"");
    let selected = column.select(&vec![1; 1 << 16]);
    assert_eq!((selected.len(), selected.bytes().len()), (1 << 16, 0));
    assert!(selected.into_parts().0.capacity() <= 1 << 20);
    assert_eq!(column.select(&[0, 0, 1, 0]).bytes().len(), 3 << 20);
}

#[test]
fn timers_lie_in_the_order_of_their_times() {
    let times = [i64::MIN, -1, 0, 1, 1_700_000_000_000, i64::MAX];
    let keys = times.map(timer_entry_key);
    assert!(keys.is_sorted());
    assert_eq!(keys.map(|key| timer_time(&key)), times.map(Some));
    assert_eq!(timer_time(b"short"), None);
    let mut origins = Origins::default();
    origins.push(SourceId(0), SplitIndex(1), Position(7));
    for clock in TimerClock::ALL {
        origins.push_timer(clock, -5);
    }
    let timers: Vec<_> = (0..3).filter_map(|row| origins.get(row).map(timer_of_origin)).collect();
    assert_eq!(timers, [None, Some((TimerClock::EventTime, -5)), Some((TimerClock::ProcessingTime, -5))]);
}

#[test]
fn what_holds_timers_can_be_declared_by_no_function() {
    let port = PortDescriptor { id: 0, name: "in".to_owned(), fields: vec![], schema: None };
    let keyed = |states| Descriptor { inputs: vec![port.clone()], states, keyed: true, ..Descriptor::default() };
    for clock in TimerClock::ALL {
        let state = clock.state();
        assert_eq!(TimerClock::of_state(state.id), Some(clock));
        let by_name = StateDescriptor { id: StateId(0), ..state.clone() };
        assert!(matches!(keyed(vec![by_name]).check(), Err(DescriptorError::Name { .. })), "{}", state.name);
        let by_id = StateDescriptor { name: "mine".to_owned(), ..state.clone() };
        assert_eq!(
            keyed(vec![by_id]).check(),
            Err(DescriptorError::StateIdReserved { name: "mine".to_owned(), id: state.id })
        );
    }
    let with_timers = Descriptor { timers: true, ..keyed(vec![]) };
    assert_eq!(with_timers.check(), Ok(()));
    assert_eq!(with_timers.kept_states().len(), 2);
    assert_eq!(Descriptor { keyed: false, ..with_timers }.check(), Err(DescriptorError::TimersWithoutKey));
}
