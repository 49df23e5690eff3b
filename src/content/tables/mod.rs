//! The tables of one archive that say where its bytes are, and what its textures become.

mod converted;
mod extents;
mod layer_tables;
mod texture_form;

pub(crate) use converted::{Converted, NewHeader, TOO_LARGE};
pub use layer_tables::LayerTables;
pub use texture_form::TextureForm;
