//! The order in which Fallout: New Vegas searches its archives.
//!
//! The game searches its list from the front. It appends an archive of the base game at the end, and inserts
//! any other before the first archive of a lower rank, or at the front if there is none. So mods come before
//! the official add-ons, and these before the base game. Among equals, the archive loaded first comes first.

/// Parts of the names of official archives, case-sensitive, by rank.
const OFFICIAL: [&str; 6] = ["Fallo", "DeadM", "Hones", "Lones", "OldWo", "Updat"];

/// The rank of a mod's archive.
const MOD: usize = OFFICIAL.len();

/// Maximum number of archives to rank, many times what a game opens. Ranking takes quadratic time.
const RANKED_MAX: usize = 1 << 14;

/// Indexes of archives in search order. `names` are in load order and in the game's spelling.
pub(crate) fn searched<'a>(names: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut list: Vec<(usize, Marks)> = Vec::new();
    for (index, name) in names.enumerate() {
        let marks = Marks::of(name);
        if marks.has(0) || index >= RANKED_MAX {
            list.push((index, marks));
            continue;
        }
        let at = list.iter().position(|(_, other)| marks.goes_before(*other)).unwrap_or(0);
        list.insert(at, (index, marks));
    }
    list.into_iter().map(|(index, _)| index).collect()
}

/// Which of [`OFFICIAL`] a name contains, one bit each.
#[derive(Clone, Copy, Debug)]
struct Marks(u8);

impl Marks {
    fn of(name: &str) -> Self {
        Self((0..MOD).filter(|&rank| name.contains(OFFICIAL[rank])).map(|rank| 1 << rank).sum())
    }

    fn has(self, rank: usize) -> bool {
        self.0 & (1 << rank) != 0
    }

    fn rank(self) -> usize {
        (1..MOD).find(|&rank| self.has(rank)).unwrap_or(MOD)
    }

    fn goes_before(self, other: Self) -> bool {
        let rank = self.rank();
        other.has(0)
            || other.has(1)
            || (rank > 1 && other.has(2))
            || (rank > 2 && other.has(3))
            || (rank > 3 && (other.has(4) || other.has(5)))
    }
}
