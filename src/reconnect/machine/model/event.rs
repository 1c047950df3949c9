#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    Call(usize),
    Look(usize),
    Leave(usize),
    TooLate(usize),
    Answer(usize),
    Lose(usize),
    TimeOut(usize),
    GiveUp(usize),
    Turn(usize),
    Connect(usize),
    Refuse(usize),
    Die(usize),
    StaleConnect(u64),
    ProbeEnds(bool),
    Tick,
    Reset,
    Renew,
    Close,
}

/// How often each kind of event may happen.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) calls: u8,
    pub(super) ticks: u8,
    pub(super) dials: u64,
    pub(super) meddles: u8,
    pub(super) can_be_probed: bool,
}
