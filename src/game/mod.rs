//! Which archives and folders a game loads, in which order, and why.
//!
//! A plan is made of texts, names and times; it opens no archive. The rules of each game are a row of [`TITLES`]; what is
//! read from the disk for them is read through [`small_file`] and [`caseless`].

pub mod caseless;
mod environment;
pub mod find;
mod installation;
mod precedence;
pub mod small_file;
mod store;
mod title;
mod titles;

pub use environment::Environment;
pub use installation::{Installation, Overrides};
pub use precedence::{ArchiveRule, Confidence, LooseRule, Precedence};
pub use store::{Store, StoreNames};
pub use title::{
    ActiveRule, AttachRule, Identity, IniFile, IniPlace, IniRole, IniRules, ListRules, LooseSetting,
    MasterRule, OrderRule, PluginRules, TestFiles, Title,
};
pub use titles::{TITLES, title};
