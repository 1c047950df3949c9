//! is_error
