use super::super::{MAX_DEPTH, MAX_FILE_BYTES};
use super::{codes, job, parse, refusal};

#[test]
fn everything_wrong_is_said_at_once_with_place_and_help() {
    insta::assert_snapshot!(refusal(include_str!("wrong.yaml")));
}

#[test]
fn a_slip_in_a_key_that_is_needed_is_one_problem() {
    for (function, help) in [
        ("  f: { inptu: orders, module: ./f }", "did you mean `input`?"),
        ("  f: { input: orders, modul: ./f }", "did you mean `module`?"),
    ] {
        let errors = parse(&job(function, "")).expect_err("a key is misspelt");
        let found: Vec<_> =
            errors.problems.iter().map(|it| (it.code, it.help.as_deref().unwrap_or_default())).collect();
        assert_eq!(found, [("E0103", help)], "{errors}");
    }
    assert_eq!(codes(&job("", "dead_letters: { flie: { path: d } }")), ["E0103"]);
    // Another key is no slip of it.
    assert_eq!(codes(&job("  f: { input: orders, zebra: ./f }", "")), ["E0105", "E0103"]);
}

#[test]
fn a_header_line_is_written_by_exactly_once_file_sinks_that_name_their_columns() {
    let sink = |options: &str, more: &str| {
        format!(
            "name: a\nsources: {{ o: {{ file: {{ path: a }} }} }}\nsinks: {{ s: {{ input: o, {options} }} }}\n{more}"
        )
    };
    let csv = "format: { csv: { columns: [id], header: true } }";
    assert!(parse(&sink(&format!("file: {{ path: out }}, {csv}"), "checkpoint:")).is_ok());
    assert_eq!(codes(&sink(&format!("file: {{ path: out }}, {csv}"), "")), ["E0106"]);
    let unnamed = "file: { path: out }, format: { csv: { header: true } }";
    assert_eq!(codes(&sink(unnamed, "checkpoint:")), ["E0105"]);
}

#[test]
fn a_place_is_the_bytes_of_the_value() {
    let text = job("  f: { input: ordrs, module: ./f }", "");
    let errors = parse(&text).expect_err("the input is misspelt");
    let problem = &errors.problems[0];
    assert_eq!(&errors.text[problem.span.clone()], "ordrs");
    assert_eq!((problem.path.as_str(), problem.line, problem.column), ("functions.f.input", 6, 15));
}

#[test]
fn columns_count_characters() {
    let errors = parse("näme: a").expect_err("not a job");
    assert!(errors.problems.iter().all(|problem| problem.column == 1), "{errors}");
    let errors = parse("{ä: 1, b: 2}").expect_err("not a job");
    let columns: Vec<_> = errors.problems.iter().filter(|p| p.code == "E0103").map(|p| p.column).collect();
    assert_eq!(columns, [2, 8]);
}

#[test]
fn texts_that_are_not_yaml_have_a_line() {
    for text in ["a: [1", "a: \"b", "name: a\n  b: c\n d: e", "{\"name\": \"a\",,}", "*nobody", "name: &a *a"] {
        let errors = parse(text).expect_err("not YAML");
        assert!(errors.problems.iter().any(|problem| problem.code == "E0101" && problem.line >= 1), "{text}: {errors}");
    }
    insta::assert_snapshot!(refusal("name: a\nsources: [\n"));
}

#[test]
fn a_text_that_is_no_mapping_is_refused() {
    for (text, code) in [("", "E0105"), ("# nothing", "E0105"), ("[]", "E0107"), ("a job", "E0107"), ("7", "E0107")] {
        assert_eq!(codes(text), [code], "{text:?}");
    }
}

#[test]
fn what_yaml_has_and_a_job_file_has_not_is_refused() {
    for more in [
        "? [a]\n: b",
        "<<: { parallelism: 2 }",
        "parallelism: !odd 3",
        "queue_bytes: !!str 1MiB",
        "? !!str batch\n: {}",
        "batch: !!map {}",
        "---\nname: b",
    ] {
        assert!(codes(&job("", more)).contains(&"E0117"), "{more}: {:?}", codes(&job("", more)));
    }
    assert_eq!(codes(&format!("%YAML 1.1\n---\n{}", job("", ""))), ["E0101"]);
}

