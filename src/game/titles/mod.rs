//! The table of games: one row each. A row that differs little from another is written as that row with changes.
//!
//! Rules and their evidence are those of mod managers and of tools that read the games' code; where these disagree, a row
//! takes the reading that most evidence supports, and its confidence says so.

mod base;
mod creation;
mod gamebryo;
mod table;
mod vanilla;

pub use table::{TITLES, title};
