use std::{env, path::PathBuf};

/// An example, built beside the tests: `target/PROFILE/{deps,examples}`.
pub(crate) fn program(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    let program = profile.join("examples").join(name);
    assert!(
        program.exists(),
        "{} is missing: build the examples (`cargo build --examples`, with the features, the \
         profile and the target directory of the tests)",
        program.display()
    );
    program
}
