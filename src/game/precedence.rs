//! Which of several layers that have a path wins, and how sure that is.

/// Which of several archives that have a path wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArchiveRule {
    /// The one that is loaded last.
    #[default]
    LastWins,
    /// The one that is loaded first.
    FirstWins,
    /// The one whose name has the highest rank, as Fallout: New Vegas sorts them.
    NewVegas,
    /// The one that is loaded first; loose files are compared with it by date.
    Oblivion,
}

impl ArchiveRule {
    /// All of them, by the names that users type.
    pub const ALL: [(&'static str, Self); 4] = [
        ("last", Self::LastWins),
        ("first", Self::FirstWins),
        ("fnv", Self::NewVegas),
        ("oblivion", Self::Oblivion),
    ];

    /// What it says about archives alone: among these Oblivion's is `first`.
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
    /// Always.
    #[default]
    Always,
    /// Never; it is seen where no archive has its path.
    Never,
    /// Where it is newer than every archive that has its path.
    ByDate,
    /// Below these folders of the data folder; the game does not look at others. Lower case, `/` between names.
    Below(Vec<String>),
}

impl LooseRule {
    /// In a word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Never | Self::Below(_) => "never",
            Self::ByDate => "newer",
        }
    }
}

/// Who wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Precedence {
    /// Among archives.
    pub archives: ArchiveRule,
    /// Between loose files and archives.
    pub loose: LooseRule,
}

/// How sure a rule is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Not known: a guess.
    None,
    /// Sources disagree, or one alone says so.
    Low,
    /// One good source, or several that are not tried in the game.
    Medium,
    /// Sources agree.
    #[default]
    High,
}

impl Confidence {
    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}