#[test]
fn a_file_beyond_the_limits_is_refused_at_once() {
    assert_eq!(codes(&"#".repeat(MAX_FILE_BYTES + 1)), ["E0102"]);
    let deep = "[".repeat(MAX_DEPTH + 2) + &"]".repeat(MAX_DEPTH + 2);
    assert_eq!(codes(&deep), ["E0102"]);
    assert_eq!(codes(&"[".repeat(100_000)), ["E0102"]);
    assert_eq!(codes(&"{a: ".repeat(10_000)), ["E0102"]);
}

#[test]
fn aliases_of_aliases_do_not_fill_the_memory() {
    let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..30 {
        let before = level - 1;
        text.push_str(&format!("a{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}, *a{before}]\n"));
    }
    assert_eq!(codes(&text), ["E0102"]);
}

#[test]
fn anchors_within_anchors_do_not_fill_the_memory() {
    let open: String = (0..60).map(|level| format!("&a{level} [")).collect();
    let text = format!("x: {open}{}{}", "b,".repeat(400_000), "]".repeat(60));
    assert_eq!(codes(&text), ["E0102"]);
}

#[test]
fn a_million_wrong_keys_are_not_all_kept() {
    let keys: String = (0..50_000).map(|n| format!("k{n}: 1\n")).collect();
    let errors = parse(&keys).expect_err("no job");
    assert_eq!(errors.problems.len(), 100);
    assert!(errors.to_string().contains("more problems are not shown"));
}

#[test]
fn a_file_full_of_operators_is_refused_soon() {
    let functions: String = (0..20_000).map(|n| format!("  f{n}: {{ input: g{n}, module: m }}\n")).collect();
    assert_eq!(codes(&job(&functions, ""))[0], "E0102");
    let inputs = "x,".repeat(300_000);
    assert!(codes(&job(&format!("  f: {{ input: [{inputs}], module: m }}"), "")).contains(&"E0102"));
}

#[test]
fn cycles_are_named_by_their_path() {
    for (functions, path) in [
        ("  f: { input: [orders, f], module: ./f }", "f → f"),
        ("  f: { input: g, module: ./f }\n  g: { input: f.late, module: ./f }", "f → g → f"),
        (
            "  a: { input: [orders, c], module: ./f }\n  b: { input: a, module: ./f }\n  c: { input: b, module: ./f }\n  d: { input: c, module: ./f }",
            "a → b → c → a",
        ),
    ] {
        let told = refusal(&job(functions, ""));
        assert_eq!(told.matches("E0112").count(), 1, "{told}");
        assert!(told.contains(path), "{told}");
    }
}

#[test]
fn a_diamond_is_no_cycle() {
    let functions = "  a: { input: orders, module: ./f }\n  b: { input: [a, orders], module: ./f }\n  c: { input: [a, b], module: ./f }";
    assert_eq!(codes(&job(functions, "")), Vec::<&str>::new());
}

#[test]
fn limits_and_ranges_are_kept() {
    for (functions, more) in [
        ("", "parallelism: 0"),
        ("", "parallelism: 257"),
        ("", "key_groups: 0"),
        ("", "key_groups: 32769"),
        ("", "batch: { max_rows: 0 }"),
        ("", "batch: { max_bytes: 1TiB }"),
        ("", "batch: { max_age: 1h }"),
        ("", "queue_bytes: 1"),
        ("", "checkpoint: { interval: 9ms }"),
        ("", "checkpoint: { timeout: 2days }"),
        ("", "checkpoint: { retain: 0 }"),
        ("", "checkpoint: { tolerable_failures: 1001 }"),
        ("", "checkpoint:\nrestart: { attempts: 1000001 }"),
        ("", "checkpoint:\nrestart: { backoff: 2s..1s }"),
        ("", "checkpoint:\nrestart: { backoff: 1s..2h }"),
        ("", "checkpoint:\ndead_letters: { file: { path: d, roll_bytes: 1 } }"),
        ("  f: { input: orders, module: ./f, parallelism: 257 }", ""),
        ("  f: { input: orders, module: ./f, limits: { memory: 1 } }", ""),
        ("  f: { input: orders, module: ./f, limits: { fuel_per_record: 1 } }", ""),
        ("  f: { input: orders, module: ./f, limits: { time_per_batch: 1ns } }", ""),
    ] {
        assert_eq!(codes(&job(functions, more)), ["E0108"], "{functions} {more}");
    }
    assert_eq!(codes(&job("", "parallelism: 256\nkey_groups: 32768")), Vec::<&str>::new());
}

