//! What other processes read from a mount: plain types and their JSON, as the targets of links.

pub(crate) mod change_log;
pub(crate) mod daemon_status;
