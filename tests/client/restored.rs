//! The subscriptions that are restored on a new connection.

use crate::support::{MS, SECOND, Traced, reconnect, within};
use mcp_resilience::{
    Failure,
    rmcp::client::{Client, ClientBuilder, Connector, line_transport, transport_fn},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{ServerCapabilities, ServerConfig, SubscribeRequestParams, UnsubscribeRequestParams},
    service::RequestContext,
};
use std::{
    collections::VecDeque,
    future::{pending, ready},
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    io::{duplex, split},
    task::JoinHandle,
    time::{Instant, sleep},
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
    is_mute: bool,
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

    fn builder(&self) -> ClientBuilder<impl Connector + use<>> {
        Client::builder(self.connector()).reconnect(reconnect().build().unwrap())
    }

    async fn connect(&self) -> Client {
        let client = self.builder().connect();
        within("a connection", client).await.unwrap()
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
            let rest = if seen.is_mute { Unanswered } else { Confirmed };
            seen.fates.pop_front().unwrap_or(rest)
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

/// Each takes half of the time that is left, down to 10 ms.
#[tokio::test(start_paused = true)]
async fn subscriptions_for_which_a_dial_has_no_time_are_left_out_with_one_warning() {
    let library = Library::default();
    let hooked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&hooked);
    let client = library.builder().on_connect(move |_| {
        count.fetch_add(1, Relaxed);
        ready(Ok::<_, Failure>(()))
    });
    let client = within("a connection", client.connect()).await.unwrap();
    for number in 0..40 {
        let params = SubscribeRequestParams::new(format!("file:///{number}"));
        within("an answer", client.subscribe(params)).await.unwrap();
    }
    library.seen.lock().unwrap().is_mute = true;
    let traced = Traced::begin();
    let begun = Instant::now();

    renew(&client).await;

    // The start timeout.
    assert!(begun.elapsed() <= 10 * SECOND, "{:?}", begun.elapsed());
    assert_eq!(hooked.load(Relaxed), 2);
    let made = library.subscribed().len() - 40;
    assert_eq!(made, 10);
    let events = traced.end();
    let left_out = events.iter().map(|event| &event["fields"]["left_out"]);
    let left_out: Vec<_> = left_out.filter(|left_out| !left_out.is_null()).collect();
    assert_eq!(left_out, [30], "{events:#?}");
}
