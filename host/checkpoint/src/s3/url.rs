//! The name of a store on S3.

use object_store::path::Path as ObjectPath;
use url::Url;

use crate::Error;

/// Where the objects lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// What was given: it holds no secret.
    pub(super) url: String,
    pub(super) bucket: String,
    pub(super) prefix: ObjectPath,
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
}

impl Location {
    /// `s3://bucket/prefix?endpoint=http://host:port&region=name`, prefix and options as needed.
    pub(super) fn parse(url: &str) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadUrl { url: without_login(url), reason };
        let parsed = Url::parse(url).map_err(|source| bad(source.to_string()))?;
        if parsed.scheme() != "s3" {
            return Err(bad(format!("expected `s3://bucket/prefix`, found the scheme `{}`", parsed.scheme())));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(bad("credentials come from the environment, not from the URL".to_owned()));
        }
        if parsed.port().is_some() || parsed.fragment().is_some() {
            return Err(bad("expected `s3://bucket/prefix`: host and port go into `endpoint=`".to_owned()));
        }
        let bucket = parsed.host_str().filter(|it| !it.is_empty());
        let bucket = bucket.ok_or_else(|| bad("a bucket is missing".to_owned()))?.to_owned();
        let prefix = ObjectPath::from_url_path(parsed.path()).map_err(|source| bad(source.to_string()))?;
        let mut location = Self { url: url.to_owned(), bucket, prefix, endpoint: None, region: None };
        for (name, value) in parsed.query_pairs() {
            match name.as_ref() {
                "endpoint" if !value.starts_with("http://") && !value.starts_with("https://") => {
                    return Err(bad(format!("endpoint `{value}` begins with neither `http://` nor `https://`")));
                }
                "endpoint" => location.endpoint = Some(value.trim_end_matches('/').to_owned()),
                "region" => location.region = Some(value.into_owned()),
                other => return Err(bad(format!("`{other}` is unknown: expected `endpoint` or `region`"))),
            }
        }
        Ok(location)
    }

    pub(super) fn is_plain_http(&self) -> bool {
        self.endpoint.as_ref().is_some_and(|it| it.starts_with("http://"))
    }

    pub(super) fn bad(&self, reason: String) -> Error {
        Error::BadUrl { url: self.url.clone(), reason }
    }
}

/// The URL as it may be shown: a login in it is cut out.
fn without_login(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://…@{rest}"),
        _ => url.to_owned(),
    }
}
