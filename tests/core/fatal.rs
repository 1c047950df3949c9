//! fatal
