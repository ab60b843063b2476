//! What the readers' helper says.

use super::*;

fn published(root: &Path) -> Vec<std::path::PathBuf> {
    let sink = StagedFileSink::new(options(root, FileLayout::Commits));
    let mut writer = open(&sink);
    for epoch in 1..=4 {
        let staged = stage(&mut *writer, epoch, &[&format!("record {epoch}")]);
        publisher(&sink).publish(Epoch(epoch), &staged).expect("published");
    }
    committed_files(root).expect("commits").files.into_iter().map(|file| file.path).collect()
}

#[test]
fn what_is_missing_cut_or_changed_is_told_from_what_is_whole() {
    let root = tempfile::tempdir().expect("a directory");
    let files = published(root.path());
    fs::remove_file(&files[0]).expect("removed");
    fs::write(&files[1], "rec").expect("cut");
    fs::write(&files[2], "recorD 3\n").expect("changed");
    let committed = committed_files(root.path()).expect("commits");
    let conditions: Vec<_> = committed.files.iter().map(|file| file.condition.clone()).collect();
    let cut = Condition::OtherLength { bytes: 3 };
    assert_eq!(conditions, [Condition::Missing, cut, Condition::OtherBytes, Condition::Whole]);
    assert!(!committed.is_whole());
    let epochs: Vec<u64> = committed.files.iter().map(|file| file.epoch.0).collect();
    assert_eq!(epochs, [1, 2, 3, 4]);
}

#[test]
fn what_no_commit_lists_is_named_and_not_read() {
    let root = tempfile::tempdir().expect("a directory");
    let files = published(root.path());
    let foreign = files[0].with_file_name("notes.txt");
    fs::write(&foreign, "mine\n").expect("a file");
    fs::write(root.path().join("data/loose.txt"), "mine\n").expect("a file");
    stage(&mut *open(&StagedFileSink::new(options(root.path(), FileLayout::Commits))), 5, &["pending"]);
    let committed = committed_files(root.path()).expect("commits");
    assert!(committed.is_whole() && committed.files.len() == 4);
    assert_eq!(committed.not_listed.len(), 3);
    assert!(committed.not_listed.contains(&foreign));
}

#[test]
fn a_directory_without_commits_is_refused() {
    let root = tempfile::tempdir().expect("a directory");
    let error = committed_files(root.path()).expect_err("there is nothing");
    assert_eq!(error.code(), Some("E0329"));
    drop(open(&StagedFileSink::new(options(root.path(), FileLayout::Plain))));
    let error = committed_files(root.path()).expect_err("it is plain");
    assert_eq!(error.code(), Some("E0333"));
}

#[test]
fn a_commit_that_is_damaged_newer_or_another_is_an_error_by_name() {
    for (text, says) in [
        ("{", "is damaged"),
        ("{\"version\":2}", "format version 2, expected 1"),
        ("{\"version\":1,\"lineage\":\"000000000000feed\",\"epoch\":7,\"files\":[]}", "the commit of epoch 7"),
    ] {
        let root = tempfile::tempdir().expect("a directory");
        published(root.path());
        let commit = root.path().join(format!("_commits/{LINEAGE}/00000000000000000002.json"));
        fs::write(&commit, text).expect("overwritten");
        let error = committed_files(root.path()).expect_err("it cannot be trusted");
        assert_eq!(error.code(), Some("E0329"));
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.to_string().contains("00000000000000000002.json"), "{error}");
    }
}

#[test]
fn a_commit_that_leads_out_of_its_lineage_is_refused_and_nothing_is_read() {
    for name in ["/dev/zero", "data/../../secret.txt", "data/000000000000feed/../x.txt", "data/000000000000beef/x.txt"]
    {
        let root = tempfile::tempdir().expect("a directory");
        published(root.path());
        let commit = root.path().join(format!("_commits/{LINEAGE}/00000000000000000002.json"));
        let text = format!(
            r#"{{"version":1,"lineage":"{LINEAGE}","epoch":2,"files":[{{"name":"{name}","bytes":0,"records":0,"checksum":""}}]}}"#
        );
        fs::write(&commit, text).expect("overwritten");
        let error = committed_files(root.path()).expect_err("it cannot be trusted");
        assert_eq!(error.code(), Some("E0329"));
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
    }
}
