//! Stores that sell the games. Their copies differ in the names of folders in the user's home.

use crate::named::named;

named! {
    /// Where a copy of a game comes from.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Storefront;
    /// The store's name in lower case.
    fn as_str;

    Steam = "steam";
    Gog = "gog";
    Epic = "epic";
    /// The Microsoft Store and Game Pass.
    Microsoft = "microsoft";
    /// The store was not recognised.
    #[default]
    Unknown = "unknown";
}

/// Name of a game's folder in the user's home. Copies from some stores add a suffix to it.
#[derive(Clone, Copy, Debug)]
pub struct StoreNames {
    /// The usual name; empty if the game has no such folder.
    pub plain: &'static str,
    /// Names of copies from stores that use another name.
    pub others: &'static [(Storefront, &'static str)],
}

impl StoreNames {
    /// For a game without such a folder.
    pub const NONE: Self = Self::plain("");

    /// Creates names that are equal in all stores.
    pub const fn plain(plain: &'static str) -> Self {
        Self { plain, others: &[] }
    }

    /// The name for copies from `store`; empty if the game has no such folder.
    pub fn of(self, store: Storefront) -> &'static str {
        self.others.iter().find(|(it, _)| *it == store).map_or(self.plain, |(_, name)| name)
    }

    /// All names, the usual one first.
    pub fn all(self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.plain).chain(self.others.iter().map(|(_, name)| *name))
    }
}
