use std::fs;
use std::path::Path;

use super::{PAGES, page_of, title};

#[test]
fn every_page_of_the_documentation_is_in_the_binary() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut codes: Vec<String> =
        names.filter(|name| name.starts_with('E')).map(|name| name.trim_end_matches(".md").to_owned()).collect();
    codes.sort();
    assert!(codes.len() > 100, "{codes:?}");
    assert_eq!(PAGES.iter().map(|(code, _)| *code).collect::<Vec<_>>(), codes);
    for (code, page) in PAGES {
        assert_eq!(fs::read_to_string(folder.join(format!("{code}.md"))).unwrap(), *page);
        assert!(!title(code, page).is_empty(), "{code} has no title");
    }
}

#[test]
fn a_code_is_found_as_people_type_it() {
    for typed in ["E0403", "e0403", "0403", "403"] {
        assert_eq!(page_of(typed).unwrap().0, "E0403", "{typed}");
    }
    for unknown in ["E9999", "E04033", "", "E", "four"] {
        assert_eq!(page_of(unknown), None, "{unknown}");
    }
}
