use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal, Read},
    path::PathBuf,
};

/// The longest line that is read. The log writes no longer ones.
const LINE: usize = 64 * 1024;

/// Calls `each` with every line of the files, or of stdin, without the line end.
pub(super) fn all(files: &[PathBuf], mut each: impl FnMut(&[u8])) -> io::Result<()> {
    if files.is_empty() {
        let bar = bar(None);
        lines(io::stdin().lock(), &mut each, &bar)?;
        bar.finish_and_clear();
        return Ok(());
    }
    let mut opened = Vec::new();
    for path in files {
        let name = |error: io::Error| {
            io::Error::new(
                error.kind(),
                format!("cannot read {}: {error}", path.display()),
            )
        };
        let file = File::open(path).map_err(name)?;
        let length = file.metadata().map_err(name)?.len();
        opened.push((file, length));
    }
    let bar = bar(Some(opened.iter().map(|(_, length)| length).sum()));
    for (file, _) in opened {
        lines(file, &mut each, &bar)?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// A progress bar on a terminal. Hidden elsewhere.
fn bar(length: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match length {
        Some(length) => (
            ProgressBar::new(length),
            "{bar:40} {bytes}/{total_bytes} {eta}",
        ),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn lines(from: impl Read, each: &mut impl FnMut(&[u8]), bar: &ProgressBar) -> io::Result<()> {
    let mut from = BufReader::with_capacity(256 * 1024, from);
    let mut line = Vec::with_capacity(LINE);
    let mut unshown = 0;
    loop {
        line.clear();
        let read = read_line(&mut from, &mut line)?;
        if read == 0 {
            bar.inc(unshown);
            return Ok(());
        }
        unshown += read;
        if unshown > 1 << 20 {
            bar.inc(unshown);
            unshown = 0;
        }
        let text = line.trim_ascii_end();
        if !text.is_empty() {
            each(text);
        }
    }
}

/// Reads a line into the buffer, and returns its length. Skips the rest of a line that is too long.
fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    let limit = LINE as u64 + 1;
    let read = from.by_ref().take(limit).read_until(b'\n', line)? as u64;
    if read < limit || line.last() == Some(&b'\n') {
        return Ok(read);
    }
    Ok(read + from.skip_until(b'\n')? as u64)
}
