use std::net::SocketAddr;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower::ServiceExt;

use crate::{Error, Options, Readiness, Server, router};

/// Status, content type and body of one request to the routes.
async fn check(method: &str, path: &str, readiness: &Readiness) -> (StatusCode, String, serde_json::Value) {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    let response = router(readiness.clone()).oneshot(request).await.unwrap();
    let status = response.status();
    let kind = response.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
    let body = to_bytes(response.into_body(), 64 * 1024).await.unwrap();
    (status, kind, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn a_process_that_answers_is_live() {
    let (status, kind, body) = check("GET", "/health/live", &Readiness::new()).await;
    assert_eq!((status, kind.as_str()), (StatusCode::OK, "application/json"));
    assert_eq!(body["status"], "ok");
}

#[tokio::test]
async fn a_process_is_ready_when_it_says_so_and_not_before() {
    let readiness = Readiness::new();
    let (status, kind, body) = check("GET", "/health/ready", &readiness).await;
    assert_eq!((status, kind.as_str()), (StatusCode::SERVICE_UNAVAILABLE, "application/problem+json"));
    assert_eq!(body["status"], 503);
    readiness.set(true);
    assert_eq!(check("GET", "/health/ready", &readiness).await.0, StatusCode::OK);
    readiness.set(false);
    assert_eq!(check("GET", "/health/ready", &readiness).await.0, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn the_version_is_that_of_the_workspace() {
    let (status, _, body) = check("GET", "/api/v1/version", &Readiness::new()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body, serde_json::json!({"name": "tidegate", "version": env!("CARGO_PKG_VERSION"), "api": "v1"}));
}

#[tokio::test]
async fn what_does_not_exist_is_a_problem_that_names_the_path() {
    let (status, kind, body) = check("GET", "/api/v1/nothing", &Readiness::new()).await;
    assert_eq!((status, kind.as_str()), (StatusCode::NOT_FOUND, "application/problem+json"));
    assert_eq!(body["title"], "Not Found");
    assert!(body["detail"].as_str().unwrap().contains("/api/v1/nothing"), "{body}");
}

#[tokio::test]
async fn a_wrong_method_is_a_problem() {
    let (status, kind, body) = check("DELETE", "/health/live", &Readiness::new()).await;
    assert_eq!((status, kind.as_str()), (StatusCode::METHOD_NOT_ALLOWED, "application/problem+json"));
    assert!(body["detail"].as_str().unwrap().contains("DELETE"), "{body}");
}

#[tokio::test]
async fn an_address_that_others_reach_is_refused() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let options = Options { address: address.parse().unwrap() };
        let error = Server::bind(options, router(Readiness::new())).await.unwrap_err();
        assert!(matches!(error, Error::NotLoopback { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let any = Options { address: SocketAddr::from(([127, 0, 0, 1], 0)) };
    let (_server, handle) = Server::bind(any, router(Readiness::new())).await.unwrap();
    let taken = Options { address: handle.address() };
    let error = Server::bind(taken, router(Readiness::new())).await.unwrap_err();
    assert!(error.to_string().contains(&handle.address().to_string()), "{error}");
}

#[tokio::test]
async fn a_server_answers_over_loopback_until_it_is_stopped() {
    let options = Options { address: SocketAddr::from(([127, 0, 0, 1], 0)) };
    let (server, handle) = Server::bind(options, router(Readiness::new())).await.unwrap();
    let running = tokio::spawn(server.run());
    let mut stream = TcpStream::connect(handle.address()).await.unwrap();
    stream.write_all(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("{\"status\":\"ok\"}"), "{answer}");
    handle.stop();
    handle.stop();
    running.await.unwrap().unwrap();
    assert!(TcpStream::connect(handle.address()).await.is_err());
}
