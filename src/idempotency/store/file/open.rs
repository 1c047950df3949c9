use crate::{classify::catch_panic, idempotency::store::StoreError};
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, StorageBackend, TableDefinition,
    TableHandle, backends::FileBackend,
};
use std::{fs::OpenOptions, path::Path};

/// The version of the file's format.
const FORMAT: u64 = 1;

/// Numbers about the file itself.
pub(super) const NUMBERS: TableDefinition<'_, &str, u64> =
    TableDefinition::new("mcp-resilience/idempotency");
/// Records by their names.
pub(super) const RECORDS: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("records");
/// The names of records, ordered by the time at which they expire.
pub(super) const EXPIRING: TableDefinition<'_, (u64, &[u8; 32]), ()> =
    TableDefinition::new("expiring");

pub(super) const FORMAT_KEY: &str = "format";
pub(super) const CLOCK_KEY: &str = "clock_ms";

pub(super) struct Opened {
    pub(super) database: Database,
    pub(super) clock_ms: u64,
}

/// Opens or creates a file. Does not write to a file of another program.
pub(super) fn open(path: &Path) -> Result<Opened, StoreError> {
    // The library may panic on a damaged file.
    let opened = catch_panic(|| try_to_open(path));
    let problem = match opened {
        Ok(Ok(opened)) => return Ok(opened),
        Ok(Err(problem)) => problem,
        Err(panic) => StoreError::new("it is damaged").because(panic),
    };
    let text = format!(
        "cannot open the file of idempotency keys {}",
        path.display()
    );
    Err(StoreError::new(text).because(problem))
}

fn try_to_open(path: &Path) -> Result<Opened, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options
        .open(path)
        .map_err(|error| StoreError::new("it cannot be opened").because(error))?;
    let backend = FileBackend::new(file).map_err(refused)?;
    on(backend)
}

/// Opens the database in a backend.
pub(super) fn on(backend: impl StorageBackend) -> Result<Opened, StoreError> {
    let database = Builder::new()
        .create_with_backend(backend)
        .map_err(refused)?;
    check(&database)?;
    let clock_ms = prepare(&database).map_err(|error| failed(&error))?;
    Ok(Opened { database, clock_ms })
}

fn refused(error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => {
            StoreError::new("another process has it open: use another file for each process")
        }
        error => StoreError::new("it cannot be read").because(error),
    }
}

/// Whether the file is one of this store, or new.
fn check(database: &Database) -> Result<(), StoreError> {
    let reading = database.begin_read().map_err(|error| failed(&error))?;
    let mut tables = reading.list_tables().map_err(|error| failed(&error))?;
    let Some(first) = tables.next() else {
        return Ok(());
    };
    if first.name() != NUMBERS.name() && tables.all(|table| table.name() != NUMBERS.name()) {
        return Err(StoreError::new("it is the database of another program"));
    }
    let numbers = reading.open_table(NUMBERS);
    let numbers = numbers.map_err(|error| failed(&error))?;
    let format = redb::ReadableTable::get(&numbers, FORMAT_KEY);
    let format = format.map_err(|error| failed(&error))?;
    match format.map(|format| format.value()) {
        Some(FORMAT) => Ok(()),
        Some(later) => Err(StoreError::new(format!(
            "its format has the version {later}, and this server knows {FORMAT}: upgrade the server"
        ))),
        None => Err(StoreError::new("its format is not known")),
    }
}

/// Creates the tables of a new file. Returns for how long the file has been open so far.
fn prepare(database: &Database) -> Result<u64, redb::Error> {
    let writing = database.begin_write()?;
    let clock_ms = {
        let mut numbers = writing.open_table(NUMBERS)?;
        numbers.insert(FORMAT_KEY, FORMAT)?;
        writing.open_table(RECORDS)?;
        writing.open_table(EXPIRING)?;
        let clock = redb::ReadableTable::get(&numbers, CLOCK_KEY)?;
        clock.map_or(0, |clock| clock.value())
    };
    writing.commit()?;
    Ok(clock_ms)
}

fn failed(error: &impl std::fmt::Display) -> StoreError {
    StoreError::new(format!("it cannot be read: {error}"))
}
