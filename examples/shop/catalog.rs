use mcp_resilience::{
    Failure,
    fatal::{Fatal, startup},
};
use std::{collections::BTreeMap, path::Path};

/// Titles and their authors.
#[derive(Debug)]
pub(crate) struct Catalog(BTreeMap<String, String>);

impl Catalog {
    /// The built-in catalog of two books.
    pub(crate) fn embedded() -> Self {
        let books = [("Dune", "Frank Herbert"), ("Neuromancer", "William Gibson")];
        Self(
            books
                .map(|(title, author)| (title.into(), author.into()))
                .into(),
        )
    }

    /// Reads a JSON object of titles and authors. Fatal if it cannot be read.
    pub(crate) fn read(path: &Path) -> Result<Self, Fatal> {
        startup::config(path).map(Self)
    }

    /// The author of a book, or a failure with a message for the model.
    pub(crate) fn author(&self, title: &str) -> Result<&str, Failure> {
        self.find(title)
            .ok_or_else(|| Failure::tool(no_such_book(title)))
    }

    pub(crate) fn find(&self, title: &str) -> Option<&str> {
        self.0.get(title).map(String::as_str)
    }

    pub(crate) fn titles(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

pub(crate) fn no_such_book(title: &str) -> String {
    format!("No book titled '{title}' in the catalog.")
}
