use super::{Need, check, free_of_df, free_of_meminfo};

const NEED: Need = Need { disk_bytes: 200 << 20, memory_bytes: 100 << 20 };

#[test]
fn room_that_is_just_enough_is_enough() {
    check("a case", NEED, Some(200 << 20), Some(100 << 20)).unwrap();
}

#[test]
fn what_is_missing_is_named_with_both_numbers() {
    let disk = check("a case", NEED, Some(199 << 20), None).unwrap_err().to_string();
    assert!(disk.starts_with("a case needs 200 MiB of disk, and 199 MiB are free"), "{disk}");
    let memory = check("a case", NEED, None, Some(99 << 20)).unwrap_err().to_string();
    assert!(memory.starts_with("a case needs 100 MiB of memory, and 99 MiB are free"), "{memory}");
}

#[test]
fn what_the_machine_does_not_tell_is_not_checked() {
    check("a case", NEED, None, None).unwrap();
}

#[test]
fn free_room_is_read_from_what_the_system_prints() {
    let df = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/a 1000 600 400 60% /data\n";
    assert_eq!(free_of_df(df), Some(400 * 1024));
    assert_eq!(free_of_df(""), None);
    assert_eq!(free_of_meminfo("MemTotal: 9 kB\nMemAvailable:    5 kB\n"), Some(5 * 1024));
    assert_eq!(free_of_meminfo("MemTotal: 9 kB\n"), None);
}
