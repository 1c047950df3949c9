use super::{Vocabulary, lookup::Lookup};
use crate::failure::Failure;
use std::{any::Any, error::Error, fmt, sync::Arc};

type ErrorRule = Arc<dyn Fn(&(dyn Error + 'static)) -> Option<Failure> + Send + Sync>;
type ResultRule = Arc<dyn Fn(&dyn Any) -> Option<Failure> + Send + Sync>;

/// The settings of a layer: the user's rules and words, asked first, and its place in the stack.
#[derive(Clone, Default)]
pub(super) struct Rules(Option<Arc<Own>>);

#[derive(Clone, Default)]
struct Own {
    errors: Vec<ErrorRule>,
    results: Vec<ResultRule>,
    words: Option<Vocabulary>,
    is_inside: bool,
}

impl Rules {
    /// Inside another one in the same stack.
    pub(super) fn set_inside(&mut self) {
        Arc::make_mut(self.0.get_or_insert_default()).is_inside = true;
    }

    #[inline]
    pub(super) fn is_inside(&self) -> bool {
        self.0.as_ref().is_some_and(|own| own.is_inside)
    }

    pub(super) fn add_vocabulary(&mut self, words: Vocabulary) {
        let own = &mut Arc::make_mut(self.0.get_or_insert_default()).words;
        own.get_or_insert_default().extend(words);
    }

    /// The names, with the user's words first.
    pub(super) fn lookup(&self) -> Lookup<'_> {
        Lookup::with(self.vocabulary())
    }

    pub(super) fn vocabulary(&self) -> Option<&Vocabulary> {
        self.0.as_ref()?.words.as_ref()
    }

    pub(super) fn add_error_rule<E: Error + 'static>(
        &mut self,
        rule: impl Fn(&E) -> Option<Failure> + Send + Sync + 'static,
    ) {
        let rule: ErrorRule = Arc::new(move |error| rule(error.downcast_ref::<E>()?));
        Arc::make_mut(self.0.get_or_insert_default())
            .errors
            .push(rule);
    }

    pub(super) fn add_result_rule<R: 'static>(
        &mut self,
        rule: impl Fn(&R) -> Option<Failure> + Send + Sync + 'static,
    ) {
        let rule: ResultRule = Arc::new(move |result| rule(result.downcast_ref::<R>()?));
        Arc::make_mut(self.0.get_or_insert_default())
            .results
            .push(rule);
    }

    pub(super) fn on_error(&self, error: &(dyn Error + 'static)) -> Option<Failure> {
        let own = self.0.as_ref()?;
        own.errors.iter().find_map(|rule| rule(error))
    }

    #[inline]
    pub(super) fn on_result(&self, result: &dyn Any) -> Option<Failure> {
        self.0.as_ref()?.on_result(result)
    }
}

impl Own {
    fn on_result(&self, result: &dyn Any) -> Option<Failure> {
        self.results.iter().find_map(|rule| rule(result))
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |of: fn(&Own) -> usize| self.0.as_deref().map_or(0, of);
        f.debug_struct("Rules")
            .field("errors", &count(|own| own.errors.len()))
            .field("results", &count(|own| own.results.len()))
            .field("words", &self.vocabulary())
            .finish()
    }
}
