//! The tables of one archive that say where its bytes are, and what its textures become.

mod layer_tables;

pub(crate) use layer_tables::{Converted, NewHeader, OtherForm, TOO_LARGE};
pub use layer_tables::{LayerTables, TextureForm};
