use crate::serve::progress::{Heartbeat, Report, Verdict};
use ::tower_mcp::{
    context::{NotificationReceiver, NotificationSender, ServerNotification},
    protocol::{ProgressParams, ProgressToken},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};
use tokio::sync::mpsc::WeakSender;

/// Passes the notifications of one session on to its client, and sees the reports of progress among
/// them.
pub(super) struct Bridge {
    // Weak, so that the transport sees the end of the session.
    client: WeakSender<ServerNotification>,
    // Held while a notification is passed on, so that none overtakes another.
    state: Mutex<State>,
}

struct State {
    notifications: NotificationReceiver,
    calls: HashMap<ProgressToken, Arc<Report>>,
}

impl Bridge {
    pub(super) fn new(client: &NotificationSender, notifications: NotificationReceiver) -> Self {
        Self {
            client: client.downgrade(),
            state: Mutex::new(State {
                notifications,
                calls: HashMap::new(),
            }),
        }
    }

    /// Whether it leads to this client.
    pub(super) fn leads_to(&self, client: &NotificationSender) -> bool {
        let own = self.client.upgrade();
        own.is_some_and(|own| own.same_channel(client))
    }

    pub(super) fn is_open(&self) -> bool {
        let client = self.client.upgrade();
        client.is_some_and(|client| !client.is_closed())
    }

    pub(super) fn add(&self, token: ProgressToken, report: Arc<Report>) {
        self.state().calls.insert(token, report);
    }

    /// Removes a call, unless a later one has its token.
    pub(super) fn remove(&self, token: &ProgressToken, report: &Arc<Report>) {
        let calls = &mut self.state().calls;
        if calls
            .get(token)
            .is_some_and(|there| Arc::ptr_eq(there, report))
        {
            calls.remove(token);
        }
    }

    /// Passes on what is there: before its answer, a call sends what its tool has reported.
    pub(super) fn pass(&self) {
        self.pass_all(&mut self.state());
    }

    /// Passes on what comes, also from tasks that a tool has left. Ready when nothing can come or
    /// arrive any more.
    pub(super) fn poll_pass(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        while let Some(notification) = ready!(state.notifications.poll_recv(cx)) {
            self.pass_one(&state, notification);
            if !self.is_open() {
                state.notifications.close();
            }
        }
        Poll::Ready(())
    }

    /// Sends a heartbeat, unless the tool has reported meanwhile. Returns whether the client is there.
    pub(super) fn beat(
        &self,
        heartbeat: Heartbeat,
        report: &Arc<Report>,
        mut params: ProgressParams,
    ) -> bool {
        let mut state = self.state();
        self.pass_all(&mut state);
        match report.beat(heartbeat, &mut params.progress) {
            Verdict::Beat(_sending) => self.send(ServerNotification::Progress(params)),
            _ => true,
        }
    }

    fn pass_all(&self, state: &mut State) {
        while let Ok(notification) = state.notifications.try_recv() {
            self.pass_one(state, notification);
        }
    }

    fn pass_one(&self, state: &State, mut notification: ServerNotification) {
        if let ServerNotification::Progress(params) = &mut notification
            && let Some(report) = state.calls.get(&params.progress_token)
        {
            // Never after a heartbeat: that is sent under the lock.
            report.pass(&mut params.progress);
        }
        self.send(notification);
    }

    /// As tower-mcp does: what a client does not take in time is lost.
    fn send(&self, notification: ServerNotification) -> bool {
        let client = self.client.upgrade();
        client.is_some_and(|client| client.try_send(notification).is_ok())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
