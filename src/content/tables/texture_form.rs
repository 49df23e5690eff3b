//! The forms in which textures can be shown (`--textures`).

/// The form in which textures are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextureForm {
    /// PC textures as DDS files, console textures under the headers of their own tools.
    #[default]
    Default,
    /// Linear DDS files where these can be made; other textures as in [`TextureForm::Default`].
    Dds,
    /// Like [`TextureForm::Dds`], with headers that older programs can read, also in DDS files within
    /// archives. They state no sRGB.
    Compatible,
    /// The bytes as the archive stores them, without a header.
    Raw,
    /// Uncompressed pixels that every program reads, 32 bits each, including those of DDS files within
    /// archives. Textures that cannot be decoded are shown as in [`TextureForm::Dds`].
    Rgba,
    /// Like [`TextureForm::Rgba`], with only the largest mip.
    RgbaTop,
}

impl TextureForm {
    /// All forms with their names.
    pub const ALL: [(&'static str, Self); 6] = [
        ("default", Self::Default),
        ("dds", Self::Dds),
        ("compatible", Self::Compatible),
        ("raw", Self::Raw),
        ("rgba", Self::Rgba),
        ("rgba-top", Self::RgbaTop),
    ];

    /// Whether textures are shown as uncompressed pixels.
    pub(crate) fn is_pixels(self) -> bool {
        matches!(self, Self::Rgba | Self::RgbaTop)
    }

    /// Whether the texels of console textures are put into rows.
    pub(crate) fn is_linear(self) -> bool {
        matches!(self, Self::Dds | Self::Compatible | Self::Rgba | Self::RgbaTop)
    }
}
