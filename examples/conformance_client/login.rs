//! Authorization by rmcp's client of OAuth. The suite's user agrees to everything at once.

use mcp_resilience::rmcp::client::Challenge;
use rmcp::transport::{
    AuthorizationManager, DynamicTransportError,
    auth::{AuthorizationRequest, OAuthState},
    streamable_http_client::StreamableHttpError,
};
use serde_json::Value;
use std::{env, error::Error};

type BoxError = Box<dyn Error + Send + Sync>;

const CALLBACK: &str = "http://localhost:3000/callback";

/// How the suite knows this client at servers that read the description of a client from its URL.
const CLIENT: &str = "https://conformance-test.local/client-metadata.json";

/// How often in a row a client asks for a token before it gives up.
const LOGINS: u32 = 3;

/// What a server says when it wants another token.
#[derive(Debug)]
pub(crate) struct Wanted {
    header: String,
    // Only if a token is good, and does not suffice.
    scope: Option<String>,
}

impl From<Challenge> for Wanted {
    fn from(challenge: Challenge) -> Self {
        let scope = challenge.param("scope").unwrap_or_default();
        Self {
            header: challenge.header().to_owned(),
            scope: (challenge.status() == 403).then_some(scope),
        }
    }
}

impl Wanted {
    /// In an error of rmcp's own client.
    pub(crate) fn in_error(error: &DynamicTransportError) -> Option<Self> {
        match error
            .error
            .downcast_ref::<StreamableHttpError<reqwest::Error>>()?
        {
            StreamableHttpError::AuthRequired(error) => Some(Self {
                header: error.www_authenticate_header.clone(),
                scope: None,
            }),
            StreamableHttpError::InsufficientScope(error) => Some(Self {
                header: error.www_authenticate_header.clone(),
                scope: Some(error.required_scope.clone().unwrap_or_default()),
            }),
            _ => None,
        }
    }
}

/// The tokens of one client.
pub(crate) struct Login {
    url: String,
    context: Value,
    // Those that were granted.
    scopes: Vec<String>,
    logins: u32,
}

impl Login {
    pub(crate) fn new(url: &str, context: Value) -> Self {
        Self {
            url: url.to_owned(),
            context,
            scopes: Vec::new(),
            logins: 0,
        }
    }

    /// Gets the token that a server wants. The scopes that were granted before are kept.
    pub(crate) async fn answer(&mut self, wanted: &Wanted) -> Result<String, BoxError> {
        self.logins += 1;
        if self.logins > LOGINS {
            return Err("the server wants another token again and again".into());
        }
        let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
        if scenario == "auth/client-credentials-basic" {
            return self.without_user(wanted).await;
        }
        let mut oauth = OAuthState::new(&*self.url, None).await?;
        oauth.start_authorization(self.request(wanted)).await?;
        let page = oauth.get_authorization_url().await?;
        oauth.handle_callback_url(&agree(&page).await?).await?;
        let manager = oauth.into_authorization_manager().ok_or("no token")?;
        self.scopes = manager.get_current_scopes().await;
        Ok(manager.get_access_token().await?)
    }

    /// The token of the client itself. rmcp's own method for it does not use HTTP's basic authentication.
    async fn without_user(&self, wanted: &Wanted) -> Result<String, BoxError> {
        let manager = AuthorizationManager::new(&*self.url).await?;
        let metadata = manager
            .resolve_metadata_from_challenge(Some(&wanted.header))
            .await?
            .metadata;
        let id = self.said("client_id").ok_or("no client id")?;
        let answer = reqwest::Client::new()
            .post(metadata.token_endpoint)
            .basic_auth(id, self.said("client_secret"))
            .header("content-type", "application/x-www-form-urlencoded")
            .body("grant_type=client_credentials")
            .send()
            .await?;
        let answer: Value = answer.json().await?;
        Ok(answer["access_token"]
            .as_str()
            .ok_or("no token")?
            .to_owned())
    }

    fn request(&self, wanted: &Wanted) -> AuthorizationRequest {
        let mut request = AuthorizationRequest::new(CALLBACK)
            .with_client_name("conformance")
            .with_client_metadata_url(CLIENT);
        if !wanted.header.is_empty() {
            request = request.with_challenge(&wanted.header);
        }
        if let Some(more) = &wanted.scope {
            let scopes = self.scopes.iter().map(String::as_str);
            request = request.with_scopes(scopes.chain(more.split_whitespace()));
        }
        if let (Some(id), Some(secret)) = (self.said("client_id"), self.said("client_secret")) {
            request = request
                .with_preregistered_client(id)
                .with_client_secret(secret);
        }
        request
    }

    fn said(&self, name: &str) -> Option<&str> {
        self.context[name].as_str()
    }
}

/// Opens the page where the user agrees, and returns where it leads to.
async fn agree(page: &str) -> Result<String, BoxError> {
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let answer = browser.build()?.get(page).send().await?;
    let callback = answer.headers().get("location").ok_or("no redirect")?;
    Ok(callback.to_str()?.to_owned())
}
