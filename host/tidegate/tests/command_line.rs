//! The binary as a person meets it: exit codes, messages, and that nothing is half done.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the binary in `folder`.
fn tidegate(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(arguments)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env_remove("TIDEGATE_LOG")
        .output()
        .expect("the binary starts")
}

/// What the binary said on standard error, with its exit code.
fn refused(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = tidegate(folder, arguments);
    let said = String::from_utf8(output.stderr).expect("messages are UTF-8");
    (output.status.code().expect("it was not killed"), said)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    fs::write(folder.join(name), text).expect("a file in a temporary folder");
}

/// A job without functions: lines go from a file to another.
const COPY: &str = "
name: copy
sources:
  lines: { file: { path: in.txt }, format: raw }
sinks:
  out: { input: lines, file: { path: out.txt }, format: raw }
";

#[test]
fn a_job_copies_every_line_and_says_how_many() {
    let folder = folder();
    write(folder.path(), "job.yaml", COPY);
    write(folder.path(), "in.txt", "a\n\nlast without an end");
    let output = tidegate(folder.path(), &["run", "job.yaml", "--output", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(summary["outcome"], "finished");
    assert_eq!(summary["records_in"], 3);
    let copied = fs::read_to_string(folder.path().join("out.txt")).expect("the sink's file");
    assert_eq!(copied, "a\n\nlast without an end\n");
}

#[test]
fn a_second_run_refuses_to_overwrite_what_the_first_wrote() {
    let folder = folder();
    write(folder.path(), "job.yaml", COPY);
    write(folder.path(), "in.txt", "a\n");
    assert!(tidegate(folder.path(), &["run", "job.yaml"]).status.success());
    write(folder.path(), "in.txt", "b\n");
    let (code, said) = refused(folder.path(), &["run", "job.yaml"]);
    assert_eq!(code, 1);
    assert!(said.contains("out.txt") && said.contains("E0320"), "{said}");
    assert_eq!(fs::read_to_string(folder.path().join("out.txt")).expect("the first output"), "a\n");
}

#[test]
fn every_problem_of_a_job_file_is_said_with_its_line_and_a_page() {
    let folder = folder();
    let text = "name: x\nsources:\n  a: { file: { path: in }, fromat: json }\nsinks:\n  o: { input: b, stdout: {} }\n";
    write(folder.path(), "job.yaml", text);
    let (code, said) = refused(folder.path(), &["run", "job.yaml"]);
    assert_eq!(code, 1);
    for expected in ["E0103", "did you mean `format`", "job.yaml:3", "E0111", "job.yaml:5"] {
        assert!(said.contains(expected), "`{expected}` is missing in:\n{said}");
    }
}

#[test]
fn errors_are_documents_for_programs() {
    let folder = folder();
    write(folder.path(), "job.yaml", "name: x\nkafka: {}\n");
    let (code, said) = refused(folder.path(), &["run", "job.yaml", "--output", "json"]);
    assert_eq!(code, 1);
    let document: serde_json::Value = serde_json::from_str(&said).expect("one JSON document");
    assert_eq!(document["error"]["file"], "job.yaml");
    let problems = document["error"]["problems"].as_array().expect("a list");
    assert!(problems.iter().any(|problem| problem["code"] == "E0103" && problem["line"] == 2), "{said}");
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    let folder = folder();
    for command in ["server", "module", "job", "state", "dead-letter", "verify"] {
        let (code, said) = refused(folder.path(), &[command, "--any", "thing"]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("not available yet"), "{said}");
    }
}

#[test]
fn a_wrong_module_is_called_what_it_is() {
    let folder = folder();
    let core_module = b"\0asm\x01\0\0\0";
    let files: [(&str, &[u8], &str); 3] =
        [("text.wasm", b"hello", "text"), ("empty.wasm", b"", "empty"), ("core.wasm", core_module, "core module")];
    for (name, bytes, expected) in files {
        write(folder.path(), name, bytes);
        let (code, said) = refused(folder.path(), &["build", name]);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(name) && said.contains(expected) && said.contains("E02"), "{said}");
    }
}

#[test]
fn a_file_that_is_missing_endless_or_huge_is_refused_before_it_is_read() {
    let folder = folder();
    let huge = fs::File::create(folder.path().join("huge.wasm")).expect("a file");
    huge.set_len(1 << 40).expect("a sparse file");
    for (arguments, expected) in [
        (["run", "nowhere.yaml"], "nowhere.yaml"),
        (["run", "/dev/zero"], "a pipe or a device"),
        (["run", "huge.wasm"], "at most 1048576 are read"),
        (["build", "huge.wasm"], "at most 67108864 are read"),
        (["build", "/dev/zero"], "a pipe or a device"),
    ] {
        let (code, said) = refused(folder.path(), &arguments);
        assert_eq!(code, 1, "{said}");
        assert!(said.replace("\n  │ ", " ").contains(expected), "{said}");
    }
}

#[test]
fn a_sink_never_writes_over_what_the_job_reads() {
    let folder = folder();
    write(folder.path(), "in.txt", "precious\n");
    fs::hard_link(folder.path().join("in.txt"), folder.path().join("link.txt")).expect("a second name");
    for target in ["in.txt", "./in.txt", "link.txt", "job.yaml"] {
        let job = COPY.replace("path: out.txt", &format!("path: {target}, overwrite: true"));
        write(folder.path(), "job.yaml", &job);
        let (code, said) = refused(folder.path(), &["run", "job.yaml"]);
        assert_eq!(code, 1, "{target}: {said}");
        assert!(said.contains("would write over") || said.contains("E01"), "{said}");
        assert_eq!(fs::read_to_string(folder.path().join("in.txt")).expect("the input"), "precious\n");
        assert_eq!(fs::read_to_string(folder.path().join("job.yaml")).expect("the job file"), job);
    }
}

#[test]
fn wrong_usage_is_a_document_where_documents_are_asked_for() {
    let (code, said) = refused(folder().path(), &["run", "--output", "json", "--bogus"]);
    assert_eq!(code, 2);
    let document: serde_json::Value = serde_json::from_str(&said).expect("one JSON document");
    assert!(document["error"]["problems"][0]["message"].as_str().is_some_and(|text| text.contains("--bogus")));
}

#[test]
fn until_end_refuses_a_source_that_never_ends() {
    let folder = folder();
    let endless = "name: x\nsources:\n  g: { generator: { shape: orders }, format: json }\nsinks:\n  o: { input: g, blackhole: {} }\n";
    write(folder.path(), "job.yaml", endless);
    let (code, said) = refused(folder.path(), &["run", "job.yaml", "--until-end"]);
    assert_eq!(code, 2);
    assert!(said.contains("`g` never ends"), "{said}");
}

#[test]
fn the_printed_schema_is_the_one_of_the_job_file() {
    let output = tidegate(folder().path(), &["schema"]);
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a JSON document");
    assert!(schema["properties"]["sources"].is_object());
}

#[test]
fn the_manual_and_completions_name_every_visible_command() {
    let manual = tidegate(folder().path(), &["man"]).stdout;
    let completions = tidegate(folder().path(), &["completions", "bash"]).stdout;
    for command in ["new", "build", "test", "run", "schema"] {
        for text in [&manual, &completions] {
            assert!(String::from_utf8_lossy(text).contains(command));
        }
    }
}

#[test]
fn parallelism_on_the_command_line_leaves_operators_alone_that_name_their_own() {
    let folder = folder();
    let job = COPY.replace("format: raw }\nsinks", "format: raw, parallelism: 1 }\nsinks");
    let job = job.replace("path: out.txt }, format: raw", "path: out.txt }, format: raw, parallelism: 1");
    write(folder.path(), "job.yaml", job);
    write(folder.path(), "in.txt", "a\n");
    let output = tidegate(folder.path(), &["run", "job.yaml", "--parallelism", "2", "--output", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (code, said) = refused(folder.path(), &["run", "job.yaml", "--parallelism", "0"]);
    assert_eq!(code, 2, "{said}");
}

#[test]
fn a_reader_of_standard_output_that_goes_away_fails_a_job_that_also_writes_files() {
    let folder = folder();
    let job = "name: two\nsources:\n  g: { generator: { shape: orders, records: 200000 }, format: json }\n\
        sinks:\n  o: { input: g, stdout: {} }\n  f: { input: g, file: { path: out.jsonl } }\n";
    write(folder.path(), "two.yaml", job);
    write(folder.path(), "one.yaml", job.replace("  f: { input: g, file: { path: out.jsonl } }\n", ""));
    for (file, expected) in [("two.yaml", 1), ("one.yaml", 0)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(["run", file, "--quiet"])
            .current_dir(folder.path())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the binary starts");
        drop(child.stdout.take());
        assert_eq!(child.wait().expect("it ends").code(), Some(expected), "{file}");
    }
}

/// The same job with checkpoints, into a folder.
fn durable() -> String {
    format!("{}checkpoint: {{}}\n", COPY.replace("out.txt", "out"))
}

#[test]
fn an_error_is_explained_by_the_code_that_its_message_ends_with() {
    let folder = folder();
    write(folder.path(), "job.yaml", durable());
    write(folder.path(), "in.txt", "a\n");
    let (code, said) = refused(folder.path(), &["run", "job.yaml", "--storage", "nowhere"]);
    assert!(code == 1 && said.contains("tidegate explain E0405"), "{said}");
    let page = tidegate(folder.path(), &["explain", "E0405"]);
    let page = String::from_utf8(page.stdout).expect("a page is text");
    assert!(page.starts_with("# E0405 ") && page.contains("## What to do"), "{page}");
    let all = String::from_utf8(tidegate(folder.path(), &["explain"]).stdout).expect("a list is text");
    assert!(all.lines().count() > 100 && all.contains("\nE0405  the storage root does not exist\n"), "{all}");
    let document = tidegate(folder.path(), &["explain", "405", "--output", "json"]).stdout;
    let document: serde_json::Value = serde_json::from_slice(&document).expect("one JSON document");
    assert_eq!(document["title"], "the storage root does not exist");
    assert_eq!(refused(folder.path(), &["explain", "E9999"]).0, 2);
}

#[test]
fn a_path_in_a_message_stays_in_one_piece_however_long() {
    let folder = folder();
    write(folder.path(), "job.yaml", durable());
    write(folder.path(), "in.txt", "a\n");
    let path = format!("{}/some where/{}", folder.path().display(), "a-long-name/".repeat(12));
    let (_, said) = refused(folder.path(), &["run", "job.yaml", "--storage", &path]);
    assert!(said.contains(&format!("`{path}`")), "{said}");
}

#[test]
fn a_storage_root_that_cannot_be_used_is_said_before_anything_is_read() {
    let folder = folder();
    write(folder.path(), "job.yaml", durable());
    write(folder.path(), "in.txt", "a\n");
    write(folder.path(), "file", "mine");
    assert!(refused(folder.path(), &["run", "job.yaml", "--storage", "file"]).1.contains("E0406"));
    // The root that nobody names lies beside the job file.
    write(folder.path(), ".tidegate", "mine");
    assert!(refused(folder.path(), &["run", "job.yaml"]).1.contains("E0406"));
    assert!(!folder.path().join("out").exists());
}

#[cfg(not(feature = "s3"))]
#[test]
fn a_bucket_is_refused_by_a_program_that_speaks_to_none() {
    let folder = folder();
    write(folder.path(), "job.yaml", durable());
    write(folder.path(), "in.txt", "a\n");
    for command in [&["run", "job.yaml"][..], &["checkpoint", "list"], &["savepoint", "create", "--to", "saved"]] {
        let arguments = [command, &["--storage", "s3://me:hunter22@flows/prod"]].concat();
        let (code, said) = refused(folder.path(), &arguments);
        assert!(code == 1 && said.contains("E0411") && said.contains("`s3`"), "{said}");
        assert!(!said.contains("hunter22"), "{said}");
    }
    assert!(refused(folder.path(), &["checkpoint", "list", "--storage", "gs://flows"]).1.contains("E0409"));
}
