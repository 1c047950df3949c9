use super::Delivery;
use std::fmt;
use tracing::Level;

/// The kind of a failure: who must act, and whether waiting helps.
///
/// The [module page](super) has the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The connection was refused, reset or closed, or the server's process died.
    Connection,
    /// No answer in time.
    Timeout,
    /// The server no longer knows the session.
    SessionLost,
    /// Too many calls within some time.
    RateLimited,
    /// Too many calls at once.
    AtCapacity,
    /// The service is down for now.
    Unavailable,
    /// The service behind the tool failed.
    Upstream,
    /// The arguments are wrong.
    InvalidInput,
    /// The arguments name an address that is not allowed.
    Blocked,
    /// There is no such tool, row or resource.
    NotFound,
    /// The credentials are missing or wrong.
    Unauthorized,
    /// The credentials are not sufficient, or the server refuses this tool.
    Forbidden,
    /// The service is turned off for this account.
    Disabled,
    /// The tool's own error, without a known code.
    Tool,
    /// The tool's answer does not match its schema, or is not JSON.
    InvalidOutput,
    /// A deliberate JSON-RPC error.
    Protocol,
    /// A panic, or an error of an unknown type.
    Crash,
    /// The caller hung up.
    Cancelled,
    /// Every later call would fail too.
    Fatal,
}

/// Who must act on a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Audience {
    /// The stack itself: it reconnects, or repeats the call.
    Stack,
    /// No one can act. Only time helps.
    Time,
    /// The model: it calls again with other arguments, or another tool.
    Model,
    /// The operator of the server.
    Operator,
    /// The host application.
    Host,
    /// The process: it ends.
    Process,
    /// No one has to act.
    Nobody,
}

/// Whether a failure of a class may be repeated, if a repeat is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// If the call did not run, or may run twice.
    ByDelivery,
    /// Only if the server said so explicitly.
    OnRequest,
    Never,
}

struct Row {
    class: Class,
    name: &'static str,
    codes: &'static [&'static str],
    audience: Audience,
    repeats: Repeats,
    reconnects: bool,
    is_against_server: bool,
    delivery: Delivery,
    level: Level,
    phrase: &'static str,
}

#[rustfmt::skip]
const TABLE: [Row; 19] = {
    use self::{Audience as A, Class as C, Delivery as D, Repeats as R};
    const INFO: Level = Level::INFO;
    const WARN: Level = Level::WARN;
    const ERROR: Level = Level::ERROR;
    macro_rules! table {
        ($($class:ident $name:literal $codes:tt $audience:ident $repeats:ident $reconnects:literal $against:literal $delivery:ident $level:ident $phrase:literal;)*) => {
            [$(Row { class: C::$class, name: $name, codes: &$codes, audience: A::$audience, repeats: R::$repeats, reconnects: $reconnects, is_against_server: $against, delivery: D::$delivery, level: $level, phrase: $phrase }),*]
        };
    }
    table![
        Connection   "connection"     []                                                Stack    ByDelivery true  true  Unknown  WARN  "the connection was lost";
        Timeout      "timeout"        []                                                Stack    ByDelivery true  true  Unknown  WARN  "no answer in time";
        SessionLost  "session_lost"   []                                                Stack    ByDelivery true  false Unknown  WARN  "the server no longer knows the session";
        RateLimited  "rate_limited"   ["rate_limited"]                                  Time     ByDelivery false false Unknown  WARN  "too many calls";
        AtCapacity   "at_capacity"    ["at_capacity"]                                   Time     ByDelivery false true  Unknown  WARN  "too many calls at once";
        Unavailable  "unavailable"    ["service_unavailable"]                           Time     ByDelivery false true  Unknown  WARN  "the service is unavailable for now";
        Upstream     "upstream"       ["upstream_error"]                                Time     ByDelivery false true  Executed WARN  "the service behind the tool failed";
        InvalidInput "invalid_input"  ["bad_request", "upstream_client_error"]          Model    Never      false false Unknown  INFO  "the arguments are not valid";
        Blocked      "blocked"        ["ssrf_blocked"]                                  Model    Never      false false Unknown  INFO  "the address is not allowed";
        NotFound     "not_found"      ["not_found"]                                     Model    Never      false false Unknown  INFO  "not found";
        Unauthorized "unauthorized"   ["auth_failed"]                                   Operator Never      false false Unknown  WARN  "the credentials are missing or wrong";
        Forbidden    "forbidden"      ["forbidden"]                                     Model    Never      false false Unknown  INFO  "access is refused";
        Disabled     "disabled"       ["service_disabled"]                              Operator Never      false false Unknown  WARN  "the service is disabled";
        Tool         "tool"           []                                                Model    OnRequest  false false Executed INFO  "failed without a message";
        InvalidOutput "invalid_output" ["output_validation_failed", "upstream_non_json"] Operator Never     false true  Executed WARN  "the answer is not valid";
        Protocol     "protocol"       []                                                Host     Never      false false Unknown  INFO  "the request was rejected";
        Crash        "crash"          ["upstream_unknown"]                              Operator Never      false true  Unknown  ERROR "failed unexpectedly";
        Cancelled    "cancelled"      []                                                Nobody   Never      false false Unknown  INFO  "the call was cancelled";
        Fatal        "fatal"          []                                                Process  Never      false true  Unknown  ERROR "the tool server is out of service";
    ]
};

