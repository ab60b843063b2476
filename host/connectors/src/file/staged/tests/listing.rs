//! What the readers' helper says.

use std::ops::ControlFlow;

use super::super::{PublishedFile, published_files, published_layout};
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

fn visited(root: &Path) -> Vec<(u64, Option<Condition>)> {
    let mut found = Vec::new();
    let each = &mut |file: PublishedFile| {
        found.push((file.epoch.0, file.condition().expect("it can be read")));
        ControlFlow::Continue(())
    };
    published_files(root, each).expect("a directory of a sink");
    found
}

#[test]
fn of_a_plain_directory_the_newest_epoch_can_be_checked() {
    let root = tempfile::tempdir().expect("a directory");
    let sink = StagedFileSink::new(options(root.path(), FileLayout::Plain));
    let mut writer = open(&sink);
    for epoch in 1..=3 {
        let staged = stage(&mut *writer, epoch, &[&format!("record {epoch}")]);
        publisher(&sink).publish(Epoch(epoch), &staged).expect("published");
    }
    fs::write(root.path().join("part-of-mine.txt"), "mine").expect("a file");
    assert_eq!(published_layout(root.path()).expect("a sink's"), FileLayout::Plain);
    assert_eq!(visited(root.path()), [(1, None), (2, None), (3, Some(Condition::Whole))]);
    let mut names = fs::read_dir(root.path()).expect("a directory").map(|it| it.expect("an entry").path());
    let newest = names.find(|path| path.to_string_lossy().contains("part-0000000003-")).expect("it is published");
    fs::write(&newest, "recorD 3\n").expect("changed");
    assert_eq!(visited(root.path())[2], (3, Some(Condition::OtherBytes)));
    fs::remove_file(&newest).expect("removed");
    assert_eq!(visited(root.path()), [(1, None), (2, None), (3, Some(Condition::Missing))]);
}

#[test]
fn a_visit_ends_when_it_is_told_to() {
    let root = tempfile::tempdir().expect("a directory");
    published(root.path());
    let mut visits = 0;
    let each = &mut |_: PublishedFile| {
        visits += 1;
        ControlFlow::Break(())
    };
    published_files(root.path(), each).expect("a directory of a sink");
    assert_eq!(visits, 1);
    let nothing = tempfile::tempdir().expect("a directory");
    assert_eq!(published_layout(nothing.path()).expect_err("nobody's").code(), Some("E0329"));
}
