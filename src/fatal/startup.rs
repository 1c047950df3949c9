//! Checks before a server serves. Each error says in one line what is wrong and where.
//!
//! ```no_run
//! use mcp_resilience::fatal::{Fatal, startup::{self, OrFatal}};
//! use std::collections::BTreeMap;
//!
//! fn main() -> Result<(), Fatal> {
//!     let [token, url] = startup::envs(["BOOKSHOP_TOKEN", "BOOKSHOP_URL"])?;
//!     let catalog: BTreeMap<String, String> = startup::config("catalog.json")?;
//!     let port: u16 = std::env::args().nth(1).unwrap_or_default().parse()
//!         .or_fatal("the first argument must be a port")?;
//!     # let _ = (token, url, catalog, port);
//!     Ok(())
//! }
//! ```

use crate::failure::{BoxError, Fatal};
use serde::de::DeserializeOwned;
use std::{env, fs, io, path::Path};

/// The value of a required variable.
///
/// # Errors
///
/// If it is unset, empty, blank or not Unicode. An empty secret is as good as none; [`env_or_empty`]
/// allows it.
pub fn env(name: &str) -> Result<String, Fatal> {
    let [value] = envs([name])?;
    Ok(value)
}

/// The values of required variables, or the names of all that are missing.
///
/// # Errors
///
/// As for [`env()`], for all of them at once.
pub fn envs<const N: usize>(names: [&str; N]) -> Result<[String; N], Fatal> {
    let mut problems = Vec::new();
    let values = names.map(|name| match env_or_empty(name) {
        Ok(value) if value.trim().is_empty() => {
            problems.push(format!("{name} is empty"));
            String::new()
        }
        Ok(value) => value,
        Err(problem) => {
            problems.push(problem.to_string());
            String::new()
        }
    });
    if problems.is_empty() {
        Ok(values)
    } else {
        let problems = problems.join(", ");
        Err(Fatal::new(format!(
            "missing environment variables: {problems}; set them and start again"
        )))
    }
}

/// The value of a variable that must be set, but may be empty.
///
/// # Errors
///
/// If it is unset, or not Unicode.
pub fn env_or_empty(name: &str) -> Result<String, Fatal> {
    match env::var(name) {
        Ok(value) => Ok(value),
        Err(env::VarError::NotPresent) => Err(Fatal::new(format!("{name} is not set"))),
        Err(env::VarError::NotUnicode(_)) => Err(Fatal::new(format!("{name} is not Unicode"))),
    }
}

/// Reads a config file in JSON.
///
/// # Errors
///
/// If it is missing, cannot be read, or does not fit the type. The error has path, line and column.
pub fn config<T: DeserializeOwned>(path: impl AsRef<Path>) -> Result<T, Fatal> {
    let path = path.as_ref();
    match fs::read(path) {
        Ok(bytes) => parse(path, &bytes),
        Err(error) => Err(unreadable(path, error)),
    }
}

/// Reads a config file in JSON that may be missing.
///
/// # Errors
///
/// As for [`config`], except that a missing file is `None`. Only then use defaults.
pub fn config_if_present<T: DeserializeOwned>(path: impl AsRef<Path>) -> Result<Option<T>, Fatal> {
    let path = path.as_ref();
    match fs::read(path) {
        Ok(bytes) => parse(path, &bytes).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, error)),
    }
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, Fatal> {
    serde_json::from_slice(bytes).map_err(|error| {
        // The text of the error ends with the place, which the line begins with already.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        let problem = text.strip_suffix(&place).unwrap_or(&text);
        Fatal::new(format!(
            "{}:{}:{}: {problem}; the file is corrupt, repair it and start again",
            path.display(),
            error.line(),
            error.column(),
        ))
    })
}

fn unreadable(path: &Path, error: io::Error) -> Fatal {
    Fatal::new(format!("cannot read {}", path.display())).because(error)
}

/// Makes any error fatal.
pub trait OrFatal<T> {
    /// The value, or a fatal error with this reason.
    ///
    /// # Errors
    ///
    /// If there is no value. The error becomes the source.
    fn or_fatal(self, reason: impl Into<String>) -> Result<T, Fatal>;
}

impl<T, E: Into<BoxError>> OrFatal<T> for Result<T, E> {
    fn or_fatal(self, reason: impl Into<String>) -> Result<T, Fatal> {
        self.map_err(|error| Fatal::new(reason).because(error))
    }
}

impl<T> OrFatal<T> for Option<T> {
    fn or_fatal(self, reason: impl Into<String>) -> Result<T, Fatal> {
        self.ok_or_else(|| Fatal::new(reason))
    }
}
