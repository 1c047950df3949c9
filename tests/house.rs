//! Which module may import which.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

#[path = "house/sentences.rs"]
mod sentences;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The modules that each module may import.
const DOORS: &[(&str, &[&str])] = &[
    ("accessors", &[]),
    ("text", &[]),
    ("json", &[]),
    ("lock", &[]),
    // Pages, which may link to anything.
    ("guide", &[]),
    ("failure", &[]),
    ("call", &["failure", "ledger"]),
    ("ledger", &["failure"]),
    ("backoff", &[]),
    ("observe", &["call", "failure", "ledger"]),
    ("telemetry", &["call", "failure"]),
    ("window", &["failure"]),
    ("policy", &["backoff", "call"]),
    ("always_ready", &["failure", "window"]),
    ("timeout", &["call", "failure", "observe", "policy"]),
    ("classify", &["call", "failure", "json", "ledger"]),
    ("convert", &["classify", "failure"]),
    (
        "retry",
        &[
            "backoff",
            "call",
            "failure",
            "ledger",
            "observe",
            "policy",
            "telemetry",
            "window",
        ],
    ),
    (
        "reconnect",
        &["backoff", "failure", "observe", "telemetry", "window"],
    ),
    // There is one reader of envelopes.
    (
        "is_error",
        &["call", "classify", "failure", "ledger", "observe"],
    ),
    ("fatal", &["failure", "observe"]),
    // Its own answers are masked and escaped like all others.
    (
        "idempotency",
        &["call", "classify", "failure", "is_error", "ledger"],
    ),
    ("metrics", &["call", "call_log", "observe"]),
    ("call_log", &["call", "failure", "ledger", "telemetry"]),
    (
        "preset",
        &[
            "always_ready",
            "call",
            "call_log",
            "classify",
            "failure",
            "fatal",
            "idempotency",
            "is_error",
            "observe",
            "policy",
            "reconnect",
            "retry",
            "timeout",
        ],
    ),
    (
        "serve",
        &[
            "call",
            "call_log",
            "classify",
            "failure",
            "fatal",
            "idempotency",
            "ledger",
            "observe",
        ],
    ),
    (
        "rmcp",
        &[
            "backoff",
            "call",
            "call_log",
            "classify",
            "failure",
            "fatal",
            "idempotency",
            "json",
            "ledger",
            "observe",
            "policy",
            "preset",
            "reconnect",
            "serve",
            "telemetry",
            "timeout",
        ],
    ),
    (
        "tower_mcp",
        &[
            "call",
            "classify",
            "failure",
            "fatal",
            "idempotency",
            "ledger",
            "observe",
            "preset",
            "reconnect",
            "serve",
            "timeout",
        ],
    ),
];

/// The modules that every module may import: masked text, and locks.
const OPEN: [&str; 2] = ["text", "lock"];

