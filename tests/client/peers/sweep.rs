//! All features of the reference server through one client, first undisturbed, then with the server
//! killed in the middle of each.
#![expect(
    deprecated,
    reason = "MCP has deprecated sampling, roots and logging, and servers still use them"
)]

use super::{File, connect};
use crate::support::{Log, MS, Peer, Port, Process, SECOND, kill_last, within};
use mcp_resilience::{
    Failure,
    rmcp::client::{Client, Connector},
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ArgumentInfo, CallToolRequestParams, CallToolResponse, ClientConfig, CompleteRequestParams,
        CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
        ElicitationAction, GetPromptRequestParams, ListRootsResult, LoggingLevel,
        ProgressNotificationParam, ReadResourceRequestParams, Reference,
        ResourceUpdatedNotificationParam, Root, SamplingMessage, SetLevelRequestParams,
        SubscribeRequestParams, Tool, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use tokio::{task::JoinSet, time::sleep};

const DOCUMENT: &str = "demo://resource/dynamic/text/1";

/// A host that answers what the server asks, and notes what reaches it.
#[derive(Clone, Default)]
struct Host {
    seen: Arc<Mutex<Vec<String>>>,
    // Then it leaves questions without an answer.
    is_away: Arc<AtomicBool>,
    // The server asks for the roots soon after the handshake, and its tool only if that has no answer yet.
    keeps_roots: Arc<AtomicBool>,
}

impl Host {
    async fn note(&self, what: impl Into<String>) {
        self.seen.lock().unwrap().push(what.into());
        while self.is_away.load(Relaxed) {
            sleep(5 * MS).await;
        }
    }

    fn forget(&self) {
        self.seen.lock().unwrap().clear();
    }

    async fn has_seen(&self, what: &str) {
        within(what, async {
            while !self.seen.lock().unwrap().iter().any(|seen| seen == what) {
                sleep(5 * MS).await;
            }
        })
        .await;
    }
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        serde_json::from_value(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}},
            "clientInfo": {"name": "host", "version": "1"},
        }))
        .unwrap()
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.note("sampling").await;
        let message = SamplingMessage::assistant_text("a model's words");
        Ok(CreateMessageResult::new(message, "model".to_owned()))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let is_url = json!(params)["mode"] == "url";
        self.note(if is_url {
            "elicitation by URL"
        } else {
            "elicitation"
        })
        .await;
        let answer = ElicitResult::new(ElicitationAction::Accept);
        Ok(if is_url {
            answer
        } else {
            answer.with_content(json!({"name": "Ada"}))
        })
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        self.note("roots").await;
        while self.keeps_roots.load(Relaxed) {
            sleep(5 * MS).await;
        }
        Ok(ListRootsResult::new(vec![Root::new("file:///books")]))
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.note("progress").await;
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.note(format!("updated {}", params.uri)).await;
    }
}

