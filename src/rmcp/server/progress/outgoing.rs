use super::report::{Report, Verdict};
use ::rmcp::{
    RoleServer,
    model::{JsonRpcMessage, ProgressToken, ServerNotification},
    service::TxJsonRpcMessage,
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The calls on one connection whose clients gave a token for progress.
#[derive(Clone, Debug, Default)]
pub(super) struct Outgoing(Arc<Mutex<HashMap<ProgressToken, Arc<Report>>>>);

/// Marks a progress notification that is no report of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heartbeat;

impl Outgoing {
    pub(super) fn add(&self, token: ProgressToken, report: Arc<Report>) {
        self.calls().insert(token, report);
    }

    /// Forgets a call, unless a later one has its token.
    pub(super) fn remove(&self, token: &ProgressToken, report: &Arc<Report>) {
        let mut calls = self.calls();
        if calls
            .get(token)
            .is_some_and(|there| Arc::ptr_eq(there, report))
        {
            calls.remove(token);
        }
    }

    /// Looks at a message that is about to leave. It allocates nothing.
    pub(super) fn look(&self, message: &mut TxJsonRpcMessage<RoleServer>) -> Verdict {
        let JsonRpcMessage::Notification(message) = message else {
            return Verdict::Send;
        };
        let ServerNotification::ProgressNotification(progress) = &mut message.notification else {
            return Verdict::Send;
        };
        let is_heartbeat = progress.extensions.get::<Heartbeat>().is_some();
        let report = self.calls().get(&progress.params.progress_token).cloned();
        match report {
            Some(report) if is_heartbeat => report.beat(&mut progress.params),
            Some(report) => report.pass(&mut progress.params),
            // The call has ended: nobody waits for a heartbeat.
            None if is_heartbeat => Verdict::Drop,
            None => Verdict::Send,
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<ProgressToken, Arc<Report>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
