use super::problem::in_words;
#[expect(
    deprecated,
    reason = "what MCP has deprecated is read as long as rmcp has it"
)]
use ::rmcp::model::SetLevelRequestParams;
use ::rmcp::model::{
    CancelTaskParams, CompleteRequestParams, CustomRequest, GetSkillRequestParams, GetTaskParams,
    InitializeRequestParams, PaginatedRequestParams, ReadResourceDirectoryRequestParams,
    ServerCapabilities, SubscribeRequestParams, SubscriptionsListenRequestParams,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

/// The error in a request of a known method that is not a call. `None` for any other method, and for
/// one that this server does not offer.
pub(super) fn problem(
    request: &CustomRequest,
    capabilities: impl FnOnce() -> ServerCapabilities,
) -> Option<String> {
    let method = &*request.method;
    let (_, read, is_offered) = METHODS.iter().find(|(name, ..)| *name == method)?;
    let error = read(request.params.clone().unwrap_or_default()).err()?;
    is_offered(&capabilities()).then(|| in_words(method, &error))
}

type Read = fn(Value) -> Result<(), Error>;
type IsOffered = fn(&ServerCapabilities) -> bool;

#[expect(
    deprecated,
    reason = "what MCP has deprecated is read as long as rmcp has it"
)]
const METHODS: &[(&str, Read, IsOffered)] = &[
    ("initialize", read::<InitializeRequestParams>, |_| true),
    ("tools/list", read::<Page>, |offer| offer.tools.is_some()),
    ("prompts/list", read::<Page>, |offer| {
        offer.prompts.is_some()
    }),
    ("resources/list", read::<Page>, has_resources),
    ("resources/templates/list", read::<Page>, has_resources),
    (
        "resources/subscribe",
        read::<SubscribeRequestParams>,
        has_subscriptions,
    ),
    (
        "resources/unsubscribe",
        read::<UnsubscribeRequestParams>,
        has_subscriptions,
    ),
    (
        "resources/directory/read",
        read::<ReadResourceDirectoryRequestParams>,
        |offer| offer.supports_directory_read(),
    ),
    (
        "subscriptions/listen",
        read::<SubscriptionsListenRequestParams>,
        |_| true,
    ),
    (
        "completion/complete",
        read::<CompleteRequestParams>,
        |offer| offer.completions.is_some(),
    ),
    ("logging/setLevel", read::<SetLevelRequestParams>, |offer| {
        offer.logging.is_some()
    }),
    (
        "tasks/get",
        read::<GetTaskParams>,
        ServerCapabilities::supports_tasks,
    ),
    (
        "tasks/update",
        read::<UpdateTaskParams>,
        ServerCapabilities::supports_tasks,
    ),
    (
        "tasks/cancel",
        read::<CancelTaskParams>,
        ServerCapabilities::supports_tasks,
    ),
    (
        "skills/list",
        read::<Page>,
        ServerCapabilities::supports_skills,
    ),
    (
        "skills/get",
        read::<GetSkillRequestParams>,
        ServerCapabilities::supports_skills,
    ),
];

type Page = Option<PaginatedRequestParams>;

fn has_resources(offer: &ServerCapabilities) -> bool {
    offer.resources.is_some()
}

fn has_subscriptions(offer: &ServerCapabilities) -> bool {
    let resources = offer.resources.as_ref();
    resources.is_some_and(|resources| resources.subscribe == Some(true))
}

fn read<P: DeserializeOwned>(params: Value) -> Result<(), Error> {
    serde_json::from_value::<P>(params).map(drop)
}
