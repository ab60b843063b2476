//! A client for a bucket, from a URL and the environment.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig};

use super::S3Credentials;
use super::network::Network;
use super::secrets::Secrets;
use super::url::{Location, check_endpoint};
use crate::error::Error;
use crate::medium::Medium;

/// How often one call is tried again when the store says that it is busy or breaks off: more is the caller's to decide.
const RETRIES: usize = 2;
/// After this long one call is not tried again.
const RETRY_FOR: Duration = Duration::from_secs(15);
/// How long one request may take: a full object on a line of 5 Mbit/s.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The bucket that `url` names. Nothing is sent.
pub(super) fn connect(url: &str, credentials: &S3Credentials) -> Result<(Medium, Location), Error> {
    let location = Location::parse(url)?;
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(&location.bucket);
    if let S3Credentials::Keys { access_key_id, secret_access_key } = credentials {
        builder = builder.with_access_key_id(access_key_id).with_secret_access_key(secret_access_key);
    }
    if let Some(region) = &location.region {
        builder = builder.with_region(region);
    }
    let said = |builder: &AmazonS3Builder, key| builder.get_config_value(&key);
    let of_environment =
        || said(&builder, AmazonS3ConfigKey::S3Endpoint).or_else(|| said(&builder, AmazonS3ConfigKey::Endpoint));
    let endpoint = location.endpoint.clone().or_else(of_environment);
    let may_be_clear = said(&builder, AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp))
        .is_some_and(|it| ["true", "1"].contains(&it.trim().to_ascii_lowercase().as_str()));
    let secrets = [AmazonS3ConfigKey::SecretAccessKey, AmazonS3ConfigKey::Token, AmazonS3ConfigKey::AccessKeyId];
    let secrets = Secrets::new(secrets.map(|key| said(&builder, key)));
    if let Some(endpoint) = &endpoint {
        check_endpoint(endpoint, may_be_clear).map_err(|reason| location.bad(reason))?;
        builder = builder.with_config(AmazonS3ConfigKey::S3Endpoint, endpoint.trim_end_matches('/'));
        if location.endpoint.is_some() {
            builder = builder.with_virtual_hosted_style_request(false);
        }
    }
    let is_clear = endpoint.is_some_and(|it| it.starts_with("http://"));
    let built = builder.with_client_options(client(is_clear)).with_retry(retry());
    let store = built.with_conditional_put(S3ConditionalPut::ETagMatch).build();
    let store = store.map_err(|source| location.bad(secrets.cut_out_of(source).to_string()))?;
    Ok((Medium::of_network(Arc::new(store), Network::start(secrets)?), location))
}

fn client(is_clear: bool) -> ClientOptions {
    ClientOptions::new().with_timeout(REQUEST_TIMEOUT).with_connect_timeout(CONNECT_TIMEOUT).with_allow_http(is_clear)
}

fn retry() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig { max_backoff: Duration::from_secs(2), ..BackoffConfig::default() },
        max_retries: RETRIES,
        retry_timeout: RETRY_FOR,
    }
}
