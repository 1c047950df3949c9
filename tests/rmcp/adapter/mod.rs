//! The adapter in this process, between a real client of rmcp and a handler.

mod answers;
mod attempts;
mod cancellation;
mod ends;
mod evidence;
mod forward;
mod forwarded;
mod interim;
mod keyed;
mod learned;
mod loop_failure;
mod nested;
mod panics;
mod progress;
mod requests;
mod run;
mod shared;
mod stacks;
mod thrown;
mod wire;
