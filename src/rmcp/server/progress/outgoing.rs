use crate::{
    lock::Mutex,
    serve::progress::{Heartbeat, Report, Verdict},
};
use ::rmcp::{
    RoleServer,
    model::{JsonRpcMessage, ProgressToken, ServerNotification},
    service::TxJsonRpcMessage,
};
use std::{collections::HashMap, sync::Arc};

/// The calls on one connection whose clients gave a progress token.
#[derive(Clone, Debug, Default)]
pub(super) struct Outgoing(Arc<Mutex<HashMap<ProgressToken, Arc<Report>>>>);

impl Outgoing {
    pub(super) fn add(&self, token: ProgressToken, report: Arc<Report>) {
        self.0.lock().insert(token, report);
    }

    /// Removes a call, unless a later one has its token.
    pub(super) fn remove(&self, token: &ProgressToken, report: &Arc<Report>) {
        let mut calls = self.0.lock();
        if calls
            .get(token)
            .is_some_and(|there| Arc::ptr_eq(there, report))
        {
            calls.remove(token);
        }
    }

    /// Examines an outgoing message. It does not allocate.
    pub(super) fn look(&self, message: &mut TxJsonRpcMessage<RoleServer>) -> Verdict {
        let JsonRpcMessage::Notification(message) = message else {
            return Verdict::Send;
        };
        let ServerNotification::ProgressNotification(progress) = &mut message.notification else {
            return Verdict::Send;
        };
        let heartbeat = progress.extensions.get::<Heartbeat>().copied();
        let report = self.0.lock().get(&progress.params.progress_token).cloned();
        match (report, heartbeat) {
            (Some(report), Some(heartbeat)) => {
                report.beat(heartbeat, &mut progress.params.progress)
            }
            (Some(report), None) => report.pass(&mut progress.params.progress),
            // The call has ended, so it needs no heartbeat.
            (None, Some(_)) => Verdict::Drop,
            (None, None) => Verdict::Send,
        }
    }
}
