use std::{fs::File, io};

/// A handle to stderr without the lock of std. If stderr is a pipe without a reader, the holder of
/// that lock may block for ever.
pub(crate) fn stderr() -> Box<dyn io::Write + Send> {
    match own_handle() {
        Ok(file) => Box::new(file),
        Err(_) => Box::new(io::stderr()),
    }
}

#[cfg(unix)]
fn own_handle() -> io::Result<File> {
    use std::os::fd::AsFd;
    let handle = io::stderr().as_fd().try_clone_to_owned()?;
    Ok(File::from(handle))
}

#[cfg(windows)]
fn own_handle() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    let handle = io::stderr().as_handle().try_clone_to_owned()?;
    Ok(File::from(handle))
}

#[cfg(not(any(unix, windows)))]
fn own_handle() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
