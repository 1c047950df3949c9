//! An error before the first request ends the process at once, with one line. A client that leaves
//! is not an error.

use crate::support::{Bookshop, Child, Lines, Wire, assert_has, over_both_wires};
use serde_json::json;
use std::{
    fs::{self, File},
    ops::Deref,
    path::{Path, PathBuf},
};
use tokio::io::AsyncWriteExt;

/// A variable of these tests alone.
const VARIABLE: &str = "BOOKSHOP_TEST_TOKEN";

over_both_wires! {
    a_good_catalog_is_served
    a_variable_that_is_set_is_enough
}

/// A file of this test's own, gone at its end.
struct Own(PathBuf);

impl Deref for Own {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn file(name: &str, content: &[u8]) -> Own {
    let name = format!("{}-{name}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    Own(path)
}

/// Fails unless the Bookshop ends by itself, without a word on stdout, and gives the one line that
/// it leaves on stderr. Its stdin stays open.
async fn refusal(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let (mut child, stdin, stdout) = Child::start(arguments, variables);
    let mut stdout = Lines::read(stdout);
    let status = child.ended().await;
    assert_eq!(status.code(), Some(1));
    drop(stdin);
    assert_eq!(stdout.all().await, [""; 0], "nothing was served");
    let lines = child.stderr.all().await;
    assert_eq!(lines.len(), 1, "one line: {lines:#?}");
    let line = lines.into_iter().next().unwrap();
    assert!(line.starts_with("Error: "), "{line}");
    line
}

async fn refused_catalog(path: &Path) -> String {
    let path = path.to_str().unwrap();
    let line = refusal(&["--catalog", path], &[]).await;
    assert!(line.contains(path), "{path} in {line}");
    // The address is not even listened on.
    let over_http = refusal(&["--catalog", path, "--http", "127.0.0.1:0"], &[]).await;
    assert_eq!(over_http, line);
    line
}

#[tokio::test]
async fn a_catalog_that_is_missing_is_named() {
    let line = refused_catalog(Path::new("/nowhere/catalog.json")).await;
    assert!(line.contains("No such file or directory"), "{line}");
}

#[tokio::test]
async fn a_catalog_that_is_a_directory_is_unreadable() {
    let line = refused_catalog(Path::new(env!("CARGO_TARGET_TMPDIR"))).await;
    assert!(line.contains("Is a directory"), "{line}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_catalog_without_permission_is_unreadable() {
    use std::os::unix::fs::PermissionsExt;
    let path = file("forbidden.json", b"{}");
    fs::set_permissions(&*path, fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read anything.
    if File::open(&*path).is_err() {
        let line = refused_catalog(&path).await;
        assert!(line.contains("Permission denied"), "{line}");
    }
}

#[tokio::test]
async fn a_catalog_that_is_corrupt_is_named_with_line_and_column() {
    let corrupt: [(&str, &[u8], &str); 7] = [
        ("syntax", b"{\"Dune\": \"x\",\n \"a\" 5}", ":2:6: "),
        ("cut-off", b"{\n  \"Dune\": \"Frank Her", ":2:"),
        ("number", b"{\n\n  \"Dune\": 5\n}", ":3:11: "),
        ("array", b"[\"Dune\"]", ":1:"),
        ("trailing", b"{}\n{}", ":2:1: "),
        ("not-unicode", b"{\n \"Dune\": \"\xff\"}", ":2:"),
        ("control", b"{\"Dune\": \"a\nb\"}", ":2:0: "),
    ];
    for (name, content, place) in corrupt {
        let path = file(&format!("corrupt-{name}.json"), content);
        let line = refused_catalog(&path).await;
        let place = format!("{}{place}", path.display());
        assert!(line.contains(&place), "{place} in {line}");
        assert!(line.contains("corrupt"), "{line}");
    }
}

#[tokio::test]
async fn an_empty_catalog_is_corrupt() {
    for (name, content) in [("empty", ""), ("blank", " \n\n")] {
        let path = file(&format!("{name}.json"), content.as_bytes());
        let line = refused_catalog(&path).await;
        let place = format!("{}:", path.display());
        assert!(line.contains(&place), "{place} in {line}");
        assert!(line.contains("EOF"), "{line}");
    }
}

#[tokio::test]
async fn a_variable_that_is_unset_empty_or_blank_is_missing() {
    let arguments = ["--require-env", VARIABLE];
    let cases: [(&[(&str, &str)], &str); 3] = [
        (&[], "is not set"),
        (&[(VARIABLE, "")], "is empty"),
        (&[(VARIABLE, " \t")], "is empty"),
    ];
    for (variables, problem) in cases {
        let line = refusal(&arguments, variables).await;
        assert!(line.contains(&format!("{VARIABLE} {problem}")), "{line}");
    }
}

#[tokio::test]
async fn a_variable_without_a_name_is_no_option() {
    let (mut child, stdin, stdout) = Child::start(&["--require-env", ""], &[]);
    let status = child.ended().await;
    assert_eq!(status.code(), Some(2), "the command line is wrong");
    drop(stdin);
    assert_eq!(
        Lines::read(stdout).all().await,
        [""; 0],
        "nothing was served"
    );
    let lines = child.stderr.all().await;
    assert!(lines[0].contains("--require-env <NAME>"), "{lines:#?}");
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let line = refusal(&["--http", &address], &[]).await;
    assert!(line.contains(&address), "{line}");
    assert!(line.contains("in use"), "{line}");
}

async fn a_good_catalog_is_served(wire: Wire) {
    let name = format!("good-{wire:?}.json");
    let path = file(&name, b"{\"Solaris\": \"Stanis\xc5\x82aw Lem\"}");
    let mut shop = Bookshop::open(wire, &["--catalog", path.to_str().unwrap()]).await;
    let done = shop.call("get_author", json!({"title": "Solaris"})).await;
    assert_eq!(done.text(), "Stanisław Lem");
    let done = shop.call("get_author", json!({"title": "Dune"})).await;
    assert_has(done.result(), &json!({"isError": true}));
    shop.leave().await;
    let kept = fs::read(&*path).unwrap();
    assert_eq!(kept, b"{\"Solaris\": \"Stanis\xc5\x82aw Lem\"}");
}

async fn a_variable_that_is_set_is_enough(wire: Wire) {
    let arguments = ["--require-env", VARIABLE];
    let mut shop = Bookshop::open_with(wire, &arguments, &[(VARIABLE, "x")]).await;
    let done = shop.call("get_author", json!({"title": "Dune"})).await;
    assert_eq!(done.text(), "Frank Herbert");
    shop.leave().await;
}

#[tokio::test]
async fn a_client_that_leaves_at_once_is_a_normal_end() {
    let (mut child, stdin, stdout) = Child::start(&[], &[]);
    drop(stdin);
    assert_eq!(child.ended().await.code(), Some(0));
    assert_eq!(Lines::read(stdout).all().await, [""; 0]);
    assert_eq!(child.stderr.all().await, [""; 0]);
}

#[tokio::test]
async fn a_client_that_leaves_after_its_first_message_is_a_normal_end() {
    let initialize = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "hasty", "version": "1"},
        },
    });
    let (mut child, mut stdin, stdout) = Child::start(&[], &[]);
    let line = format!("{initialize}\n");
    stdin.write_all(line.as_bytes()).await.unwrap();
    drop(stdin);
    assert_eq!(child.ended().await.code(), Some(0));
    let answers = Lines::read(stdout).all().await;
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert!(answers[0].contains("protocolVersion"), "{answers:#?}");
    assert_eq!(child.stderr.all().await, [""; 0]);
}

#[tokio::test]
async fn a_client_that_leaves_with_calls_still_running_is_a_normal_end() {
    let messages = [
        json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "hasty", "version": "1"},
            },
        }),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "sleep", "arguments": {"seconds": 0.3}},
        }),
    ];
    let (mut child, mut stdin, stdout) = Child::start(&[], &[]);
    for message in messages {
        let line = format!("{message}\n");
        stdin.write_all(line.as_bytes()).await.unwrap();
    }
    drop(stdin);
    let answers = Lines::read(stdout).all().await;
    assert_eq!(child.ended().await.code(), Some(0));
    assert_eq!(answers.len(), 2, "{answers:#?}");
    assert!(answers[1].contains("Slept for 0.3 s."), "{answers:#?}");
    let lines = child.stderr.all().await;
    assert_eq!(lines.len(), 1, "{lines:#?}");
    let line = crate::support::log_line(&lines[0]);
    assert_has(&line, &json!({"outcome": "success", "request_id": 1}));
}
