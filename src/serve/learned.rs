use crate::{call::Hints, lock::RwLock};
use std::{collections::HashMap, sync::Arc};
use tokio::sync::OnceCell;

/// The most pages that are asked for.
pub(crate) const PAGES: usize = 100;

/// The most tools that are remembered.
const CAPACITY: usize = 10_000;

/// Hints from a handler's own lists of tools.
///
/// One for all clones and clients. A handler may list other tools to other clients, or change them
/// over time, and its announcements are not seen here. So a hint counts only if every list so far had
/// it.
#[derive(Clone, Default)]
pub(crate) struct Learned(Arc<State>);

#[derive(Default)]
struct State {
    by_name: RwLock<HashMap<String, Hints>>,
    // Set once a list was seen, or was asked for.
    has_list: OnceCell<()>,
}

impl Learned {
    /// Remembers a page of a list that a client asked for.
    pub(crate) fn learn<'a>(&self, page: impl IntoIterator<Item = (&'a str, Hints)>) {
        self.add(page);
        let _ = self.0.has_list.set(());
    }

    /// Hints on a page count only if they agree with the earlier lists.
    pub(crate) fn add<'a>(&self, page: impl IntoIterator<Item = (&'a str, Hints)>) {
        let mut by_name = self.0.by_name.write();
        for (tool, said) in page {
            let is_full = by_name.len() >= CAPACITY;
            match by_name.get_mut(tool) {
                Some(known) => *known = known.agreed(said),
                // Unknown is safe: a tool without hints is not repeated.
                None if is_full => {}
                None => {
                    by_name.insert(tool.to_owned(), said);
                }
            }
        }
    }

    pub(crate) fn get(&self, tool: &str) -> Option<Hints> {
        self.0.by_name.read().get(tool).copied()
    }

    pub(crate) fn has_list(&self) -> bool {
        self.0.has_list.get().is_some()
    }

    /// Asks for the list, unless one was seen. Calls that come in the meantime wait too.
    pub(crate) async fn ask_once<F: Future<Output = ()>>(&self, ask: impl FnOnce() -> F) {
        self.0.has_list.get_or_init(ask).await;
    }
}
