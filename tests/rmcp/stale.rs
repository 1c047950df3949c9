//! The tests of the Bookshop refuse a binary that is older than its sources.

use crate::support::check_program;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// A program with two sources, in a directory whose name has a space.
struct Built {
    program: PathBuf,
    sources: [PathBuf; 2],
}

const NOON: Duration = Duration::from_secs(1_800_000_000);

fn set_time(path: &Path, since_noon: i64) {
    let offset = Duration::from_secs(since_noon.unsigned_abs());
    let noon = SystemTime::UNIX_EPOCH + NOON;
    let time = if since_noon < 0 {
        noon - offset
    } else {
        noon + offset
    };
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

impl Built {
    fn at_noon(name: &str) -> Self {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("built {name} {}", std::process::id()));
        fs::create_dir_all(&home).unwrap();
        let sources = ["main.rs", "shelf.rs"].map(|name| home.join(name));
        let program = home.join("program");
        let escaped = |path: &Path| path.to_str().unwrap().replace(' ', "\\ ");
        let [main, shelf] = sources.each_ref().map(|path| escaped(path));
        let rule = format!("{}: {main} {shelf}\n", escaped(&program));
        fs::write(home.join("program.d"), rule).unwrap();
        for path in sources.iter().chain([&program]) {
            fs::write(path, "").unwrap();
            set_time(path, if *path == program { 0 } else { -60 });
        }
        Self { program, sources }
    }

    #[track_caller]
    fn assert_refused(&self, why: &str) {
        let told = check_program(&self.program).unwrap_err();
        assert!(told.contains(why), "{told}");
        assert!(told.contains("cargo build --examples"), "{told}");
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.program.parent().unwrap());
    }
}

#[test]
fn a_program_younger_than_all_its_sources_is_taken() {
    let built = Built::at_noon("fresh");
    assert_eq!(check_program(&built.program), Ok(()));
}

#[test]
fn a_program_older_than_one_of_its_sources_is_refused() {
    let built = Built::at_noon("stale");
    set_time(&built.sources[1], 1);
    built.assert_refused("shelf.rs");
}

#[test]
fn a_program_of_a_source_that_is_gone_is_refused() {
    let built = Built::at_noon("gone");
    fs::remove_file(&built.sources[0]).unwrap();
    built.assert_refused("main.rs");
}

#[test]
fn a_program_that_is_not_built_is_refused() {
    let built = Built::at_noon("unbuilt");
    fs::remove_file(&built.program).unwrap();
    built.assert_refused("is not there");
}
