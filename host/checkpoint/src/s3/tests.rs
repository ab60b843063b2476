use super::url::Location;

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
    assert!(full.is_plain_http());
    let escaped = Location::parse("s3://flows?endpoint=https%3A%2F%2Fs3.example.com").unwrap();
    assert_eq!(escaped.endpoint.as_deref(), Some("https://s3.example.com"));
    assert!(!escaped.is_plain_http());
}

#[test]
fn a_url_that_names_no_store_is_refused_with_the_rule() {
    assert!(refusal("flows/a").contains("relative URL"), "{}", refusal("flows/a"));
    assert!(refusal("http://flows/a").contains("expected `s3://bucket/prefix`, found the scheme `http`"));
    assert!(refusal("s3:///a").contains("a bucket is missing"));
    assert!(refusal("s3://flows:9000/a").contains("go into `endpoint=`"));
    assert!(refusal("s3://flows?endpoint=127.0.0.1:9000").contains("begins with neither"));
    assert!(refusal("s3://flows?endpont=http://a").contains("`endpont` is unknown"));
}

#[test]
fn a_secret_in_a_url_is_refused_and_not_shown() {
    let shown = refusal("s3://AKIA:secret@flows/a");
    assert!(shown.contains("come from the environment") && !shown.contains("secret@"), "{shown}");
}
