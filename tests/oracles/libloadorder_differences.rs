//! Known differences between bsafs's order of plugins and libloadorder's, and their reasons.

use crate::installations::TestInstallation;

/// A difference between the two orders.
pub(crate) struct Row {
    /// The active plugins in bsafs's order.
    pub(crate) ours: &'static [&'static str],
    /// The active plugins in libloadorder's order.
    pub(crate) theirs: &'static [&'static str],
    /// Why bsafs keeps its order.
    pub(crate) reason: &'static str,
    /// An installation that shows the difference.
    pub(crate) installation: fn() -> TestInstallation,
}

/// All known differences. Random installations avoid them.
pub(crate) const DIFFERENCES: &[Row] = &[
    Row {
        ours: &[],
        theirs: &["A.esp"],
        reason: "it renames a listed ghost and so activates it, but the game does not find it",
        installation: || TestInstallation::of("oblivion").plugin("A.esp.ghost", 0, &[], 0).lines(&["A.esp"]),
    },
    Row {
        ours: &["A.esp"],
        theirs: &[],
        reason: "it opens files by the listed names, and Linux distinguishes case, but Wine does not",
        installation: || TestInstallation::of("skyrimse").plugin("A.esp", 0, &[], 0).lines(&["*a.ESP"]),
    },
    Row {
        ours: &["A.esp"],
        theirs: &[],
        reason: "it keeps blanks at the end of the name, but Windows drops them",
        installation: || TestInstallation::of("oblivion").plugin("A.esp", 0, &[], 0).lines(&["A.esp "]),
    },
    Row {
        ours: &["A.esp"],
        theirs: &[],
        reason: "it leaves out files without a header; whether the games do so is unknown, and bsafs needs \
            the archives of these names",
        installation: || TestInstallation {
            others: vec!["A.esp".into()],
            ..TestInstallation::of("oblivion").lines(&["A.esp"])
        },
    },
    Row {
        ours: &["B.esp", "A.esp"],
        theirs: &["A.esp", "B.esp"],
        reason: "it prefers loadorder.txt, which only tools read and keep equal to plugins.txt",
        installation: || TestInstallation {
            load_order: Some(vec!["A.esp".into(), "B.esp".into()]),
            ..TestInstallation::of("skyrim")
                .plugin("A.esp", 0, &[], 0)
                .plugin("B.esp", 0, &[], 0)
                .lines(&["B.esp", "A.esp"])
        },
    },
    Row {
        ours: &["X.esp", "Y.esp", "M.esm"],
        theirs: &["Y.esp", "X.esp", "M.esm"],
        reason: "several plugins move before one master: it reverses their order if times give it and keeps \
            it if a list gives it; bsafs first loads the one that the master names last",
        installation: || {
            let installation = TestInstallation::of("oblivion").plugin("M.esm", 1, &["Y.esp", "X.esp"], 0);
            let installation = installation.plugin("X.esp", 0, &[], 0).plugin("Y.esp", 0, &[], 1);
            installation.lines(&["M.esm", "X.esp", "Y.esp"])
        },
    },
    Row {
        ours: &["Y.esm", "X.esm", "M.esm"],
        theirs: &["X.esm", "Y.esm", "M.esm"],
        reason: "as before, but with a list",
        installation: || {
            let installation = TestInstallation::of("skyrimse").plugin("M.esm", 1, &["X.esm", "Y.esm"], 0);
            let installation = installation.plugin("X.esm", 1, &[], 0).plugin("Y.esm", 1, &[], 0);
            installation.lines(&["*M.esm", "*X.esm", "*Y.esm"])
        },
    },
    Row {
        ours: &["A.esp", "B.esm", "C.esm"],
        theirs: &["B.esm", "A.esp", "C.esm"],
        reason: "a chain of plugins that need each other: if times give the order, it moves each once by its \
            old position and leaves A.esp after B.esm, which needs it",
        installation: || {
            let installation = TestInstallation::of("oblivion").plugin("C.esm", 1, &["B.esm"], 0);
            let installation = installation.plugin("B.esm", 1, &["A.esp"], 1).plugin("A.esp", 0, &[], 2);
            installation.lines(&["A.esp", "B.esm", "C.esm"])
        },
    },
    Row {
        ours: &["A.esp", "B.esm", "C.esm"],
        theirs: &["C.esm", "A.esp", "B.esm"],
        reason: "it inserts a master before the first plugin that is not a master, even if that plugin was \
            moved before another master",
        installation: || {
            let installation = TestInstallation::of("skyrim").plugin("B.esm", 1, &["A.esp"], 0);
            let installation = installation.plugin("A.esp", 0, &[], 0).plugin("C.esm", 1, &[], 0);
            installation.lines(&["B.esm", "A.esp", "C.esm"])
        },
    },
    Row {
        ours: &["Needed.esm", "First.esm", "Second.esm"],
        theirs: &["Needed.esm", "Second.esm", "First.esm"],
        reason: "it places early plugins by their position, which is wrong after another plugin was moved \
            before them",
        installation: || {
            let installation = TestInstallation::of("skyrimse").plugin("First.esm", 1, &["Needed.esm"], 0);
            let installation = installation.plugin("Needed.esm", 1, &[], 1).plugin("Second.esm", 1, &[], 2);
            TestInstallation {
                ccc: Some(vec!["First.esm".into(), "Second.esm".into()]),
                ..installation.lines(&["*First.esm", "*Needed.esm"])
            }
        },
    },
    Row {
        ours: &["N.esm", "A.esm", "B.esm"],
        theirs: &["A.esm", "N.esm", "B.esm"],
        reason: "it moves a plugin that a blueprint needs after another blueprint, but blueprints load after \
            all other plugins",
        installation: || {
            let installation = TestInstallation::of("starfield").plugin("A.esm", 0x801, &[], 0);
            let installation = installation.plugin("B.esm", 0x801, &["N.esm"], 0).plugin("N.esm", 1, &[], 0);
            installation.lines(&["*A.esm", "*B.esm", "*N.esm"])
        },
    },
];
