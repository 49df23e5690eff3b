//! A decoded picture.

/// Pixels as a screen shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Red, green, blue (sRGB) and alpha (not multiplied into them) of each pixel, rows from the top.
    pub rgba: Vec<[u8; 4]>,
}
