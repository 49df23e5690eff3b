//! Finds installed games in the lists of Steam, Heroic, Lutris and Bottles, and in a named folder.

mod bottles;
mod candidate;
mod heroic;
mod lutris;
mod openmw;
mod prefix;
mod recognise;
mod search;
mod steam;

pub use prefix::unreadable;
pub use search::{Found, find, recognise, with_prefix};
