//! Stores that sell the games; they differ in the names of the folders that games keep in a user's home.

/// Where a copy of a game comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storefront {
    /// Steam.
    Steam,
    /// GOG.
    Gog,
    /// The Epic Games Store.
    Epic,
    /// The Microsoft Store and Game Pass.
    Microsoft,
    /// Not recognised.
    #[default]
    Unknown,
}

impl Storefront {
    /// Its name in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steam => "steam",
            Self::Gog => "gog",
            Self::Epic => "epic",
            Self::Microsoft => "microsoft",
            Self::Unknown => "unknown",
        }
    }
}

/// The name of a folder, which copies from some stores change by a suffix.
#[derive(Clone, Copy, Debug)]
pub struct StoreNames {
    /// Its name; empty where the game has no such folder.
    pub plain: &'static str,
    /// Its names by store, where they differ.
    pub others: &'static [(Storefront, &'static str)],
}

impl StoreNames {
    /// No folder.
    pub const NONE: Self = Self::plain("");

    /// One name for all stores.
    pub const fn plain(plain: &'static str) -> Self {
        Self { plain, others: &[] }
    }

    /// Its name for copies from `store`; empty where the game has no such folder.
    pub fn of(self, store: Storefront) -> &'static str {
        self.others.iter().find(|(it, _)| *it == store).map_or(self.plain, |(_, name)| name)
    }

    /// All its names, the plain one first.
    pub fn all(self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.plain).chain(self.others.iter().map(|(_, name)| *name))
    }
}
