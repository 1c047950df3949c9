//! call_log
