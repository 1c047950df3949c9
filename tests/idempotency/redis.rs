//! The store in Redis, with the real server.
//!
//! Without `redis-server` nothing is tested, and each test says so. With
//! `MCP_RESILIENCE_REDIS=required` it fails instead.

use crate::support::{Answer, Call};
use mcp_resilience::{
    Failure,
    call::IdempotencyKey,
    idempotency::{
        Fingerprint, IdempotencyLayer, RecordId,
        store::{Claim, Claimed, Ending, RedisStore, Store, Value, contract},
    },
};
use std::{
    collections::HashMap,
    env, fs, io,
    net::TcpListener,
    path::PathBuf,
    process::{self, Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};

const LONG: Duration = Duration::from_secs(600);

/// A Redis server on 127.0.0.1, killed when it is dropped.
struct Server {
    child: Child,
    port: u16,
    directory: PathBuf,
    settings: Vec<String>,
}

impl Server {
    /// `None` if it is missing and not required.
    async fn start(settings: &[&str]) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let directory = env::temp_dir().join(format!("redis-{}-{number}", process::id()));
        fs::create_dir_all(&directory).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let settings: Vec<_> = settings.iter().map(|&setting| setting.to_owned()).collect();
        let child = match spawn(port, &directory, &settings) {
            Ok(child) => child,
            Err(error) if env::var("MCP_RESILIENCE_REDIS").is_ok() => {
                panic!("redis-server is required: {error}")
            }
            Err(error) => {
                eprintln!("SKIPPED: redis-server cannot be started: {error}");
                return None;
            }
        };
        let server = Self {
            child,
            port,
            directory,
            settings,
        };
        server.wait().await;
        Some(server)
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Until it answers.
    async fn wait(&self) {
        loop {
            // A server with other settings may refuse what is asked of it, but it answers.
            match RedisStore::connect(&self.url()).await {
                Err(error) if is_early(&error) => sleep(Duration::from_millis(20)).await,
                _ => return,
            }
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    async fn restart(&mut self) {
        self.child = spawn(self.port, &self.directory, &self.settings).unwrap();
        self.wait().await;
    }

    async fn store(&self) -> RedisStore {
        RedisStore::connect(&self.url()).await.unwrap()
    }

    /// Sends a command by hand.
    async fn say(&self, words: &[&str]) {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let mut command = redis::cmd(words[0]);
        for word in &words[1..] {
            command.arg(word);
        }
        command.exec_async(&mut connection).await.unwrap();
    }
}

fn is_early(error: &mcp_resilience::idempotency::store::StoreError) -> bool {
    let text = error.to_string();
    ["cannot be reached", "in time", "loading"]
        .iter()
        .any(|early| text.contains(early))
}

fn spawn(port: u16, directory: &PathBuf, settings: &[String]) -> io::Result<Child> {
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
        .args([
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
        ])
        .arg("--dir")
        .arg(directory)
        .args(settings)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn claim() -> Claim {
    Claim::new(Fingerprint::from_bytes([1; 32]), LONG, LONG)
}

fn record(key: &str) -> RecordId {
    RecordId::new(None, &IdempotencyKey::new(key).unwrap())
}

#[tokio::test]
async fn redis_keeps_the_contract() {
    let Some(server) = Server::start(&[]).await else {
        return;
    };
    contract::check(server.store().await).await;
}

#[tokio::test]
async fn replicas_share_records_and_a_restart_keeps_them() {
    let Some(mut server) = Server::start(&[]).await else {
        return;
    };
    let (one, other) = (server.store().await, server.store().await);
    let first = claim();
    assert_eq!(
        one.claim(&record("a"), first.clone()).await.unwrap(),
        Claimed::Ours
    );
    let running = other.claim(&record("a"), claim()).await.unwrap();
    assert!(matches!(running, Claimed::Running { .. }), "{running:?}");

    server.kill();
    let error = other.claim(&record("a"), claim()).await.unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    server.restart().await;

    let value = Value::new(1, *b"R{}");
    let done = Ending::Done(value.clone());
    // The operation that notices the loss, or the next one, reconnects.
    let mut completed = one
        .complete(&record("a"), first.token, done.clone(), LONG)
        .await;
    for _ in 0..100 {
        if completed.is_ok() {
            break;
        }
        sleep(Duration::from_millis(50)).await;
        completed = one
            .complete(&record("a"), first.token, done.clone(), LONG)
            .await;
    }
    assert!(completed.unwrap(), "the claim survived");
    let claimed = server.store().await.claim(&record("a"), claim()).await;
    assert_eq!(claimed.unwrap(), Claimed::Done(value));
}

#[tokio::test]
async fn a_layer_lasts_through_a_restart_of_redis() {
    let Some(mut server) = Server::start(&[]).await else {
        return;
    };
    let layer = IdempotencyLayer::builder(server.store().await)
        .store_timeout(Duration::from_secs(60))
        .build()
        .unwrap();
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let tools = layer.layer(service_fn(move |_: Call| {
        let run = counted.fetch_add(1, Relaxed) + 1;
        async move { Ok::<_, Failure>(Answer::ok(run)) }
    }));
    let first = tools
        .clone()
        .oneshot(Call::keyed("book", "a"))
        .await
        .unwrap();
    server.kill();
    let again = tokio::spawn(tools.clone().oneshot(Call::keyed("book", "a")));
    let other = tokio::spawn(tools.oneshot(Call::keyed("book", "b")));
    sleep(Duration::from_millis(100)).await;
    assert_eq!(runs.load(Relaxed), 1, "nothing runs without the store");
    server.restart().await;
    assert_eq!(again.await.unwrap().unwrap(), first.replayed());
    assert_eq!(other.await.unwrap().unwrap(), Answer::ok(2));
}

/// How often the server was asked for each command, by its own count.
async fn counted(server: &Server) -> HashMap<String, u64> {
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut command = redis::cmd("INFO");
    let text: String = command
        .arg("commandstats")
        .query_async(&mut connection)
        .await
        .unwrap();
    let counts = text.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), rest.split(',').next()?.parse().unwrap()))
    });
    counts.collect()
}

