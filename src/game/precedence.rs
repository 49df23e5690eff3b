//! Rules that decide which layer wins a path, and how certain they are.

use crate::named::named;

/// Which of several archives wins a path that they share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArchiveRule {
    #[default]
    LastWins,
    FirstWins,
    /// The archive that Fallout: New Vegas searches first, which depends on the archives' names.
    NewVegas,
    /// The archive that is loaded first. Dates decide between it and loose files.
    Oblivion,
}

impl ArchiveRule {
    /// All rules, by the names that users type.
    pub const ALL: [(&'static str, Self); 4] = [
        ("last", Self::LastWins),
        ("first", Self::FirstWins),
        ("fnv", Self::NewVegas),
        ("oblivion", Self::Oblivion),
    ];

    /// The rule's name among archives alone. There, Oblivion's rule equals `first`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LastWins => "last",
            Self::FirstWins | Self::Oblivion => "first",
            Self::NewVegas => "fnv",
        }
    }
}

/// When a loose file beats the archives that have its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LooseRule {
    #[default]
    Always,
    /// Never. A loose file is seen only if no archive has its path.
    Never,
    /// If the loose file is newer than every archive that has its path.
    ByDate,
    /// Only below these folders of the data folder, because the game ignores loose files in others.
    /// Paths are in lower case with `/` between names.
    Below(Vec<String>),
}

impl LooseRule {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Never | Self::Below(_) => "never",
            Self::ByDate => "newer",
        }
    }
}

/// The rules that decide which layer wins a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Precedence {
    pub archives: ArchiveRule,
    /// Between loose files and archives.
    pub loose: LooseRule,
}

named! {
    /// How certain a rule is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Confidence;
    fn as_str;

    /// Unknown; the rule is a guess.
    None = "none";
    /// Sources disagree, or there is only one source.
    Low = "low";
    /// There is one good source, or several that are untested in the game.
    Medium = "medium";
    /// Sources agree.
    #[default]
    High = "high";
}