#[test]
fn values_of_another_kind_are_refused_with_what_was_found() {
    for (more, found) in [
        ("parallelism: two", "found `two`"),
        ("parallelism: 1.5", "found the number `1.5`"),
        ("parallelism: [1]", "found a list of 1"),
        ("parallelism:", "found nothing"),
        ("queue_bytes: lots", "found `lots`"),
        ("batch: 7", "found the number `7`"),
        ("batch: { max_age: 5 }", "a duration with its unit"),
        ("state: { backend: rocks }", "did you mean `rocksdb`?"),
        ("checkpoint: 10s", "found `10s`"),
        ("checkpoint:\nrestart: { backoff: 1s-60s }", "such as `1s..60s`"),
        ("checkpoint:\ndead_letters: { file: { path: d, delivery: exactly_once } }", "did you mean `exactly-once`?"),
        ("checkpoint:\ndead_letters: { file: { path: d, layout: flat } }", "`plain`, `commits`"),
        ("checkpoint:\ndead_letters: { file: { path: d, overwrite: true } }", "remove `overwrite`"),
        ("dead_letters: { file: { path: 7 } }", "found the number `7`"),
        ("dead_letters: { file: { path: '' } }", "found ``"),
    ] {
        let told = refusal(&job("", more));
        assert!(told.contains(found), "{more}: {told}");
        assert!(told.contains("E0107") && told.lines().count() <= 2, "{more}: {told}");
    }
}

#[test]
fn state_goes_to_disk_only_with_checkpoints() {
    assert_eq!(codes(&job("", "state: { backend: rocksdb }")), ["E0122"]);
    assert_eq!(codes(&job("", "checkpoint:\nstate: { backend: rocksdb }")), Vec::<&str>::new());
    assert_eq!(codes(&job("", "state: { backend: memory }")), Vec::<&str>::new());
}

#[test]
fn what_is_not_built_yet_is_refused_and_never_ignored() {
    let source = |connector: &str| {
        format!("name: a\nsources: {{ o: {{ {connector} }} }}\nsinks: {{ s: {{ input: o, stdout: }} }}")
    };
    for text in [
        job("", "dead_letters: { kafka: {} }"),
        job("  f: { input: orders, module: dedup@1 }", ""),
        source("kafka: { topic: a }"),
        source("postgres: {}"),
        source("http: {}"),
        source("file: { path: a }, event_time: { field: /t, unit: ms }, watermark: { max_out_of_orderness: 0s, idle_after: 1s }"),
        "name: a\nsources: { o: { file: { path: a } } }\nsinks: { s: { input: o, stdout: , format: { csv: { header: true } } } }".to_owned(),
    ] {
        assert_eq!(codes(&text), ["E0106"], "{text}");
        assert!(refusal(&text).contains("not available yet"), "{}", refusal(&text));
    }
}

#[test]
fn names_are_checked_and_shared_by_sources_functions_and_sinks() {
    assert_eq!(codes(&job("  orders: { input: orders, module: ./f }", "")), ["E0110"]);
    assert_eq!(codes(&job("  Bad_Name: { input: orders, module: ./f }", "")), ["E0109"]);
    assert_eq!(codes(&job("  dead-letters: { input: orders, module: ./f }", "")), ["E0109"]);
    assert_eq!(codes(&job("  1: { input: orders, module: ./f }", "")), ["E0109"]);
    assert_eq!(codes(&job(&format!("  {}: {{ input: orders, module: ./f }}", "a".repeat(65)), "")), ["E0109"]);
}

