//! The routes and their handlers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::get;
use serde::Serialize;

use crate::dto::{Health, Problem, Version};

/// Whether the process may be sent work; shared with who restores.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// Not ready.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says whether it is.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Release);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Every route.
pub fn router(readiness: Readiness) -> Router {
    Router::new()
        .route("/health/live", get(live))
        .route("/health/ready", get(ready))
        .route("/api/v1/version", get(version))
        .fallback(no_such_page)
        .method_not_allowed_fallback(no_such_method)
        .with_state(readiness)
}

async fn live() -> Response {
    json(StatusCode::OK, "application/json", &Health { status: "ok" })
}

async fn ready(State(readiness): State<Readiness>) -> Response {
    if readiness.get() {
        return json(StatusCode::OK, "application/json", &Health { status: "ok" });
    }
    problem(StatusCode::SERVICE_UNAVAILABLE, "the server is still starting".to_owned())
}

async fn version() -> Response {
    let version = Version { name: "tidegate", version: env!("CARGO_PKG_VERSION"), api: "v1" };
    json(StatusCode::OK, "application/json", &version)
}

async fn no_such_page(uri: Uri) -> Response {
    problem(StatusCode::NOT_FOUND, format!("there is nothing at `{}`", uri.path()))
}

async fn no_such_method(method: Method, uri: Uri) -> Response {
    problem(StatusCode::METHOD_NOT_ALLOWED, format!("`{}` cannot be asked with {method}", uri.path()))
}

fn problem(status: StatusCode, detail: String) -> Response {
    let problem = Problem {
        kind: "about:blank".to_owned(),
        title: status.canonical_reason().unwrap_or_default().to_owned(),
        status: status.as_u16(),
        detail,
    };
    json(status, "application/problem+json", &problem)
}

fn json(status: StatusCode, content_type: &'static str, body: &impl Serialize) -> Response {
    let text = serde_json::to_vec(body).expect("the DTOs hold nothing that JSON cannot say");
    Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, content_type)
        .header(header::CACHE_CONTROL, "no-store")
        .body(Body::from(text))
        .expect("the headers are constants")
}
