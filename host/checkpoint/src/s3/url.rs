//! The name of a store on S3.

use object_store::path::Path as ObjectPath;
use url::{Host, Url};

use crate::{Error, shown_url};

/// Where the objects lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// What was given, as it may be shown.
    pub(super) url: String,
    pub(super) bucket: String,
    pub(super) prefix: ObjectPath,
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
}

impl Location {
    /// `s3://bucket/prefix?endpoint=http://host:port&region=name`, prefix and options as needed.
    pub(super) fn parse(url: &str) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadUrl { url: shown_url(url), reason };
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
        let mut location = Self { url: shown_url(url), bucket, prefix, endpoint: None, region: None };
        for (name, value) in parsed.query_pairs() {
            match name.as_ref() {
                "endpoint" => location.endpoint = Some(value.trim_end_matches('/').to_owned()),
                "region" => location.region = Some(value.into_owned()),
                other => return Err(bad(format!("`{other}` is unknown: expected `endpoint` or `region`"))),
            }
        }
        Ok(location)
    }

    pub(super) fn bad(&self, reason: String) -> Error {
        Error::BadUrl { url: self.url.clone(), reason }
    }
}

/// Whether `endpoint` may be spoken to, in the clear only where that is allowed or stays on this machine. An error
/// says which rule it breaks, without showing a login.
pub(super) fn check_endpoint(endpoint: &str, may_be_clear: bool) -> Result<(), String> {
    let shown = shown_url(endpoint);
    let parsed = Url::parse(endpoint).map_err(|source| format!("endpoint `{shown}`: {source}"))?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(format!("endpoint `{shown}`: credentials come from the environment, not from the URL"));
    }
    let is_here = match parsed.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match parsed.scheme() {
        "https" => Ok(()),
        "http" if is_here || may_be_clear => Ok(()),
        "http" => Err(format!(
            "endpoint `{shown}` is not encrypted and not on this machine: expected `https://`, or `AWS_ALLOW_HTTP=true` \
             where everyone on the way may read what the job keeps"
        )),
        _ => Err(format!("endpoint `{shown}` begins with neither `http://` nor `https://`")),
    }
}
