use crate::failure::Failure;
use std::{any::Any, error::Error, fmt, sync::Arc};

type ErrorRule = Arc<dyn Fn(&(dyn Error + 'static)) -> Option<Failure> + Send + Sync>;
type ResultRule = Arc<dyn Fn(&dyn Any) -> Option<Failure> + Send + Sync>;

/// The user's own rules, asked before anything else.
#[derive(Clone, Default)]
pub(super) struct Rules(Option<Arc<Both>>);

#[derive(Clone, Default)]
struct Both {
    errors: Vec<ErrorRule>,
    results: Vec<ResultRule>,
}

impl Rules {
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
        let both = self.0.as_ref()?;
        both.errors.iter().find_map(|rule| rule(error))
    }

    pub(super) fn on_result(&self, result: &dyn Any) -> Option<Failure> {
        let both = self.0.as_ref()?;
        both.results.iter().find_map(|rule| rule(result))
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |of: fn(&Both) -> usize| self.0.as_deref().map_or(0, of);
        f.debug_struct("Rules")
            .field("errors", &count(|both| both.errors.len()))
            .field("results", &count(|both| both.results.len()))
            .finish()
    }
}
