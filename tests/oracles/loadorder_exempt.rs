//! Known differences between bsafs's order of plugins and libloadorder's, and their reasons.

use crate::installations::World;

/// A difference between the two orders.
pub(crate) struct Row {
    /// The active plugins in bsafs's order.
    pub(crate) ours: &'static [&'static str],
    /// The active plugins in libloadorder's order.
    pub(crate) theirs: &'static [&'static str],
    /// Why bsafs keeps its order.
    pub(crate) reason: &'static str,
    /// An installation that shows the difference.
    pub(crate) world: fn() -> World,
}

/// All known differences. Random installations avoid them.
pub(crate) const ROWS: &[Row] = &[
    Row {
        ours: &[],
        theirs: &["A.esp"],
        reason: "it renames a ghost that is listed, and thus activates it; the game does not find it",
        world: || World::of("oblivion").plugin("A.esp.ghost", 0, &[], 0).lines(&["A.esp"]),
    },
    Row {
        ours: &["A.esp"],
        theirs: &[],
        reason: "it opens files by the names in the list, and Linux tells case apart, which Wine does not",
        world: || World::of("skyrimse").plugin("A.esp", 0, &[], 0).lines(&["*a.ESP"]),
    },
    Row {
        ours: &["A.esp"],
        theirs: &[],
        reason: "it takes blanks for a part of the name; Windows drops those at the end",
        world: || World::of("oblivion").plugin("A.esp", 0, &[], 0).lines(&["A.esp "]),
    },
    Row {
        ours: &["A.esp"],
        theirs: &[],
        reason: "it leaves out files without a header; whether the games do is not known, and here archives by name matter",
        world: || World { others: vec!["A.esp".into()], ..World::of("oblivion").lines(&["A.esp"]) },
    },
    Row {
        ours: &["B.esm", "A.esp"],
        theirs: &["A.esp", "B.esm"],
        reason: "in Morrowind it goes by the flag; other sources by the extension",
        world: || {
            let world = World::of("morrowind").plugin("A.esp", 1, &[], 0).plugin("B.esm", 0, &[], 0);
            world.lines(&["A.esp", "B.esm"])
        },
    },
    Row {
        ours: &["X.esp", "Y.esp", "M.esm"],
        theirs: &["Y.esp", "X.esp", "M.esm"],
        reason: "several plugins that are moved before one master: where times give the order it reverses them, where a list \
                 does it keeps them; we move them as the master names them",
        world: || {
            let world = World::of("oblivion").plugin("M.esm", 1, &["X.esp", "Y.esp"], 0);
            let world = world.plugin("X.esp", 0, &[], 0).plugin("Y.esp", 0, &[], 1);
            world.lines(&["M.esm", "X.esp", "Y.esp"])
        },
    },
    Row {
        ours: &["Y.esm", "X.esm", "M.esm"],
        theirs: &["X.esm", "Y.esm", "M.esm"],
        reason: "as before, with a list",
        world: || {
            let world = World::of("skyrimse").plugin("M.esm", 1, &["Y.esm", "X.esm"], 0);
            let world = world.plugin("X.esm", 1, &[], 0).plugin("Y.esm", 1, &[], 0);
            world.lines(&["*M.esm", "*X.esm", "*Y.esm"])
        },
    },
    Row {
        ours: &["A.esp", "B.esm", "C.esm"],
        theirs: &["B.esm", "A.esp", "C.esm"],
        reason: "a chain of plugins that need each other: where times give the order it moves each once, by its old place, and \
                 leaves A.esp behind B.esm, which needs it",
        world: || {
            let world = World::of("oblivion").plugin("C.esm", 1, &["B.esm"], 0);
            let world = world.plugin("B.esm", 1, &["A.esp"], 1).plugin("A.esp", 0, &[], 2);
            world.lines(&["A.esp", "B.esm", "C.esm"])
        },
    },
    Row {
        ours: &["A.esp", "B.esm", "C.esm"],
        theirs: &["C.esm", "A.esp", "B.esm"],
        reason: "it inserts a master before the first plugin that is none, even if that was moved before another master",
        world: || {
            let world = World::of("skyrim").plugin("B.esm", 1, &["A.esp"], 0);
            let world = world.plugin("A.esp", 0, &[], 0).plugin("C.esm", 1, &[], 0);
            world.lines(&["B.esm", "A.esp", "C.esm"])
        },
    },
    Row {
        ours: &["Needed.esm", "First.esm", "Second.esm"],
        theirs: &["Needed.esm", "Second.esm", "First.esm"],
        reason: "it places early plugins by their number, which is wrong once another was moved before one of them",
        world: || {
            let world = World::of("skyrimse").plugin("First.esm", 1, &["Needed.esm"], 0);
            let world = world.plugin("Needed.esm", 1, &[], 1).plugin("Second.esm", 1, &[], 2);
            World {
                ccc: Some(vec!["First.esm".into(), "Second.esm".into()]),
                ..world.lines(&["*First.esm", "*Needed.esm"])
            }
        },
    },
    Row {
        ours: &["N.esm", "A.esm", "B.esm"],
        theirs: &["A.esm", "N.esm", "B.esm"],
        reason: "it moves what a blueprint needs behind another blueprint; blueprints load after all others",
        world: || {
            let world = World::of("starfield").plugin("A.esm", 0x801, &[], 0);
            let world = world.plugin("B.esm", 0x801, &["N.esm"], 0).plugin("N.esm", 1, &[], 0);
            world.lines(&["*A.esm", "*B.esm", "*N.esm"])
        },
    },
];