impl Class {
    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Every class, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.class)
    }

    /// The class's name, as a log line has it: `rate_limited`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().name
    }

    /// The class of one of the codes in the table.
    pub(crate) fn from_documented_code(code: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|row| row.codes.iter().any(|known| is_same_word(known, code)))
            .map(|row| row.class)
    }

    /// The code that is reported for a failure of this class without a code.
    #[must_use]
    pub fn default_code(self) -> &'static str {
        // The code in the table would blame the service behind the tool.
        if let Self::Crash = self {
            return "internal_error";
        }
        let row = self.row();
        row.codes.first().copied().unwrap_or(row.name)
    }

    /// Who must act.
    #[must_use]
    pub const fn audience(self) -> Audience {
        self.row().audience
    }

    /// Whether the connection is lost, so that later calls need a new one.
    #[must_use]
    pub const fn needs_new_connection(self) -> bool {
        self.row().reconnects
    }

    /// Whether the failure counts against the health of the server, or of the service behind it.
    /// For a circuit breaker. Errors of the model, of the host and of the tool do not count. Rate
    /// limits, lost sessions and refused credentials do not count either, since a healthy server
    /// returns them.
    ///
    /// ```
    /// use mcp_resilience::Class;
    ///
    /// assert!(Class::Unavailable.speaks_against_server());
    /// assert!(!Class::InvalidInput.speaks_against_server());
    /// ```
    #[must_use]
    pub const fn speaks_against_server(self) -> bool {
        self.row().is_against_server
    }

    /// The log level of a failure of this class.
    #[must_use]
    pub const fn level(self) -> Level {
        self.row().level
    }

    /// The delivery of a failure of this class, if nothing better is known: `Executed` or `Unknown`.
    /// No class says that a call did not run.
    #[must_use]
    pub const fn delivery(self) -> Delivery {
        self.row().delivery
    }

    /// Whether waiting, or a new connection, may help.
    #[must_use]
    pub const fn heals(self) -> bool {
        matches!(self.row().repeats, Repeats::ByDelivery)
    }

    pub(crate) const fn repeats(self) -> Repeats {
        self.row().repeats
    }

    /// The phrase for a failure of this class without a message.
    pub(super) const fn phrase(self) -> &'static str {
        self.row().phrase
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Compares codes, ignoring case, `_`, `-` and blanks.
pub(crate) fn is_same_word(known: &str, code: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = u8> {
        text.bytes()
            .filter(|byte| !matches!(byte, b'_' | b'-' | b' '))
            .map(|byte| byte.to_ascii_lowercase())
    }
    let is_candidate = match (known.as_bytes(), code.as_bytes()) {
        // Most codes differ in the first character.
        ([first, ..], [other, ..]) if other.is_ascii_alphanumeric() => {
            first.eq_ignore_ascii_case(other)
        }
        _ => true,
    };
    // No known code is longer, so do not compare it.
    is_candidate && code.len() <= 64 && letters(known).eq(letters(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_stands_at_the_place_of_its_class() {
        for (at, row) in TABLE.iter().enumerate() {
            assert_eq!(row.class as usize, at, "{}", row.name);
        }
    }
}