#[test]
fn inputs_must_be_there_and_be_readable() {
    for (input, code) in [
        ("nothing", "E0111"),
        ("out", "E0111"),
        ("orders.late", "E0118"),
        ("[orders, orders]", "E0110"),
        ("[]", "E0107"),
        ("7", "E0107"),
        ("Orders", "E0111"),
    ] {
        assert_eq!(codes(&job(&format!("  f: {{ input: {input}, module: ./f }}"), "")), [code], "{input}");
    }
    assert_eq!(codes(&job("  f: { module: ./f }", "")), ["E0105"]);
    assert_eq!(codes(&job("  f: { input: orders, inputs: { a: orders }, module: ./f }", "")), ["E0120"]);
}

#[test]
fn paths_of_fields_are_json_pointers() {
    for (key, help) in [
        ("event_id", "`/event_id`"),
        ("$.a.b", "$key"),
        (".a.b", "`/a/b`"),
        ("/", "not a JSON pointer"),
        ("/a~2", "with every `~` written as `~0`"),
        (&format!("/{}", "a".repeat(1024)), "of at most 1024 bytes: it has 1025"),
        (&"/a".repeat(128), "of at most 127 steps: it has 128"),
    ] {
        let told = refusal(&job(&format!("  f: {{ input: orders, module: ./f, key: {key} }}"), ""));
        assert!(told.contains("E0113") && told.contains(help), "{key}: {told}");
    }
    let raw = "name: a\nsources: { o: { file: { path: a }, format: raw, event_time: { field: /t, unit: s } } }\nfunctions: { f: { input: o, key: /k, module: ./f } }\nsinks: { s: { input: f, stdout: } }";
    assert_eq!(codes(raw), ["E0113", "E0113"]);
}

#[test]
fn a_csv_delimiter_is_no_part_of_a_cell() {
    let source = |delimiter: &str| {
        format!(
            "name: a\nsources: {{ o: {{ file: {{ path: a }}, format: {{ csv: {{ delimiter: {delimiter:?} }} }} }} }}\nsinks: {{ s: {{ input: o, stdout: }} }}"
        )
    };
    for delimiter in [",", ";", "|", "\t", " ", ":", "_"] {
        assert_eq!(codes(&source(delimiter)), Vec::<&str>::new(), "{delimiter:?}");
    }
    for delimiter in ["a", "Z", "0", "+", "-", ".", "\"", "\n", "\r", "\0", "é", ",,", ""] {
        assert_eq!(codes(&source(delimiter)), ["E0107"], "{delimiter:?}");
    }
}

#[test]
fn exactly_one_connector_is_chosen() {
    let sink = |connectors: &str| {
        format!("name: a\nsources: {{ o: {{ file: {{ path: a }} }} }}\nsinks: {{ s: {{ input: o, {connectors} }} }}")
    };
    assert_eq!(codes(&sink("format: json")), ["E0114"]);
    assert_eq!(codes(&sink("stdout: , blackhole: ")), ["E0114"]);
    assert_eq!(codes(&sink("stdout: , kafka: {}")), ["E0114", "E0106"]);
    assert_eq!(codes(&sink("stdout: {}")), Vec::<&str>::new());
}

#[test]
fn one_file_is_not_written_by_many() {
    let text = "name: a\nparallelism: 2\nsources: { o: { file: { path: a } } }\nsinks: { s: { input: o, file: { path: out.jsonl } } }";
    let told = refusal(text);
    assert!(told.contains("`sinks.s.file.path`: one file cannot be written by 2 subtasks"), "{told}");
}

#[test]
fn a_source_that_nobody_reads_is_refused() {
    let text = "name: a\nsources: { o: { file: { path: a } }, p: { generator: } }\nsinks: { s: { input: o, stdout: } }";
    assert_eq!(codes(text), ["E0116"]);
}

