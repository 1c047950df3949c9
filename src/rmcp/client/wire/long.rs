use super::{
    Long,
    asked::Pending,
    read::{Found, broken},
};

impl Long {
    /// Ends the requests whose ids are in it. If there are none, reports that it is not a message.
    pub(in crate::rmcp::client) fn read(mut self, pending: &mut impl Pending) -> Vec<Found> {
        let unreadable = self.too_long();
        let ids = self.heads().into_iter().filter_map(|head| head.answers);
        let asked = ids.filter_map(|id| pending.take(Some(&id)));
        let found: Vec<_> = asked
            .map(|asked| broken(unreadable.clone(), &asked))
            .collect();
        if found.is_empty() {
            return vec![Found::Unreadable(unreadable)];
        }
        found
    }
}
