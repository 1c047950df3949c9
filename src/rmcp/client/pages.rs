use ::rmcp::{model::PaginatedRequestParams, service::ServiceError};
use std::collections::HashSet;

/// The most pages that are asked for.
const PAGES: usize = 1_000;

/// The most items that are kept.
const ITEMS: usize = 10_000;

/// A list of a server, of all its pages.
pub(super) struct Listed<T> {
    pub(super) items: Vec<T>,
    /// Why items may be missing.
    pub(super) incomplete: Option<&'static str>,
}

/// One page, and the cursor of the next.
pub(super) type Page<T> = (Vec<T>, Option<String>);

/// Reads all pages of a list. Each name is in it once; the first counts.
pub(super) async fn read_all<T, F>(
    name: impl Fn(&T) -> &str,
    mut ask: impl FnMut(Option<PaginatedRequestParams>) -> F,
) -> Result<Listed<T>, ServiceError>
where
    F: Future<Output = Result<Page<T>, ServiceError>>,
{
    let mut items = Vec::new();
    let (mut names, mut cursors) = (HashSet::new(), HashSet::new());
    let mut cursor = None;
    let mut incomplete = Some("the server lists more than 1,000 pages");
    for _ in 0..PAGES {
        let (page, next) = ask(Some(
            PaginatedRequestParams::default().with_cursor(cursor.take()),
        ))
        .await?;
        // Some servers end their list with an empty cursor.
        let next = next.filter(|next| !next.is_empty());
        if let Some(next) = &next
            && !cursors.insert(next.clone())
        {
            incomplete = Some("the server repeats a cursor");
            break;
        }
        let new = page.into_iter();
        let new = new.filter(|item| names.insert(name(item).to_owned()));
        items.extend(new.take(ITEMS + 1 - items.len()));
        if items.len() > ITEMS {
            items.truncate(ITEMS);
            incomplete = Some("the server lists more than 10,000 items");
            break;
        }
        cursor = next;
        if cursor.is_none() {
            incomplete = None;
            break;
        }
    }
    Ok(Listed { items, incomplete })
}