#[test]
fn dead_letters_must_be_there_to_be_used() {
    assert_eq!(codes(&job("  f: { input: orders, module: ./f, on_error: dead-letter }", "")), ["E0115"]);
}

#[test]
fn a_config_that_json_cannot_say_is_refused() {
    for value in [".inf", "-.INF", ".nan", "0xfffffffffffffffff"] {
        assert_eq!(
            codes(&job(&format!("  f: {{ input: orders, module: ./f, config: {{ x: {value} }} }}"), "")),
            ["E0107"]
        );
    }
    assert_eq!(codes(&job("  f: { input: orders, module: ./f, config: text }", "")), ["E0107"]);
}

#[test]
fn what_is_written_has_one_writer() {
    let job = |one: &str, other: &str, dead: &str| {
        let dead =
            if dead.is_empty() { String::new() } else { format!("dead_letters: {{ file: {{ path: {dead} }} }}\n") };
        format!(
            "name: a\nsources: {{ o: {{ file: {{ path: a }} }} }}\n{dead}sinks:\n  s: {{ input: o, file: {{ path: {one} }} }}\n  t: {{ input: o, file: {{ path: {other}, overwrite: true }}, format: raw }}\n"
        )
    };
    for same in ["out", "./out/", "out/.", "x/../out", "../jobs/out", "x/y/../../out"] {
        assert_eq!(codes(&job("out", same, "")), ["E0121"], "{same}");
        assert_eq!(codes(&job("elsewhere", "out", same)), ["E0121"], "{same}");
    }
    assert_eq!(codes(&job("/tmp/out", "/../tmp/./out", "")), ["E0121"]);
    assert_eq!(codes(&job("out", "out", "out")), ["E0121", "E0121"]);
    let told = refusal(&job("a.jsonl", "out", "x/../out"));
    assert!(told.contains("`dead_letters.file.path`: `x/../out` is written by `sinks.t` already"), "{told}");
    for other in ["out/late", "out-2", "../out", "/out", "jobs/out"] {
        assert_eq!(codes(&job("out", other, "")), Vec::<&str>::new(), "{other}");
    }
}

#[test]
fn what_needs_checkpoints_says_so() {
    for more in [
        "restart: {}",
        "dead_letters: { file: { path: ./d, delivery: exactly-once } }",
        "dead_letters: { file: { path: ./d, delivery: at-least-once } }",
        "dead_letters: { file: { path: ./d, layout: commits } }",
        "dead_letters: { file: { path: ./d, roll_bytes: 1MiB } }",
        "checkpoint:\ndead_letters: { file: { path: ./d, delivery: at-least-once, layout: plain } }",
    ] {
        let told = refusal(&job("", more));
        assert!(told.starts_with("E0122") && told.contains("`checkpoint: {}`"), "{more}: {told}");
        assert_eq!(codes(&job("", more)).len(), 1, "{more}: {told}");
    }
}

#[test]
fn an_exactly_once_sink_needs_a_directory() {
    let told = refusal(&job("", "checkpoint:\ndead_letters: { file: { path: dead/all.jsonl.gz } }"));
    assert!(told.starts_with("E0123") && told.contains("`dead/all.jsonl.gz` names one file"), "{told}");
    assert!(told.contains("delivery: at-least-once"), "{told}");
}

#[test]
fn a_watermark_needs_event_times() {
    let text = "name: a\nsources: { o: { file: { path: a }, watermark: { max_out_of_orderness: 0s } } }\nsinks: { s: { input: o, stdout: } }";
    assert_eq!(codes(text), ["E0105"]);
}

#[test]
fn how_far_records_are_out_of_order_is_never_guessed() {
    let text = "name: a\nsources: { o: { file: { path: a }, event_time: { field: /t, unit: ms }, watermark: { max_ahead: 1h } } }\nsinks: { s: { input: o, stdout: } }";
    let told = refusal(text);
    assert!(told.starts_with("E0105") && told.contains("max_out_of_orderness"), "{told}");
}
