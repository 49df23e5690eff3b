//! Desktop sessions: error messages, and the user's systemd manager.

pub(crate) mod message;
pub(crate) mod user_manager;
