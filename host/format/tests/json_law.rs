//! Laws of JSON decoding: a document is accepted exactly when `serde_json` accepts it, with the same
//! values at every path.

#![expect(clippy::indexing_slicing, reason = "a test may panic")]

mod oracle;

use format::{Cut, CutKind, Decoder, Format};
use model::{Cells, Column, FieldKind, Values};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

/// Member names, some with a path that leads to them, some written with escapes.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("\"a\"".to_owned()),
        4 => Just("\"b\"".to_owned()),
        2 => prop::sample::select(vec![
            r#""\u0061""#, r#""a/b~""#, r#""a\/b~""#, r#""é""#, r#""\u00e9""#, r#""""#, r#""0""#, r#""1""#,
            r#""a name that is longer than what can be guessed""#, r#""\ud83d\ude00""#, r#""bb""#,
        ]).prop_map(str::to_owned),
        1 => string(),
    ]
}

fn string() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => "[ -!#-\\[\\]-~]{0,12}",
        1 => "\\PC{0,3}".prop_map(|text| text.replace(['"', '\\'], "")),
        2 => prop::sample::select(vec![
            r"\n", r"\t", r"\\", r#"\""#, r"\/", r"\b", r"\f", r"\r", r"\u0000", r"\u001f", r"\u00e9", r"\uFFFF",
            r"\ud83d\ude00", r"\uD83D\uDE00", "é", "😀", "\u{7f}",
        ]).prop_map(str::to_owned),
    ];
    vec(part, 0..5).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

/// Strings that break a rule, or nearly.
fn odd_string() -> impl Strategy<Value = String> {
    let odd = vec![
        r#""\ud800""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#""\ud800\u0061""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\ud800\udc00\udc00""#,
        r#""\u12""#,
        r#""\u12g4""#,
        r#""\x""#,
        r#""\"#,
        r#""abc"#,
        r#""\u"#,
        r#""\ud83d\u"#,
        "\"\u{1}\"",
        "\"tab\tin\"",
        "\"line\nin\"",
        r#""\u+123""#,
        r#""\U0041""#,
        "'a'",
        r#""ab\"#,
        r#""\ud83d\"#,
        "\"eight ch\u{1f}\"",
        "\"\u{80}\u{7f}\u{20}\"",
    ];
    prop::sample::select(odd).prop_map(str::to_owned)
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => any::<i64>().prop_map(|n| n.to_string()),
        2 => (-1000i64..1000).prop_map(|n| n.to_string()),
        2 => any::<u64>().prop_map(|n| n.to_string()),
        3 => any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(|f| format!("{f:?}")),
        2 => (-1e6..1e6).prop_map(|f| format!("{f}")),
        3 => "-?(0|[1-9][0-9]{0,22})(\\.[0-9]{1,22})?([eE][-+]?[0-9]{1,3})?",
        1 => "-?[0-9]{0,3}(\\.[0-9]{0,3})?([eE][-+]?[0-9]{0,11})?",
        1 => "-?184467440737095516[0-9]{1,3}(\\.[0-9]{0,3})?",
        1 => "-?922337203685477580[0-9]{1,2}",
        2 => prop::sample::select(ODD_NUMBERS.to_vec()).prop_map(str::to_owned),
    ]
}

const ODD_NUMBERS: [&str; 46] = [
    "1e400",
    "-1e400",
    "1e-400",
    "-1e-400",
    "0e400",
    "-0e999999999999",
    "1e999999999999",
    "1e-999999999999",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551616.0",
    "18446744073709551610.5",
    "-0",
    "-0.0",
    "0",
    "00",
    "01",
    "-01",
    "-",
    "+1",
    ".5",
    "5.",
    "1.e3",
    "1e",
    "1e+",
    "1e-",
    "1.0",
    "1e3",
    "1E+2",
    "1.5",
    "0x10",
    "NaN",
    "Infinity",
    "-Infinity",
    "1_000",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "17976931348623158e292",
    "5e-324",
    "2.4703282292062327e-324",
    "012345678901234567890123",
];

fn space() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => Just(String::new()),
        2 => Just(" ".to_owned()),
        1 => "[ \t\r\n]{1,4}",
        1 => prop::sample::select(vec!["\u{c}", "\u{a0}", "\u{b}", "\u{feff}"]).prop_map(str::to_owned),
    ]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => number(),
        4 => string(),
        2 => prop::sample::select(vec!["true", "false", "null"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["tru", "nul", "True", "nulls", "falsee", "undefined", ""]).prop_map(str::to_owned),
        1 => odd_string(),
    ]
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(5, 40, 6, |inner| {
        let member = (space(), key(), space(), space(), inner.clone(), space());
        let member = member.prop_map(|(s1, k, s2, s3, v, s4)| format!("{s1}{k}{s2}:{s3}{v}{s4}"));
        let element = (space(), inner, space()).prop_map(|(s1, v, s2)| format!("{s1}{v}{s2}"));
        prop_oneof![
            5 => (vec(member, 0..7), space()).prop_map(|(members, s)| format!("{{{s}{}}}", members.join(","))),
            2 => (vec(element, 0..5), space()).prop_map(|(elements, s)| format!("[{s}{}]", elements.join(","))),
        ]
    })
}

/// A document with a few bytes changed, lost or added.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..4u8, interesting_byte());
    (value(), vec(change, 1..4)).prop_map(|(document, changes)| {
        let mut bytes = document.into_bytes();
        for (place, how, byte) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
        }
        bytes
    })
}

