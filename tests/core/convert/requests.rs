//! Real requests to a server on this machine.

use mcp_resilience::{Class, Delivery, Failure, classify::ClassifyLayer, convert::ResponseExt};
use reqwest::{Client, Response};
use std::{error::Error, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tower::BoxError;

const TOKEN: &str = "hunter2hunter2";

/// Answers one request with these bytes, then closes; with none, it never answers.
async fn server(answer: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await;
        match answer {
            Some(answer) => drop(stream.write_all(answer.as_bytes()).await),
            None => std::future::pending().await,
        }
    });
    format!("http://{address}/weather?unusual={TOKEN}")
}

async fn get(url: &str) -> Result<Response, Failure> {
    let client = Client::builder().no_proxy().build()?;
    let response = client.get(url).send().await?;
    response.failure_for_status()
}

/// No text of it holds the URL.
fn hides_the_token(failure: &Failure) {
    let mut error: Option<&dyn Error> = Some(failure);
    while let Some(cause) = error {
        assert!(!cause.to_string().contains(TOKEN), "{cause}");
        error = cause.source();
    }
    assert!(!format!("{failure:?}").contains(TOKEN), "{failure:?}");
}

#[tokio::test]
async fn an_answer_of_success_is_the_tools() {
    let url = server(Some("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwarm")).await;
    assert_eq!(get(&url).await.unwrap().text().await.unwrap(), "warm");
}

#[tokio::test]
async fn a_refusal_keeps_its_retry_after_and_does_not_say_that_the_tool_did_not_run() {
    for (answer, class) in [
        (
            "HTTP/1.1 503 x\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n",
            Class::Unavailable,
        ),
        (
            "HTTP/1.1 429 x\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n",
            Class::RateLimited,
        ),
    ] {
        let failure = get(&server(Some(answer)).await).await.unwrap_err();
        assert_eq!(failure.class(), class);
        assert_eq!(failure.retry_after(), Some(Duration::from_secs(30)));
        assert_eq!(failure.delivery(), Delivery::Unknown);
    }
}

#[tokio::test]
async fn an_error_for_a_status_has_the_class_of_the_status() {
    let url = server(Some("HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n")).await;
    let response = Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .get(url)
        .send()
        .await;
    let failure = Failure::from(response.unwrap().error_for_status().unwrap_err());
    assert_eq!(failure.class(), Class::NotFound);
    assert_eq!(failure.status(), Some(404));
    hides_the_token(&failure);
}

#[tokio::test]
async fn a_request_to_a_closed_port_is_a_lost_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/?unusual={TOKEN}", listener.local_addr().unwrap());
    drop(listener);
    let failure = get(&url).await.unwrap_err();
    assert_eq!(failure.class(), Class::Connection);
    assert_eq!(failure.delivery(), Delivery::Unknown);
    hides_the_token(&failure);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_a_lost_connection() {
    let url = server(Some("HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\nwa")).await;
    let body = get(&url).await.unwrap().text().await;
    let failure = Failure::from(body.unwrap_err());
    assert_eq!(failure.class(), Class::Connection);
    hides_the_token(&failure);
}

#[tokio::test]
async fn an_answer_that_does_not_come_in_time_is_a_timeout() {
    let client = Client::builder()
        .no_proxy()
        .timeout(Duration::from_millis(50));
    let request = client.build().unwrap().get(server(None).await);
    let failure = Failure::from(request.send().await.unwrap_err());
    assert_eq!(failure.class(), Class::Timeout);
    hides_the_token(&failure);
}

#[tokio::test]
async fn an_answer_that_is_not_what_it_says_is_invalid_output() {
    let url = server(Some("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")).await;
    let json = get(&url).await.unwrap().json::<serde_json::Value>().await;
    let failure = Failure::from(json.unwrap_err());
    assert_eq!(failure.class(), Class::InvalidOutput);
    hides_the_token(&failure);
}

#[tokio::test]
async fn a_request_that_cannot_be_built_is_a_crash() {
    let failure = get(&format!("no url {TOKEN}")).await.unwrap_err();
    assert_eq!(failure.class(), Class::Crash);
    hides_the_token(&failure);
}

#[tokio::test]
async fn an_error_of_a_request_is_known_in_a_box_and_behind_another_error() {
    #[derive(Debug, thiserror::Error)]
    #[error("no weather")]
    struct NoWeather(#[source] reqwest::Error);

    let error = || async {
        let url = server(Some("HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n")).await;
        let response = Client::builder()
            .no_proxy()
            .build()
            .unwrap()
            .get(url)
            .send()
            .await;
        response.unwrap().error_for_status().unwrap_err()
    };
    for error in [
        BoxError::from(error().await),
        NoWeather(error().await).into(),
    ] {
        let failure = ClassifyLayer::new().classify(error);
        assert_eq!(failure.class(), Class::Unavailable);
        assert_eq!(failure.delivery(), Delivery::Unknown);
    }
}
