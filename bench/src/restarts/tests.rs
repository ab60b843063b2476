use std::path::Path;

use super::{Records, RestartSpec, Step, here};

const RECORDS: Records = Records { entries: 3_000, from: 0, to: 3_000 };

fn run(root: &Path, step: Step, records: Records) -> anyhow::Result<super::RestartFound> {
    here(&RestartSpec { step, root: root.to_path_buf(), records })
}

#[test]
fn a_restart_at_any_parallelism_knows_what_the_job_before_it_saw() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), Step::Build, RECORDS).unwrap();
    let mut records = RECORDS;
    for parallelism in [1, 2, 4] {
        records = Records { from: records.to, to: records.to + 1_000, ..records };
        let found = run(folder.path(), Step::Restart { parallelism }, records).unwrap();
        assert!(found.first.wall_ns > 0 && found.first.wall_ns <= found.last.wall_ns);
        assert!(found.stored_bytes > 300_000);
        assert_eq!(run(folder.path(), Step::ReadFiles, records).unwrap().stored_bytes, found.stored_bytes);
    }
}

#[test]
fn a_restart_that_remembers_nothing_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let forgetful = Records { from: 3_000, to: 4_000, ..RECORDS };
    let error = run(folder.path(), Step::Restart { parallelism: 1 }, forgetful).unwrap_err();
    assert!(error.to_string().contains("something else than it should"), "{error}");
}

#[test]
fn every_other_record_of_a_tail_is_known() {
    let tail = Records { from: 3_000, to: 3_100, ..RECORDS };
    assert_eq!(tail.expected().records, 50);
    assert_eq!(RECORDS.expected().records, 3_000);
    let known: Vec<_> = (0..RECORDS.entries).map(|number| RECORDS.key(number)).collect();
    assert_eq!((tail.from..tail.to).filter(|&number| known.contains(&tail.key(number))).count(), 50);
}

#[test]
fn the_bare_table_has_every_entry() {
    let found = run(Path::new("."), Step::BuildTable, RECORDS).unwrap();
    assert_eq!(found.stored_bytes, 3_000 * 108);
}