#[test]
fn no_module_imports_another_against_the_plan() {
    for (room, files) in rooms() {
        let (_, doors) = DOORS
            .iter()
            .find(|(name, _)| *name == room)
            .unwrap_or_else(|| panic!("the room `{room}` is not on the plan"));
        for file in files {
            // Tests put the whole together.
            if file.ends_with("tests.rs") {
                continue;
            }
            for used in rooms_used_in(&fs::read_to_string(&file).unwrap()) {
                assert!(
                    used == room || OPEN.contains(&used.as_str()) || doors.contains(&used.as_str()),
                    "`{room}` may not use `{used}`: {}",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn every_module_on_the_plan_exists() {
    let rooms: Vec<_> = rooms().into_iter().map(|(room, _)| room).collect();
    for (room, _) in DOORS {
        assert!(rooms.iter().any(|there| there == room), "no room `{room}`");
    }
}

#[test]
fn no_file_is_too_long() {
    for (_, files) in rooms() {
        for file in files {
            let lines = fs::read_to_string(&file).unwrap().lines().count();
            assert!(lines <= 350, "{}: {lines} lines", file.display());
        }
    }
}

/// A claim that a call did not run, or may run again, names its source. The methods of the public
/// API are for the author of a tool.
#[test]
fn no_module_makes_claims_as_the_author_of_a_tool() {
    let words = [".with_delivery(", ".before_running(", ".with_retryable("];
    for (room, files) in rooms() {
        for file in files.iter().filter(|_| room != "failure") {
            let text = fs::read_to_string(file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let mut code = code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let spoken = code.find(|line| words.iter().any(|word| line.contains(word)));
            assert_eq!(spoken, None, "{}", file.display());
        }
    }
}

/// The functions whose output a field of an event or a span may have with `%`: masked text on one
/// line, and ids of this crate.
const SHOWN: &[&str] = &[
    ".chain()",
    "Chain(&",
    "shown(",
    "shown_name(",
    "id",
    "record.call_id()",
    "format_args!(\"{} {}\", method.as_str(), shown(",
];

/// The values that a field may have without `%`: a number, a constant text, or masked text.
const PLAIN: &[&str] = &[
    ".as_str()",
    "shown",
    "escaped(",
    "millis",
    "attempt",
    "untold",
    "generation",
    "record.arguments()",
    "record.request_id()",
    "record.trace_id()",
    "record.span_id()",
    "server_port()",
    "Transport::as_str",
    "number(dial)",
    "record.is_error()",
    "record.retries()",
    "record.was_unflagged()",
    "record.was_replayed()",
    "as u64",
    "retry_after().map(millis)",
    "text",
    "named(",
    "request_id.map(id)",
    "Empty",
    "execute_tool",
    // Its name is masked when it is made.
    "target.span_name()",
    "target.method()",
    "target.operation()",
    "target.tool()",
    "target.prompt()",
    "target.uri()",
];

/// Names of fields that hold constant texts.
const WORDS: &[&str] = &["list", "why"];

#[test]
fn every_text_of_an_event_or_a_span_is_masked() {
    let mut seen = 0;
    for (_, files) in rooms() {
        for file in files {
            for fields in fields_of_events(&fs::read_to_string(&file).unwrap()) {
                seen += 1;
                let wrong = fields.iter().find(|field| !is_shown(field));
                assert_eq!(wrong, None, "in {}", file.display());
            }
        }
    }
    assert!(seen > 10, "events and spans: {seen}");
}

#[test]
fn a_raw_error_in_an_event_is_found() {
    for raw in [
        "%error",
        "?error",
        "error = %error",
        "error = ?failure",
        "line = %line",
        "error = error.to_string()",
        "name = tool.name",
        "tool = target.raw_name()",
        "\"failed: {error}\"",
        "\"failed: {}\"",
    ] {
        let code = format!("tracing::warn!(attempt = 1, {raw}, \"failed\");");
        let fields = fields_of_events(&code);
        assert!(
            fields[0].iter().any(|field| !is_shown(field)),
            "{raw}: {fields:?}"
        );
    }
    let fine = "tracing::warn!(error = %failure.chain(), class = class.as_str(), \"it failed\");";
    assert!(
        fields_of_events(fine)[0]
            .iter()
            .all(|field| is_shown(field))
    );
}

fn is_shown(field: &str) -> bool {
    // Constants have names in upper case.
    let has_argument = field
        .match_indices('{')
        .any(|(at, _)| !field[at + 1..].starts_with(|c: char| c.is_ascii_uppercase()));
    if field.starts_with('"') && !field.contains("\" = ") {
        return !has_argument;
    }
    let Some((_, value)) = field.split_once(" = ") else {
        // `target: …`, a level, or the name of a field alone.
        return field.starts_with("target: ")
            || field == "parent: None"
            || field.starts_with("Level::")
            || WORDS.contains(&field)
            || PLAIN.contains(&field);
    };
    if let Some(formatted) = value.strip_prefix('%') {
        return SHOWN.iter().any(|shown| {
            formatted == *shown
                || (shown.contains(['(', '.']) && shown.len() > 2 && formatted.contains(shown))
        });
    }
    let is_number = value.chars().all(|c| c.is_ascii_digit());
    // A constant text.
    let is_literal = value.starts_with('"') && value.ends_with('"') && !value.contains('{');
    is_number
        || is_literal
        || (!value.starts_with('?')
            && PLAIN.iter().any(|plain| match *plain {
                "text" => value == "text",
                plain => value.contains(plain),
            }))
}

/// The fields of each macro of `tracing` that writes something.
fn fields_of_events(text: &str) -> Vec<Vec<String>> {
    const MACROS: &[&str] = &[
        "trace!",
        "debug!",
        "info!",
        "warn!",
        "error!",
        "event!",
        "info_span!",
    ];
    let begins = text.match_indices("tracing::").filter_map(|(at, path)| {
        let after = &text[at + path.len()..];
        let name = MACROS.iter().find(|name| after.starts_with(**name))?;
        Some(at + path.len() + name.len() + 1)
    });
    begins.map(|at| split(&text[at..])).collect()
}

/// The arguments up to the bracket that closes, without comments.
fn split(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let text: String = lines.flat_map(|line| [line.trim(), " "]).collect();
    let (mut depth, mut is_quoted) = (0_i32, false);
    let mut fields = vec![String::new()];
    for c in text.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            '(' | '[' | '{' if !is_quoted => depth += 1,
            ')' | ']' | '}' if !is_quoted => depth -= 1,
            ',' if !is_quoted && depth == 0 => {
                fields.push(String::new());
                continue;
            }
            _ => {}
        }
        if depth < 0 {
            break;
        }
        if let Some(field) = fields.last_mut() {
            field.push(c);
        }
    }
    let fields = fields.into_iter().map(|field| field.trim().to_owned());
    fields.filter(|field| !field.is_empty()).collect()
}

/// The modules with their Rust files, without `lib.rs`.
fn rooms() -> Vec<(String, Vec<PathBuf>)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let entries = fs::read_dir(src)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, files_under(&path))
        })
        .filter(|(name, _)| name != "lib")
        .collect()
}

