//! What the sandbox does with guests: one module per guest in `tests/guests/examples`, of the same name.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

mod isolation;
mod kit;
mod patch;

/// Declares the module of each guest, and that there is one for each.
macro_rules! guests {
    ($($guest:ident)*) => {
        $(mod $guest;)*

        #[test]
        fn every_guest_has_a_module_of_tests() {
            let folder = kit::guests_folder().join("examples");
            let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            let mut guests: Vec<String> =
                entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
            guests.sort();
            assert_eq!(guests, [$(stringify!($guest)),*]);
        }

        #[test]
        fn every_module_of_a_guest_has_a_test() {
            for (guest, text) in [$((stringify!($guest), include_str!(concat!(stringify!($guest), ".rs")))),*] {
                assert!(text.contains("#[test]"), "{guest}");
            }
        }
    };
}

guests! {
    assigns
    bad_ids
    bad_rows
    bad_slots
    broken_text
    calls_too_early
    counter
    dedup
    deep_recursion
    describes_at_length
    describes_no_json
    describes_without_end
    describes_wrongly
    echo
    echo_keys
    fields
    foreign_import
    foreign_world
    gigabyte_emit
    hoards
    loop_in_describe
    loop_in_open
    loop_in_process
    loop_in_start
    loud_log
    lying_columns
    memory_bomb
    migrates
    million_emits
    other_shape
    other_version
    panics
    probe
    probes_memory
    refuses_config
    rejects
    scans
    slow_host_calls
    stores_too_much
    table_bomb
    timers
    trap_after_emit
    trap_after_store
    undeclared_timers
    wasi_import
    writes_for_rows
}
