use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Which SDK the Bookshop is on: that of the test binary's name. The suite of the Bookshop runs on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sdk {
    Rmcp,
    TowerMcp,
}

impl Sdk {
    pub(crate) const fn here() -> Self {
        match env!("CARGO_CRATE_NAME").as_bytes() {
            b"tower_mcp" => Self::TowerMcp,
            _ => Self::Rmcp,
        }
    }

    pub(crate) const fn bookshop(self) -> &'static str {
        match self {
            Self::Rmcp => "bookshop",
            Self::TowerMcp => "bookshop_tower_mcp",
        }
    }
}

/// Examples are built beside the tests: `target/PROFILE/{deps,examples}`. Not by `cargo test` with
/// the name of one test, though, and an old one would pass or fail for what is no longer there.
pub(crate) fn program(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    let program = profile.join("examples").join(name);
    if let Err(why) = check(&program) {
        panic!("{why}");
    }
    program
}

/// Whether a program is what its sources are now.
pub(crate) fn check(program: &Path) -> Result<(), String> {
    let what = match is_stale(program) {
        Ok(None) => return Ok(()),
        Ok(Some(source)) => format!("is older than {}", source.display()),
        Err(error) => format!("is not there: {error}"),
    };
    Err(format!(
        "{} {what}. Run `cargo build --examples`, with the profile and the target directory of \
         the tests.",
        program.display()
    ))
}

/// A source that was changed since, or is gone. cargo writes the sources of a program to a file
/// beside it.
fn is_stale(program: &Path) -> io::Result<Option<PathBuf>> {
    let built = fs::metadata(program)?.modified()?;
    let rule = fs::read_to_string(program.with_extension("d"))?;
    let (_, sources) = rule
        .lines()
        .next()
        .unwrap_or("")
        .split_once(": ")
        .unwrap_or_default();
    let is_later = |source: &PathBuf| modified(source).is_none_or(|changed| changed > built);
    Ok(paths(sources).into_iter().find(is_later))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// As in a makefile: a space in a path has a backslash before it.
fn paths(list: &str) -> Vec<PathBuf> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = list.replace("\\ ", "\0");
    let paths = list.split_whitespace();
    paths
        .map(|path| home.join(path.replace('\0', " ")))
        .collect()
}
