use super::shown_url;

#[test]
fn a_url_without_secrets_is_shown_as_it_is() {
    for url in
        ["s3://flows", "s3://flows/a/b?endpoint=http://127.0.0.1:9000&region=eu-north-1", "s3://flows?x", "no url"]
    {
        assert_eq!(shown_url(url), url);
    }
}

#[test]
fn whatever_may_be_a_secret_is_cut() {
    for url in [
        "s3://AKIA:hunter22@flows/a",
        "s3://flows?endpoint=http://me:hunter22@host",
        "s3://flows?endpoint=http%3A%2F%2Fme%3Ahunter22%40host",
        "s3://flows?secret_access_key=hunter22&region=here",
        "me:hunter22@flows",
    ] {
        let shown = shown_url(url);
        assert!(!shown.contains("hunter22") && shown.contains('…'), "{url}: {shown}");
    }
    assert_eq!(shown_url("s3://flows?token=hunter22&region=here"), "s3://flows?token=…&region=here");
}
