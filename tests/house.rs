//! The plan of the house: which room opens onto which.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What each room may use of the crate.
const DOORS: &[(&str, &[&str])] = &[
    ("failure", &[]),
    ("call", &["failure"]),
    ("ledger", &["failure"]),
    ("backoff", &[]),
    ("classify", &["call", "failure", "ledger"]),
    ("retry", &["backoff", "call", "failure", "ledger"]),
    ("reconnect", &["backoff", "failure"]),
    ("is_error", &["call", "failure", "ledger"]),
    ("fatal", &["failure"]),
    ("call_log", &["call", "failure", "ledger"]),
    (
        "preset",
        &[
            "call_log",
            "classify",
            "failure",
            "fatal",
            "is_error",
            "reconnect",
            "retry",
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
            "ledger",
            "preset",
            "reconnect",
        ],
    ),
];

#[test]
fn no_room_has_a_door_that_is_not_on_the_plan() {
    for (room, files) in rooms() {
        let (_, doors) = DOORS
            .iter()
            .find(|(name, _)| *name == room)
            .unwrap_or_else(|| panic!("the room `{room}` is not on the plan"));
        for file in files {
            for used in rooms_used_in(&fs::read_to_string(&file).unwrap()) {
                assert!(
                    used == room || doors.contains(&used.as_str()),
                    "`{room}` may not use `{used}`: {}",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn every_room_on_the_plan_is_there() {
    let rooms: Vec<_> = rooms().into_iter().map(|(room, _)| room).collect();
    for (room, _) in DOORS {
        assert!(rooms.iter().any(|there| there == room), "no room `{room}`");
    }
}

#[test]
fn no_file_is_longer_than_one_idea() {
    for (_, files) in rooms() {
        for file in files {
            let lines = fs::read_to_string(&file).unwrap().lines().count();
            assert!(lines <= 350, "{}: {lines} lines", file.display());
        }
    }
}

/// The rooms with their files; `lib.rs` is the front door.
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

fn files_under(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.flat_map(|path| files_under(&path)).collect()
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
        // The name of another crate may end in the word.
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
