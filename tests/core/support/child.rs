use std::{
    env,
    process::{Command, Output},
};

/// Runs one test of this binary in another process, which a variable marks as the child.
pub(crate) fn in_a_child(test: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("IN_A_CHILD", test)
        .env("RUST_BACKTRACE", "0")
        .env_remove("B_URL")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

pub(crate) fn is_the_child(test: &str) -> bool {
    env::var("IN_A_CHILD").is_ok_and(|name| name == test)
}
