//! Desktop sessions: messages, the choice of a game, and the user's systemd manager.

pub(crate) mod chooser;
pub(crate) mod message;
pub(crate) mod user_manager;