/// Something that a client may ask of the server.
#[derive(Clone, Debug)]
enum Ask {
    Tool(&'static str, Value),
    Resource(&'static str),
    Prompt(&'static str, Value),
    Complete,
    Tools,
    Resources,
    Templates,
    Prompts,
    Subscribe(&'static str),
    Unsubscribe(&'static str),
    Level,
    Ping,
}

impl Ask {
    /// The answer, as JSON.
    async fn make(self, client: Client) -> Result<Value, Failure> {
        Ok(match self {
            Self::Tool(tool, arguments) => {
                let call = CallToolRequestParams::new(tool);
                let call = call.with_arguments(arguments.as_object().unwrap().clone());
                match client.call_tool(call).await? {
                    CallToolResponse::Complete(result) => json!(result),
                    other => json!(format!("{other:?}")),
                }
            }
            Self::Resource(uri) => {
                let read = client.read_resource(ReadResourceRequestParams::new(uri));
                json!(format!("{:?}", read.await?))
            }
            Self::Prompt(prompt, arguments) => {
                let params = GetPromptRequestParams::new(prompt);
                let params = params.with_arguments(arguments.as_object().unwrap().clone());
                json!(format!("{:?}", client.get_prompt(params).await?))
            }
            Self::Complete => {
                let argument = ArgumentInfo::new("department", "E");
                let prompt = Reference::for_prompt("completable-prompt");
                json!(
                    client
                        .complete(CompleteRequestParams::new(prompt, argument))
                        .await?
                )
            }
            Self::Tools => json!(&*client.list_tools().await?),
            Self::Resources => json!(client.list_resources().await?),
            Self::Templates => json!(client.list_resource_templates().await?),
            Self::Prompts => json!(client.list_prompts().await?),
            Self::Subscribe(uri) => {
                json!(client.subscribe(SubscribeRequestParams::new(uri)).await?)
            }
            Self::Unsubscribe(uri) => {
                json!(
                    client
                        .unsubscribe(UnsubscribeRequestParams::new(uri))
                        .await?
                )
            }
            Self::Level => {
                let level = SetLevelRequestParams::new(LoggingLevel::Warning);
                json!(client.set_level(level).await?)
            }
            Self::Ping => json!(client.ping().await?),
        })
    }
}

/// The tools that send a request or a notification to the host, with its method.
fn lively() -> [(&'static str, Ask); 5] {
    let url = json!({"url": "https://example.com/"});
    [
        (
            "progress",
            Ask::Tool(
                "trigger-long-running-operation",
                json!({"duration": 2, "steps": 8}),
            ),
        ),
        (
            "sampling",
            Ask::Tool("trigger-sampling-request", json!({"prompt": "p"})),
        ),
        (
            "elicitation",
            Ask::Tool("trigger-elicitation-request", json!({})),
        ),
        (
            "elicitation by URL",
            Ask::Tool("trigger-url-elicitation", url),
        ),
        ("roots", Ask::Tool("get-roots-list", json!({}))),
    ]
}

/// Everything else.
fn quiet() -> Vec<Ask> {
    let archive = json!({"name": "a.gz", "data": "data:text/plain;base64,aGVsbG8="});
    vec![
        Ask::Tool("echo", json!({"message": "hello"})),
        Ask::Tool(
            "get-annotated-message",
            json!({"messageType": "success", "includeImage": true}),
        ),
        Ask::Tool("get-env", json!({})),
        Ask::Tool("get-resource-links", json!({"count": 3})),
        Ask::Tool(
            "get-resource-reference",
            json!({"resourceType": "Text", "resourceId": 1}),
        ),
        Ask::Tool("get-structured-content", json!({"location": "Chicago"})),
        Ask::Tool("get-sum", json!({"a": 2, "b": 3})),
        Ask::Tool("get-tiny-image", json!({})),
        Ask::Tool("gzip-file-as-resource", archive),
        Ask::Tool("toggle-simulated-logging", json!({})),
        Ask::Tool("simulate-research-query", json!({"topic": "tea"})),
        Ask::Resource(DOCUMENT),
        Ask::Resource("demo://resource/dynamic/blob/2"),
        Ask::Resource("demo://resource/static/document/features.md"),
        Ask::Prompt("simple-prompt", json!({})),
        Ask::Prompt("args-prompt", json!({"city": "Rome", "state": "Lazio"})),
        Ask::Prompt(
            "completable-prompt",
            json!({"department": "Engineering", "name": "Alice"}),
        ),
        Ask::Prompt(
            "resource-prompt",
            json!({"resourceType": "Text", "resourceId": "1"}),
        ),
        Ask::Complete,
        Ask::Tools,
        Ask::Resources,
        Ask::Templates,
        Ask::Prompts,
        Ask::Subscribe(DOCUMENT),
        Ask::Unsubscribe("demo://resource/dynamic/text/7"),
        Ask::Level,
        Ask::Ping,
    ]
}

/// The names in a list that a server gave.
fn names(list: &Value, member: &str) -> BTreeSet<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|item| item[member].as_str().unwrap().to_owned())
        .collect()
}

/// Nothing of the server is left out: its tools are those that are called here, and so are its prompts.
async fn is_all(client: &Client) {
    let mut tools = BTreeSet::from(["toggle-subscriber-updates".to_owned()]);
    let mut prompts = BTreeSet::new();
    for ask in lively().into_iter().map(|(_, ask)| ask).chain(quiet()) {
        match ask {
            Ask::Tool(tool, _) => tools.insert(tool.to_owned()),
            Ask::Prompt(prompt, _) => prompts.insert(prompt.to_owned()),
            _ => true,
        };
    }
    // Some of them are listed only once the server knows what the client can.
    within("all tools", async {
        while names(&json!(&*client.list_tools().await.unwrap()), "name") != tools {
            sleep(20 * MS).await;
        }
    })
    .await;
    let listed = json!(client.list_prompts().await.unwrap());
    assert_eq!(names(&listed, "name"), prompts);
    let listed = json!(client.list_resources().await.unwrap());
    assert!(!names(&listed, "uri").is_empty());
    let listed = json!(client.list_resource_templates().await.unwrap());
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
}

/// The tools that may run twice, as the server says.
fn readers(client: &Client) -> BTreeSet<String> {
    let tools = client.tools().unwrap();
    let reads = |tool: &&Tool| {
        let said = tool.annotations.clone().unwrap_or_default();
        said.read_only_hint == Some(true) || said.idempotent_hint == Some(true)
    };
    let reading = tools.iter().filter(reads);
    reading.map(|tool| tool.name.to_string()).collect()
}

/// A call of a tool that needs to be told that it becomes a task.
fn wants_a_task(ask: &Ask) -> bool {
    matches!(ask, Ask::Tool("simulate-research-query", _))
}

async fn in_peace(client: &Client, host: &Host) {
    is_all(client).await;
    for ask in quiet() {
        let answer = within("an answer", ask.clone().make(client.clone())).await;
        if wants_a_task(&ask) {
            continue;
        }
        let answer = answer.unwrap_or_else(|failure| panic!("{ask:?}: {failure}"));
        assert_ne!(answer["isError"], true, "{ask:?}: {answer}");
    }
    for (what, ask) in lively() {
        let answer = within(what, ask.clone().make(client.clone()))
            .await
            .unwrap();
        assert_ne!(answer["isError"], true, "{ask:?}: {answer}");
        host.has_seen(what).await;
    }
}

/// Whether the server has a subscription. It announces changes only to subscribers.
async fn is_subscribed(client: &Client, host: &Host) {
    host.forget();
    let toggle = Ask::Tool("toggle-subscriber-updates", json!({}));
    let answer = within("an answer", toggle.make(client.clone()))
        .await
        .unwrap();
    assert!(answer.to_string().contains("Started"), "{answer}");
    host.has_seen(&format!("updated {DOCUMENT}")).await;
}

/// A server that can be stopped, killed and restarted.
trait Mortal {
    fn hold(&self);
    async fn kill(&mut self);
}

async fn in_the_middle(client: &Client, host: &Host, server: &mut impl Mortal) {
    host.keeps_roots.store(true, Relaxed);
    for (what, ask) in lively() {
        within("all tools", is_all(client)).await;
        host.forget();
        host.is_away.store(what != "progress", Relaxed);
        let running = tokio::spawn(ask.clone().make(client.clone()));
        host.has_seen(what).await;
        server.kill().await;
        host.is_away.store(false, Relaxed);
        if what == "roots" {
            host.keeps_roots.store(false, Relaxed);
        }
        let ended = within(what, running).await.unwrap();
        let reads = matches!(what, "progress" | "roots");
        let answer = ended.unwrap_or_else(|failure| panic!("{ask:?}: {failure}"));
        assert_eq!(answer["isError"] == true, !reads, "{ask:?}: {answer}");
    }
    is_all(client).await;
    let readers = readers(client);
    // None of these gets an answer before the end of the server that it was sent to.
    server.hold();
    let mut running = JoinSet::new();
    for ask in quiet() {
        let client = client.clone();
        running.spawn(async move { (ask.clone(), ask.make(client).await) });
    }
    sleep(SECOND / 2).await;
    assert_eq!(running.try_join_next().map(drop), None, "it is held");
    server.kill().await;
    while let Some(ended) = within("an end", running.join_next()).await {
        let (ask, answer) = ended.unwrap();
        match (&ask, answer) {
            (Ask::Tool(tool, _), Ok(answer)) => {
                let may_have_run = answer.to_string().contains("may have run");
                // The hints do not count while the server announces its tools.
                let is_right = may_have_run || readers.contains(*tool);
                assert!(is_right || wants_a_task(&ask), "{ask:?}: {answer}");
            }
            (_, Ok(_)) => {}
            (_, Err(failure)) => {
                assert!(failure.to_string().contains("lost"), "{ask:?}: {failure}");
            }
        }
    }
    is_subscribed(client, host).await;
}

async fn sweep(connector: impl Connector, host: &Host, mut server: impl Mortal) {
    let client = connect(connector, &Log::default()).await;
    in_peace(&client, host).await;
    is_subscribed(&client, host).await;
    in_the_middle(&client, host, &mut server).await;
    client.close().await;
}

fn signal(id: &str, name: &str) {
    let status = std::process::Command::new("kill").args([name, id]).status();
    assert!(status.unwrap().success(), "{name} {id}");
}

/// The last process that the client started.
struct Child(File);

impl Child {
    fn id(&self) -> String {
        let ids = std::fs::read_to_string(&self.0.0).unwrap();
        ids.lines().last().unwrap().to_owned()
    }
}

impl Mortal for Child {
    fn hold(&self) {
        signal(&self.id(), "-STOP");
    }

    async fn kill(&mut self) {
        kill_last(&self.0.0);
    }
}

struct Listening {
    process: Process,
    port: u16,
}

impl Mortal for Listening {
    fn hold(&self) {
        signal(&self.process.id().to_string(), "-STOP");
    }

    async fn kill(&mut self) {
        self.process.kill();
        self.process = Peer::Everything.http(self.port).await.0;
    }
}

#[tokio::test]
async fn all_that_the_everything_server_has_ends_over_stdio() {
    if !Peer::Everything.is_there() {
        return;
    }
    let (ids, host) = (File::new("ids"), Host::default());
    let connector = Peer::Everything.stdio(&ids.0).handler(host.clone());
    sweep(connector, &host, Child(ids)).await;
}

#[tokio::test]
async fn all_that_the_everything_server_has_ends_over_http() {
    if !Peer::Everything.is_there() {
        return;
    }
    let host = Host::default();
    let kept = Port::new();
    let port = kept.address.port();
    let (process, connector) = Peer::Everything.http(port).await;
    let server = Listening { process, port };
    sweep(connector.handler(host.clone()), &host, server).await;
}
