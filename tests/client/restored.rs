//! The subscriptions that are restored on a new connection.

use crate::support::{MS, SECOND, reconnect, within};
use mcp_resilience::{
    Failure,
    rmcp::client::{Client, Connector, line_transport, transport_fn},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{ServerCapabilities, ServerConfig, SubscribeRequestParams, UnsubscribeRequestParams},
    service::RequestContext,
};
use std::{
    collections::VecDeque,
    future::pending,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{duplex, split},
    task::JoinHandle,
    time::sleep,
};

/// What happens to a request for a subscription.
#[derive(Clone, Copy)]
enum Fate {
    Confirmed,
    ConfirmedAfter(Duration),
    Refused,
    Unanswered,
}
use Fate::{Confirmed, ConfirmedAfter, Refused, Unanswered};

/// A server with resources, in this process.
#[derive(Clone, Default)]
struct Library {
    seen: Arc<Mutex<Seen>>,
    /// The number of the connection.
    connection: usize,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    /// The connections of the requests for subscriptions.
    subscribed: Vec<usize>,
    /// The fates of the next ones. Later ones are confirmed.
    fates: VecDeque<Fate>,
}

impl Library {
    fn new(fates: impl IntoIterator<Item = Fate>) -> Self {
        let library = Self::default();
        library.seen.lock().unwrap().fates = fates.into_iter().collect();
        library
    }

    fn connector(&self) -> impl Connector + use<> {
        let library = self.clone();
        transport_fn(move || {
            let (near, far) = duplex(1 << 16);
            let (reader, writer) = split(near);
            let mut server = library.clone();
            server.connection = {
                let mut seen = library.seen.lock().unwrap();
                seen.connections += 1;
                seen.connections
            };
            tokio::spawn(async move {
                if let Ok(running) = server.serve(far).await {
                    let _ = running.waiting().await;
                }
            });
            async move { Ok::<_, io::Error>(line_transport(reader, writer)) }
        })
    }

    async fn connect(&self) -> Client {
        let client = Client::builder(self.connector()).reconnect(reconnect().build().unwrap());
        within("a connection", client.connect()).await.unwrap()
    }

    fn subscribed(&self) -> Vec<usize> {
        self.seen.lock().unwrap().subscribed.clone()
    }

    /// Subscribes in another task, and waits until the server has the request.
    async fn subscribe(&self, client: &Client) -> JoinHandle<Result<(), Failure>> {
        let before = self.subscribed().len();
        let client = client.clone();
        let subscribing = tokio::spawn(async move { client.subscribe(one()).await });
        within("the request", async {
            while self.subscribed().len() == before {
                sleep(MS).await;
            }
        })
        .await;
        subscribing
    }
}

impl ServerHandler for Library {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_resources()
            .enable_resources_subscribe();
        ServerConfig::new(capabilities.build())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let fate = {
            let mut seen = self.seen.lock().unwrap();
            seen.subscribed.push(self.connection);
            seen.fates.pop_front().unwrap_or(Confirmed)
        };
        match fate {
            Confirmed => Ok(()),
            ConfirmedAfter(time) => {
                sleep(time).await;
                Ok(())
            }
            Refused => Err(ErrorData::invalid_params("no such resource", None)),
            Unanswered => pending().await,
        }
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

const URI: &str = "file:///a";

fn one() -> SubscribeRequestParams {
    SubscribeRequestParams::new(URI)
}

async fn unsubscribe(client: &Client) {
    let params = UnsubscribeRequestParams::new(URI);
    within("an answer", client.unsubscribe(params))
        .await
        .unwrap();
}

async fn drop_it<T>(task: JoinHandle<T>) {
    task.abort();
    assert!(task.await.is_err());
}

async fn renew(client: &Client) {
    within("the next", client.reconnect()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_confirmed_subscription_stays_if_another_request_for_it_is_dropped() {
    for is_removed_between in [false, true] {
        let library = Library::new([Unanswered]);
        let client = library.connect().await;
        let first = library.subscribe(&client).await;
        if is_removed_between {
            unsubscribe(&client).await;
        }
        within("an answer", client.subscribe(one())).await.unwrap();
        drop_it(first).await;
        renew(&client).await;
        assert_eq!(library.subscribed(), [1, 1, 2]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_restored_if_one_of_its_requests_is_confirmed() {
    // Which fails, and how.
    for is_first in [true, false] {
        for other in [Refused, Unanswered] {
            let slow = ConfirmedAfter(SECOND);
            let library = Library::new(if is_first {
                [other, slow]
            } else {
                [slow, other]
            });
            let client = library.connect().await;
            let mut requests = vec![
                library.subscribe(&client).await,
                library.subscribe(&client).await,
            ];
            let failing = requests.remove(usize::from(!is_first));
            if let Refused = other {
                within("an answer", failing).await.unwrap().unwrap_err();
            } else {
                drop_it(failing).await;
            }
            let confirmed = requests.remove(0);
            within("an answer", confirmed).await.unwrap().unwrap();
            renew(&client).await;
            assert_eq!(library.subscribed(), [1, 1, 2]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_without_an_answer_is_made_on_the_next_connection_once() {
    let library = Library::new([Unanswered, Unanswered]);
    let client = library.connect().await;
    let _requests = [
        library.subscribe(&client).await,
        library.subscribe(&client).await,
    ];
    renew(&client).await;
    assert_eq!(library.subscribed(), [1, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_was_removed_before_its_answer_is_not_restored() {
    let library = Library::new([ConfirmedAfter(SECOND)]);
    let client = library.connect().await;
    let subscribing = library.subscribe(&client).await;
    unsubscribe(&client).await;
    within("an answer", subscribing).await.unwrap().unwrap();
    renew(&client).await;
    assert_eq!(library.subscribed(), [1]);
}
