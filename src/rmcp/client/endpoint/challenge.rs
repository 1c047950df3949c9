use ::http::{StatusCode, header::WWW_AUTHENTICATE};

/// A server's request for credentials: a 401, or a 403 that asks for more scope.
///
/// [`Http::credentials`](crate::rmcp::client::Http::credentials) gets it, and
/// [`of_failure`](Self::of_failure) finds it in a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    status: u16,
    header: String,
}

/// The parameters that are shown, in this order.
const TOLD: [&str; 4] = ["error", "error_description", "scope", "resource_metadata"];

impl Challenge {
    pub(super) fn new(status: StatusCode, header: Option<&str>) -> Option<Self> {
        let challenge = Self {
            status: status.as_u16(),
            header: header.unwrap_or_default().to_owned(),
        };
        match status {
            StatusCode::UNAUTHORIZED => Some(challenge),
            StatusCode::FORBIDDEN => {
                let error = challenge.param("error");
                (error.as_deref() == Some("insufficient_scope")).then_some(challenge)
            }
            _ => None,
        }
    }

    pub(super) fn of(response: &reqwest::Response) -> Option<Self> {
        let header = response.headers().get(WWW_AUTHENTICATE);
        Self::new(
            response.status(),
            header.and_then(|value| value.to_str().ok()),
        )
    }

    /// The HTTP status: 401 or 403.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The `WWW-Authenticate` header, unchanged. Empty without one.
    #[must_use]
    pub fn header(&self) -> &str {
        &self.header
    }

    /// A parameter of the header: `scope`, `error`, `resource_metadata`. Names are compared ignoring
    /// case.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<String> {
        let mut rest = self.header.as_str();
        while let Some((before, after)) = rest.split_once('=') {
            let this = before
                .trim_end()
                .rsplit([',', ' '])
                .next()
                .unwrap_or_default();
            let after = after.trim_start();
            let (value, remains) = if let Some(quoted) = after.strip_prefix('"') {
                unquoted(quoted)
            } else {
                let end = after.find([',', ' ']).unwrap_or(after.len());
                (after[..end].to_owned(), &after[end..])
            };
            if this.eq_ignore_ascii_case(name) {
                return Some(value);
            }
            rest = remains;
        }
        None
    }

    /// The challenge, for a message.
    pub(super) fn told(&self) -> Option<String> {
        let told = TOLD
            .iter()
            .filter_map(|name| Some(format!("{name}={}", self.param(name)?)));
        let told: Vec<_> = told.collect();
        (!told.is_empty()).then(|| told.join(", "))
    }
}

/// The text up to an unescaped quote, and the rest.
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(status: u16, header: &str) -> Option<Challenge> {
        Challenge::new(StatusCode::from_u16(status).unwrap(), Some(header))
    }

    #[test]
    fn the_parameters_are_read_in_every_form() {
        let header =
            r#"Bearer realm="a, b=c", Error=insufficient_scope,scope="files:read \"x\"" , x=1"#;
        let challenge = challenge(403, header).unwrap();
        assert_eq!(challenge.param("realm").as_deref(), Some("a, b=c"));
        assert_eq!(
            challenge.param("SCOPE").as_deref(),
            Some("files:read \"x\"")
        );
        assert_eq!(challenge.param("x").as_deref(), Some("1"));
        assert_eq!(challenge.param("y"), None);
        let told = "error=insufficient_scope, scope=files:read \"x\"";
        assert_eq!(challenge.told().as_deref(), Some(told));
    }

    #[test]
    fn what_asks_for_no_credentials_is_no_challenge() {
        assert!(challenge(403, "Bearer error=\"invalid_token\"").is_none());
        assert!(challenge(403, "").is_none());
        assert!(challenge(500, "Bearer error=\"insufficient_scope\"").is_none());
        let bare = challenge(401, "").unwrap();
        assert_eq!((bare.told(), bare.param("scope")), (None, None));
        for odd in ["=", "a=\"", "a=\"\\", "=\"=,", "é=ü"] {
            let _ = challenge(401, odd).unwrap().told();
        }
    }
}