fn interesting_byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        3 => prop::sample::select(b"{}[]\",:\\/0123456789.eE+-truefalsn \t\n\r\x00\x1f\x7f\x80\xc3\xbf\xed\xff".to_vec()),
        1 => any::<u8>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn documents_mean_what_serde_json_says(documents in vec(value(), 1..4)) {
        oracle::compare(&documents.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn damaged_documents_meet_the_verdict_of_serde_json(documents in vec(mutated(), 1..4)) {
        oracle::compare(&documents.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }

    #[test]
    fn a_damaged_document_does_not_touch_its_neighbours(good in value(), bad in mutated()) {
        oracle::compare(&[good.as_bytes(), &bad, good.as_bytes(), &bad]);
    }

    #[test]
    fn numbers_have_the_bits_of_serde_json(numbers in vec(number(), 1..20)) {
        let documents: Vec<String> = numbers.iter().map(|number| format!("{{\"a\":{number},\"b\":[{number}],\"\":\"long enough to read ahead\"}}")).collect();
        oracle::compare(&documents.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn strings_say_what_serde_json_says(strings in vec(prop_oneof![3 => string(), 1 => odd_string()], 1..10)) {
        let documents: Vec<String> = strings.iter().map(|string| format!("{{\"a\":{string}}}")).collect();
        oracle::compare(&documents.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn members_are_found_in_any_order(orders in vec(Just(MEMBERS.to_vec()).prop_shuffle(), 1..30), lengths in vec(0usize..9, 30)) {
        let document = |(order, length): (&Vec<&str>, &usize)| format!("{{{}}}", order[*length..].join(","));
        let documents: Vec<String> = orders.iter().zip(&lengths).map(document).collect();
        oracle::compare(&documents.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn depth_is_limited_where_serde_json_limits_it(depth in 124usize..132, kinds in any::<u128>(), lead in 0usize..5) {
        oracle::compare(&[nested(depth, kinds, lead).as_bytes()]);
    }
}

proptest! {
    #[test]
    fn every_pointer_into_a_document_leads_where_serde_json_leads(document in value(), pick in any::<prop::sample::Index>()) {
        let Ok(value) = serde_json::from_str::<Value>(&document) else { return Ok(()) };
        let mut paths = Vec::new();
        pointers(&value, String::new(), &mut paths);
        // The member without a name cannot be asked for: `/` alone is no path.
        paths.retain(|path| model::pointer_steps(path).is_ok());
        let some = if paths.is_empty() { paths } else { paths.split_off(pick.index(paths.len())) };
        let cut = |path: &String| Cut { path: path.clone(), kind: CutKind::Field(FieldKind::Json), required: true };
        let cuts: Vec<Cut> = some.iter().take(20).map(cut).collect();
        let values = Values::from([&document, &document].iter().collect::<Column>());
        let decoded = Decoder::new(&Format::Json, &cuts).unwrap().decode(&values);
        prop_assert_eq!(&decoded.faults, &[]);
        for (path, column) in some.iter().zip(&decoded.columns) {
            let Cells::Texts(cells) = &column.cells else { panic!("json is text") };
            for cell in cells.iter() {
                prop_assert_eq!(Some(&serde_json::from_slice::<Value>(cell).unwrap()), value.pointer(path));
            }
        }
    }
}

/// The pointers to all values below `value`.
fn pointers(value: &Value, path: String, paths: &mut Vec<String>) {
    let mut add = |step: &str, below: &Value| {
        let path = format!("{path}/{}", step.replace('~', "~0").replace('/', "~1"));
        paths.push(path.clone());
        pointers(below, path, paths);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, below)| add(name, below)),
        Value::Array(elements) => elements.iter().enumerate().for_each(|(index, below)| add(&index.to_string(), below)),
        _ => {}
    }
}

/// `depth` arrays and objects, one in the other, the outer `lead` of them on the path `/a/a/a/a`.
fn nested(depth: usize, kinds: u128, lead: usize) -> String {
    let object = |level: usize| level < lead || kinds >> (level % 128) & 1 == 1;
    let mut document: String = (0..depth).map(|level| if object(level) { "{\"a\":" } else { "[" }).collect();
    document.push('1');
    document.extend((0..depth).rev().map(|level| if object(level) { '}' } else { ']' }));
    document
}

/// Members whose order says nothing; some have names that differ late, or are too long to be guessed.
const MEMBERS: [&str; 10] = [
    r#""a":{"b":1,"0":2}"#,
    r#""b":[0,{"a":"x"}]"#,
    r#""a/b~":1.5"#,
    r#""é":"text""#,
    r#"   "":null"#,
    r#""a name of 20 bytes 1":1"#,
    r#""a name of 20 bytes 2":2"#,
    r#""a name that is too long to be guessed":3"#,
    r#""\u0062":[1,{"a":true}]"#,
    r#""zz" : [[]]"#,
];

#[test]
fn more_members_than_can_be_guessed_are_all_read() {
    let many = |first: usize| {
        let members: Vec<String> = (first..first + 100).map(|number| format!("\"name{number}\":{number}")).collect();
        format!("{{{},\"a\":{{{},\"b\":7}},\"b\":true}}", members.join(","), members.join(" , "))
    };
    let documents = [many(0), many(50), many(1000), MEMBERS.join(","), many(0), r#"{"a":{"b":8}}"#.to_owned()];
    oracle::compare(&documents.iter().map(String::as_bytes).collect::<Vec<_>>());
}

/// How many cases to try of each law.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(512)
}