#[tokio::test]
async fn a_call_takes_two_round_trips() {
    let Some(server) = Server::start(&[]).await else {
        return;
    };
    let layer = IdempotencyLayer::with_store(server.store().await);
    let tools = layer.layer(service_fn(async |_: Call| Ok::<_, Failure>(Answer::ok(1))));
    let call = |number: u32| {
        let call = Call::keyed("book", &format!("order-{number}"));
        tools.clone().oneshot(call)
    };
    // The first call loads the scripts.
    call(0).await.unwrap();
    server.say(&["CONFIG", "RESETSTAT"]).await;
    for number in 1..=20 {
        assert!(!call(number).await.unwrap().is_replayed);
    }
    let counts = counted(&server).await;
    assert_eq!(counts["evalsha"], 40, "{counts:?}");
    for number in 1..=20 {
        assert!(call(number).await.unwrap().is_replayed);
    }
    let counts = counted(&server).await;
    assert_eq!(counts["evalsha"], 60, "one for a replay: {counts:?}");
    for other in ["eval", "script|load", "ping", "multi", "exec"] {
        assert_eq!(counts.get(other), None, "{counts:?}");
    }
}

#[tokio::test]
async fn another_value_under_the_key_runs_nothing() {
    let Some(server) = Server::start(&[]).await else {
        return;
    };
    let store = server.store().await;
    let prefix = "mcp-resilience:idempotency:";
    let (text, hash) = (record("text"), record("hash"));
    server.say(&["SET", &format!("{prefix}{text}"), "x"]).await;
    server
        .say(&["HSET", &format!("{prefix}{hash}"), "x", "y"])
        .await;
    for record in [text, hash] {
        let error = store.claim(&record, claim()).await.unwrap_err();
        assert!(error.to_string().contains("other content"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_write_is_refused_at_the_start() {
    let Some(server) =
        Server::start(&["--maxmemory", "1", "--maxmemory-policy", "noeviction"]).await
    else {
        return;
    };
    let error = RedisStore::connect(&server.url()).await.unwrap_err();
    assert!(error.to_string().contains("full"), "{error}");
    let Some(replica) =
        Server::start(&["--replicaof", "127.0.0.1", &server.port.to_string()]).await
    else {
        return;
    };
    let error = RedisStore::connect(&replica.url()).await.unwrap_err();
    assert!(error.to_string().contains("read-only replica"), "{error}");
}

#[tokio::test]
async fn a_server_that_answers_late_or_not_as_redis_is_a_clear_failure() {
    let error = RedisStore::connect("nonsense").await.unwrap_err();
    assert!(error.to_string().contains("URL"), "{error}");
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://user:hush@{}/", silent.local_addr().unwrap());
    let late = RedisStore::builder(&url).timeout(Duration::from_millis(100));
    let error = late.connect().await.unwrap_err();
    assert!(!format!("{error:?}").contains("hush"), "{error:?}");
    let talking = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}/", talking.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = talking.accept().await {
            let nonsense = b"HTTP/1.1 400 Bad Request\r\n\r\n";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, nonsense).await;
        }
    });
    RedisStore::connect(&url).await.unwrap_err();
}
