//! Writing archives: the tables of a new archive, made of names and of where the data lies.
//!
//! As parsing, this is pure: [`NewArchive`] takes paths, sorts them as the game needs it, refuses what an
//! archive cannot have, and returns the bytes before and after the data. The caller writes the data, in
//! the order of [`NewArchive::data_order`], from [`NewArchive::data_start`] on. FORMATS.md has the
//! layouts, and its section 14 what a writer chooses.
//!
//! | question | file |
//! |---|---|
//! | what is an archive made of, and which bytes are stored for a path? | `new_entry.rs` |
//! | which order, and which collisions? | `new_archive.rs` |
//! | what is in the tables? | `tes3.rs`, `tes4.rs`, `ba2.rs` |
//! | which flags does a BSA have? | `new_entry.rs` |

mod ba2;
mod new_archive;
mod new_entry;
mod tes3;
mod tes4;

pub use new_archive::{Collision, NewArchive};
pub use new_entry::{
    Block, EMBEDDED_NAMES, NameError, NewEntry, NewKind, NewTexture, PathForm, StoredPath, TableError,
    archive_flags, content_flags,
};
