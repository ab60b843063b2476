use object_store::Error as StoreError;

use super::secrets::Secrets;
use super::url::{Location, check_endpoint};

fn refusal(url: &str) -> String {
    let error = Location::parse(url).unwrap_err();
    assert_eq!(error.code(), Some("E0409"));
    error.to_string()
}

#[test]
fn a_url_names_bucket_prefix_endpoint_and_region() {
    let plain = Location::parse("s3://flows").unwrap();
    assert_eq!((plain.bucket.as_str(), plain.prefix.as_ref(), plain.endpoint), ("flows", "", None));
    let full = Location::parse("s3://flows/a/b/?endpoint=http://127.0.0.1:9000/&region=eu-north-1").unwrap();
    assert_eq!((full.bucket.as_str(), full.prefix.as_ref()), ("flows", "a/b"));
    assert_eq!(full.endpoint.as_deref(), Some("http://127.0.0.1:9000"));
    assert_eq!(full.region.as_deref(), Some("eu-north-1"));
    let escaped = Location::parse("s3://flows?endpoint=https%3A%2F%2Fs3.example.com").unwrap();
    assert_eq!(escaped.endpoint.as_deref(), Some("https://s3.example.com"));
}

#[test]
fn a_url_that_names_no_store_is_refused_with_the_rule() {
    assert!(refusal("flows/a").contains("relative URL"), "{}", refusal("flows/a"));
    assert!(refusal("http://flows/a").contains("expected `s3://bucket/prefix`, found the scheme `http`"));
    assert!(refusal("s3:///a").contains("a bucket is missing"));
    assert!(refusal("s3://flows:9000/a").contains("go into `endpoint=`"));
    assert!(refusal("s3://flows?endpont=http://a").contains("`endpont` is unknown"));
}

#[test]
fn a_secret_in_a_url_is_refused_and_not_shown() {
    let shown = refusal("s3://AKIA:secret@flows/a");
    assert!(shown.contains("come from the environment") && !shown.contains("secret@"), "{shown}");
    let shown = refusal("s3://flows?aws_secret_access_key=hunter22");
    assert!(shown.contains("is unknown") && !shown.contains("hunter22"), "{shown}");
}

#[test]
fn what_is_not_encrypted_stays_on_this_machine_unless_it_is_allowed() {
    for here in ["http://127.0.0.1:9000", "http://localhost:9000", "http://[::1]:9000", "https://s3.example.com"] {
        assert_eq!(check_endpoint(here, false), Ok(()), "{here}");
    }
    for away in ["http://s3.example.com", "http://10.0.0.1:9000", "http://localhost.example.com", "http://0.0.0.0"] {
        let refused = check_endpoint(away, false).unwrap_err();
        assert!(refused.contains("AWS_ALLOW_HTTP=true"), "{refused}");
        assert_eq!(check_endpoint(away, true), Ok(()), "{away}");
    }
}

#[test]
fn an_endpoint_that_is_none_or_has_a_login_is_refused_and_the_login_not_shown() {
    assert!(check_endpoint("127.0.0.1:9000", true).is_err());
    assert!(check_endpoint("ftp://host", true).unwrap_err().contains("begins with neither"));
    for login in ["http://me:hunter22@127.0.0.1", "https://hunter22@host"] {
        let refused = check_endpoint(login, true).unwrap_err();
        assert!(refused.contains("come from the environment") && !refused.contains("hunter22"), "{refused}");
    }
}

#[test]
fn no_secret_is_left_in_what_a_store_says() {
    let secrets = ["AKIAEXAMPLE", "hunter22/with+signs", "token-token", "x"].map(|it| Some(it.to_owned()));
    let secrets = Secrets::new(secrets.into_iter().chain([None]));
    assert!(!format!("{secrets:?}").contains("hunter22"));
    let inner = "403: <AWSAccessKeyId>AKIAEXAMPLE</AWSAccessKeyId> hunter22/with+signs token-token x";
    let generic = StoreError::Generic { store: "S3", source: inner.into() };
    let denied = StoreError::PermissionDenied { path: "a".to_owned(), source: Box::new(generic) };
    let shown = secrets.cut_out_of(denied);
    assert!(matches!(shown, StoreError::PermissionDenied { .. }));
    for text in [shown.to_string(), format!("{shown:?}")] {
        assert!(text.contains("403") && text.contains('x'), "{text}");
        assert!(!["AKIAEXAMPLE", "hunter22", "token-token"].iter().any(|it| text.contains(it)), "{text}");
    }
}

#[test]
fn a_store_that_answers_with_a_page_is_told_in_short() {
    let page = StoreError::Generic { store: "S3", source: "<p>no</p>\n".repeat(10_000).into() };
    assert!(Secrets::new([]).cut_out_of(page).to_string().len() < 700);
}
