//! Plans what an installed game loads: plugins, the archives that belong to them, and which layer wins.
//!
//! [`plan_game::plan_game`] reads the disk. [`layers`] computes the plan from what was read.
//!
//! | question | file |
//! |---|---|
//! | which plugins are active, and in which order? | `plugins.rs` |
//! | what is in a plugin's header? | `plugins.rs` |
//! | which archives does the game load? | `archives.rs`: those in INI files, and those of plugins |
//! | which archives belong to a plugin? | `archives.rs` |
//! | in which order does New Vegas search them? | `archives.rs` |
//! | which paths does a game ignore in archives? | `archives.rs` |
//! | what is in the data folders? | `data.rs` |
//! | how is the list of plugins encoded? | `code_page.rs` |
//! | which INI file has no effect? | `plan_game.rs` |
//! | what is the result? | `load_order.rs` |

mod archives;
mod code_page;
pub(crate) mod data;
mod layers;
pub(crate) mod load_order;
mod nested;
pub(crate) mod plan_game;
pub(crate) mod plugins;

pub(crate) use archives::{common_rank, why_not_attached};
pub(crate) use code_page::ReadList;
pub(crate) use layers::ONLY_BELOW;
pub(crate) use layers::lowest_first;
pub use load_order::{FolderFilter, LayerKind, LoadOrder, ModList, OrderLayer, PlanError};
pub(crate) use nested::{almost_folder, is_known_folder, unread_folder};
pub use plan_game::plan_game;
pub use plugins::Header;
pub(crate) use plugins::ghosted;
pub(crate) use plugins::stem;
