//! Requests of a client other than calls.
#![expect(
    deprecated,
    reason = "MCP has deprecated the logging level, and servers still have it"
)]

use super::{
    Client, Connection,
    client::inner,
    pages::{self, Listed, Page},
};
use crate::{
    failure::{Class, Delivery, Failure, Witness},
    preset,
};
use ::rmcp::{
    Peer, RoleClient,
    model::{
        CompleteRequestParams, CompleteResult, PaginatedRequestParams, Prompt, Resource,
        ResourceTemplate, ServerResult, SetLevelRequestParams, SubscribeRequestParams, Tool,
        UnsubscribeRequestParams,
    },
    service::ServiceError,
};
use std::{future::ready, sync::Arc};

type Cursor = Option<PaginatedRequestParams>;

/// Requests other than calls.
///
/// Each waits for a connection, ends within the
/// [`request_timeout`](super::ClientBuilder::request_timeout), and replaces a lost connection. In a new
/// session over HTTP, all but pings and lists also wait for up to 500 ms, as calls do, until the server
/// has answered the request for its stream of messages. No limit counts that wait.
///
/// If a request was not sent or the session was lost, it is made once more on a new connection;
/// requests of [`with_peer`](Self::with_peer) are not. They leave no line in the call log. If a tool
/// passes on the failure of one, it does not say whether the tool ran.
impl Client {
    /// Makes requests of your own on the current connection.
    ///
    /// `request` gets the peer, and returns the answer. It is called once, as soon as there is a
    /// connection, and never again, because it may make several requests with any effect. A lost
    /// connection is replaced for the next request.
    ///
    /// Dropping the future cancels the request at the server.
    ///
    /// ```no_run
    /// # async fn run(client: &mcp_resilience::rmcp::client::Client) -> Result<(), mcp_resilience::Failure> {
    /// let page = client.with_peer(|peer| async move { peer.list_prompts(None).await }).await?;
    /// # let _ = page;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The failure that [`classify_call`](super::classify_call) makes of rmcp's error; `Timeout`
    /// after the [`request_timeout`](super::ClientBuilder::request_timeout); the failure of the dial
    /// if there is no connection.
    pub async fn with_peer<T, F>(
        &self,
        request: impl FnOnce(Peer<RoleClient>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, ServiceError>>,
    {
        let limit = self.parts.limits.request;
        let ask = |made| {
            let connection = inner(&made);
            let answer = Box::pin(request(connection.peer().clone()));
            async move { connection.ask(limit, answer).await }
        };
        let answer = self.parts.handle.with_ready(opened, ask);
        self.parts.shared.in_flight.counted(answer).await
    }

    /// Lists the server's tools now, each once, and stores the list in the [catalog](Self::catalog).
    /// [`Catalog::incomplete`](super::Catalog::incomplete) says whether tools may be missing.
    ///
    /// # Errors
    ///
    /// Why the list could not be read. The catalog keeps the earlier list.
    pub async fn list_tools(&self) -> Result<Arc<[Tool]>, Failure> {
        let limit = self.parts.limits.request;
        let list = |made| {
            let connection = inner(&made);
            async move { connection.list_tools(limit).await.map_err(harmless) }
        };
        let listed = self.parts.handle.with_one(|_| ready(()), list);
        self.parts.shared.in_flight.counted(listed).await?;
        self.tools()
    }

    /// The same, only for the catalog.
    ///
    /// # Errors
    ///
    /// Those of [`list_tools`](Self::list_tools).
    pub async fn refresh(&self) -> Result<(), Failure> {
        self.list_tools().await.map(drop)
    }

    /// Lists the server's resources: all pages, each URI once.
    ///
    /// # Errors
    ///
    /// Those of [`with_peer`](Self::with_peer). If one page fails, the list fails. `InvalidOutput` if the
    /// server repeats a cursor, or lists more than 10,000 items or 1,000 pages.
    pub async fn list_resources(&self) -> Result<Vec<Resource>, Failure> {
        let ask = |peer: Peer<RoleClient>, cursor| async move {
            let page = peer.list_resources(cursor).await?;
            Ok((page.resources, page.next_cursor))
        };
        self.list("resources", |resource| &resource.uri, ask).await
    }

    /// Lists the server's resource templates: all pages, each URI template once.
    ///
    /// # Errors
    ///
    /// Those of [`list_resources`](Self::list_resources).
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Failure> {
        let ask = |peer: Peer<RoleClient>, cursor| async move {
            let page = peer.list_resource_templates(cursor).await?;
            Ok((page.resource_templates, page.next_cursor))
        };
        self.list("resource templates", |template| &template.uri_template, ask)
            .await
    }

    /// Lists the server's prompts: all pages, each name once.
    ///
    /// # Errors
    ///
    /// Those of [`list_resources`](Self::list_resources).
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Failure> {
        let ask = |peer: Peer<RoleClient>, cursor| async move {
            let page = peer.list_prompts(cursor).await?;
            Ok((page.prompts, page.next_cursor))
        };
        self.list("prompts", |prompt| &prompt.name, ask).await
    }

    /// Completes an argument of a prompt or a resource template.
    ///
    /// # Errors
    ///
    /// Those of [`with_peer`](Self::with_peer).
    pub async fn complete(&self, params: CompleteRequestParams) -> Result<CompleteResult, Failure> {
        let ask = |peer: Peer<RoleClient>, params| async move { peer.complete(params).await };
        self.ask(&params, ask).await
    }

    /// Subscribes to updates of a resource. The subscription is restored on each new connection,
    /// until [`unsubscribe`](Self::unsubscribe).
    ///
    /// # Errors
    ///
    /// Those of [`with_peer`](Self::with_peer). A subscription is not kept if it failed, or if the future
    /// was dropped before the answer. An earlier one to the same resource stays.
    pub async fn subscribe(&self, params: SubscribeRequestParams) -> Result<(), Failure> {
        let kept = &self.parts.shared.kept;
        // Stored first, so that a connection that is made in the meantime gets it.
        let unanswered = kept.subscribe(params.clone());
        let ask = |peer: Peer<RoleClient>, params| async move { peer.subscribe(params).await };
        self.ask(&params, ask).await?;
        unanswered.confirm();
        Ok(())
    }

    /// Ends a subscription.
    ///
    /// # Errors
    ///
    /// Those of [`with_peer`](Self::with_peer). In any case the subscription is not restored on new
    /// connections.
    pub async fn unsubscribe(&self, params: UnsubscribeRequestParams) -> Result<(), Failure> {
        self.parts.shared.kept.unsubscribe(&params.uri);
        let ask = |peer: Peer<RoleClient>, params| async move { peer.unsubscribe(params).await };
        self.ask(&params, ask).await
    }

    /// Sets the level of the server's log messages. It is restored on each new connection.
    ///
    /// # Errors
    ///
    /// Those of [`with_peer`](Self::with_peer). A refused level is not kept.
    pub async fn set_level(&self, params: SetLevelRequestParams) -> Result<(), Failure> {
        let ask = |peer: Peer<RoleClient>, params| async move { peer.set_level(params).await };
        self.ask(&params, ask).await?;
        self.parts.shared.kept.set_level(params);
        Ok(())
    }

    /// Asks the server whether it is alive.
    ///
    /// # Errors
    ///
    /// Those of [`with_peer`](Self::with_peer).
    pub async fn ping(&self) -> Result<(), Failure> {
        self.ask_on(false, |connection| async move {
            match connection.ping().await? {
                ServerResult::EmptyResult(_) => Ok(()),
                _ => Err(ServiceError::UnexpectedResponse),
            }
        })
        .await
    }

    async fn list<T, F>(
        &self,
        list: &'static str,
        name: impl Fn(&T) -> &str + Copy,
        page: impl Fn(Peer<RoleClient>, Cursor) -> F + Copy,
    ) -> Result<Vec<T>, Failure>
    where
        F: Future<Output = Result<Page<T>, ServiceError>>,
    {
        let ask = |peer: Peer<RoleClient>, ()| async move {
            pages::read_all(name, |cursor| page(peer.clone(), cursor)).await
        };
        let listed = self.ask_on(false, |connection| ask(connection.peer().clone(), ()));
        let Listed { items, incomplete } = listed.await?;
        match incomplete {
            None => Ok(items),
            Some(why) => {
                let text = format!(
                    "the list of {list} is incomplete, because {why}; to read the pages, use `with_peer`"
                );
                Err(Failure::invalid_output(text).handed_out())
            }
        }
    }

    async fn ask<P: Clone, T, F>(
        &self,
        params: &P,
        request: impl Fn(Peer<RoleClient>, P) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, ServiceError>>,
    {
        let ask = |connection: Connection| request(connection.peer().clone(), params.clone());
        self.ask_on(true, ask).await
    }

    /// `may_bring_more`: the server may say more than the answer, on its standing stream.
    async fn ask_on<T, F>(
        &self,
        may_bring_more: bool,
        mut request: impl FnMut(Connection) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, ServiceError>>,
    {
        let limit = self.parts.limits.request;
        let ready = |made| async move {
            if may_bring_more {
                opened(made).await;
            }
        };
        let ask = |made| {
            let connection = inner(&made);
            // Boxed: rmcp holds the whole request in it.
            let answer = Box::pin(request(connection.clone()));
            async move { connection.ask(limit, answer).await.map_err(harmless) }
        };
        let answer = self.parts.handle.with_one(ready, ask);
        self.parts.shared.in_flight.counted(answer).await
    }
}

/// Waits until the standing stream of a new session is open. No limit of a request counts this time.
async fn opened(made: preset::Connection<Connection>) {
    inner(&made).opened().await;
}

/// A harmless request may be repeated after its session was lost, even if the server may have run
/// it.
fn harmless(failure: Failure) -> Failure {
    if failure.class() == Class::SessionLost {
        return failure.reached(Delivery::Refused, Witness::Connection);
    }
    failure
}