/// The Rust files.
fn files_under(path: &Path) -> Vec<PathBuf> {
    let mut files = all_files_under(path);
    files.retain(|file| file.extension().is_some_and(|ending| ending == "rs"));
    files
}

fn all_files_under(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.flat_map(|path| all_files_under(&path)).collect()
}

/// Every `x` of a `crate::x`, or of a `crate::{x, ..}`, outside of comments.
fn rooms_used_in(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join(" ");
    let word = |text: &str| -> String {
        text.trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let mut used = Vec::new();
    for (at, path) in code.match_indices("crate::") {
        // The name of another crate may end with it.
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + path.len()..];
        match rest.strip_prefix('{') {
            None => used.push(word(rest)),
            Some(list) => {
                let mut depth = 0_i32;
                let until_closed = list.chars().take_while(|c| {
                    depth += i32::from(*c == '{') - i32::from(*c == '}');
                    depth >= 0
                });
                let list: String = until_closed.collect();
                let mut depth = 0_i32;
                let items = list.split(|c: char| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    c == ',' && depth == 0
                });
                used.extend(items.map(word));
            }
        }
    }
    used.retain(|room| !room.is_empty());
    used
}

/// The files of the client have no circular imports.
#[test]
fn the_files_of_the_client_import_in_one_direction() {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rmcp/client");
    for (folder, path) in [
        (client.clone(), "rmcp::client::"),
        (client.join("endpoint"), "rmcp::client::endpoint::"),
        (client.join("process"), "rmcp::client::process::"),
        (client.join("wire"), "rmcp::client::wire::"),
    ] {
        let imports = imports_within(&folder, path);
        assert!(imports.len() > 3, "{}", folder.display());
        for (file, _) in &imports {
            let mut trail = vec![file.as_str()];
            assert!(!leads_back(&imports, &mut trail), "a circle: {trail:?}");
        }
    }
    // The lowest floor knows no client.
    for (file, used) in imports_within(&client, "rmcp::client::") {
        let allowed: &[&str] = match &*file {
            "process" | "wire" => &[],
            "endpoint" => &["opening", "progress", "wire"],
            _ => continue,
        };
        for name in used {
            assert!(allowed.contains(&&*name), "{file} imports {name}");
        }
    }
}

/// Whether the last file of a trail imports the first one, directly or not.
fn leads_back<'i>(imports: &'i [(String, Vec<String>)], trail: &mut Vec<&'i str>) -> bool {
    let last = trail[trail.len() - 1];
    let used = imports.iter().find(|(file, _)| file == last);
    for next in used.map(|(_, used)| used).into_iter().flatten() {
        let is_first = next == trail[0];
        if !is_first && trail.contains(&next.as_str()) {
            continue;
        }
        trail.push(next);
        if is_first || leads_back(imports, trail) {
            return true;
        }
        trail.pop();
    }
    false
}

/// Each file or folder of a folder, and its imports from the others. An item that `mod.rs` re-exports
/// counts for its own file.
fn imports_within(folder: &Path, path: &str) -> Vec<(String, Vec<String>)> {
    let front = fs::read_to_string(folder.join("mod.rs")).unwrap();
    let mut homes = Vec::new();
    for (at, word) in front.match_indices("use self::") {
        for import in names(&front[at + word.len()..]) {
            let (file, types) = import.split_once("::").unwrap();
            let types = types.split(|c: char| !c.is_alphanumeric() && c != '_');
            homes.extend(types.map(|name| (name.to_owned(), file.to_owned())));
        }
    }
    let entries = fs::read_dir(folder).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let entries =
        entries.filter(|entry| !entry.ends_with("mod.rs") && !entry.ends_with("tests.rs"));
    let imports = entries.map(|entry| {
        let own = entry.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut used = Vec::new();
        for file in files_under(&entry) {
            let text = fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let code = lines.collect::<Vec<_>>().join("\n");
            let mut roots = vec![path];
            roots.extend(entry.is_file().then_some("super::"));
            for root in roots {
                for (at, _) in code.match_indices(root) {
                    for import in names(&code[at + root.len()..]) {
                        let name = import.split("::").next().unwrap_or_default().trim();
                        let home = homes.iter().find(|(is, _)| is == name);
                        used.push(home.map_or(name, |(_, file)| file).to_owned());
                    }
                }
            }
        }
        used.retain(|name| *name != own);
        (own, used)
    });
    imports.collect()
}

/// The paths after a `use a::`: one, or those in braces.
fn names(text: &str) -> Vec<String> {
    if let Some(list) = text.strip_prefix('{') {
        return split(list);
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':' | '{'));
    let path = &text[..end.unwrap_or(text.len())];
    match path.split_once("::{") {
        Some((file, _)) => {
            let list = &text[file.len() + 3..];
            let list = split(list);
            list.iter().map(|name| format!("{file}::{name}")).collect()
        }
        None => vec![path.to_owned()],
    }
}
