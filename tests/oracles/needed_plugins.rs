//! Random installations whose masters need several plugins that load later, or chains of them.
//!
//! Games load such plugins before the master. libloadorder's document (`load_order_mechanisms.md`)
//! says that each then loads "between the earliest master plugin that depends on it and the
//! preceding master plugin". It leaves open in which order several do, and libloadorder itself
//! reverses their old order if times give it, and keeps it if a list gives it. bsafs loads the one
//! first that the master's header names last, as a decompilation of Fallout: New Vegas does.
//!
//! The orders of bsafs must always be as the document says. Those of libloadorder are sorted into
//! [`Class`]es, whose sizes must not change.

use std::collections::HashMap;

use crate::games::{GAMES, Game};
use crate::installations::{Plugin, TestInstallation};
use crate::loadorder::orders;
use crate::random_installation::Random;
use crate::support::content::Xorshift;

/// Number of installations per game. With ten games, which move plugins, there are 240.
const INSTALLATIONS: u64 = 24;

/// How libloadorder's order compares with that of bsafs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Class {
    /// Both are equal.
    Equal,
    /// Both are as the document says, which leaves the order of several needed plugins open.
    Open,
    /// libloadorder's order contradicts its document: it applies moves one after the other, by positions that
    /// earlier moves changed.
    Contradicts,
}

/// An installation in which all plugins are active.
struct Tangle {
    installation: TestInstallation,
    /// Positions of the plugins if no master needed any.
    plain: HashMap<String, usize>,
}

impl Random {
    /// An installation in which all plugins are active, and in which plugins need any number of others.
    fn tangle(&mut self, game: &'static Game) -> TestInstallation {
        let mut installation = TestInstallation::of(game.id);
        // A plugin needs only plugins before it here, so none needs itself.
        for name in self.names(game) {
            let is_own = game.own.contains(&name.as_str());
            let flags = if is_own { u32::from(name.ends_with(".esm")) } else { *self.one_of(game.flags) };
            let others: Vec<String> = installation.plugins.iter().map(|it| it.name.clone()).collect();
            let masters = if is_own { Vec::new() } else { self.some_of(&others, 4) };
            let time = self.below(4);
            installation.plugins.push(Plugin { name, flags, masters, time });
        }
        let mut lines: Vec<String> = installation.plugins.iter().map(|it| it.name.clone()).collect();
        self.shuffle(&mut lines);
        let star = if game.ccc.is_some() { "*" } else { "" };
        installation.lines = lines.iter().map(|line| format!("{star}{line}")).collect();
        installation
    }
}

impl Tangle {
    fn new(installation: TestInstallation) -> Self {
        let mut without = installation.clone();
        without.plugins.iter_mut().for_each(|plugin| plugin.masters.clear());
        let plain = orders(&without);
        assert_eq!(plain.ours, plain.theirs, "{without:?}");
        let plain = plain.ours.into_iter().enumerate().map(|(at, name)| (name, at)).collect();
        Self { installation, plain }
    }

    /// The masters that need a plugin and can move it.
    fn dependents(&self, name: &str) -> impl Iterator<Item = &Plugin> {
        let (game, plugins) = (self.installation.game, &self.installation.plugins);
        let is_last = |it: &Plugin| it.is_master(game) && it.is_blueprint();
        let is_blueprint = is_last(plugins.iter().find(|it| it.name == name).unwrap());
        plugins.iter().filter(move |it| {
            it.is_master(game)
                && it.masters.iter().any(|master| master == name)
                && (is_last(it) || !is_blueprint)
        })
    }

    /// The plain position of the plugin before which a plugin loads, or its own.
    fn place(&self, name: &str) -> usize {
        let before = self.dependents(name).map(|it| self.place(&it.name)).min();
        before.unwrap_or(usize::MAX).min(self.plain[name])
    }

    fn is_moved(&self, name: &str) -> bool {
        self.place(name) < self.plain[name]
    }

    /// Whether an order is as libloadorder's document says.
    fn allows(&self, order: &[String]) -> bool {
        let at: HashMap<&str, usize> = order.iter().enumerate().map(|(at, it)| (it.as_str(), at)).collect();
        // Plugins that are not moved keep their order.
        let is_plain = order.iter().filter(|it| !self.is_moved(it)).is_sorted_by_key(|it| self.plain[it]);
        // A needed plugin loads before the masters that need it.
        let is_early =
            |name: &String| self.dependents(name).all(|it| at[name.as_str()] < at[it.name.as_str()]);
        // Between a moved plugin and its place, there are only other moved plugins.
        let is_close = |name: &String| {
            let after = order[at[name.as_str()]..].iter().find(|it| !self.is_moved(it));
            !self.is_moved(name) || after.is_some_and(|it| self.plain[it] == self.place(name))
        };
        order.len() == self.plain.len() && is_plain && order.iter().all(|it| is_early(it) && is_close(it))
    }
}

#[test]
fn plugins_that_masters_need_load_as_the_document_of_libloadorder_says() {
    let mut classes: HashMap<Class, usize> = HashMap::new();
    for game in GAMES.iter().filter(|game| game.id != "oblivion-remastered") {
        for seed in 0..INSTALLATIONS {
            let tangle = Tangle::new(Random(Xorshift::new(seed)).tangle(game));
            let orders = orders(&tangle.installation);
            assert!(
                tangle.allows(&orders.ours),
                "{}, seed {seed}: {:?} {orders:?}",
                game.id,
                tangle.installation
            );
            let class = match (orders.ours == orders.theirs, tangle.allows(&orders.theirs)) {
                (true, _) => Class::Equal,
                (false, true) => Class::Open,
                (false, false) => Class::Contradicts,
            };
            *classes.entry(class).or_default() += 1;
        }
    }
    let count = |class| classes.get(&class).copied().unwrap_or(0);
    let counts = [Class::Equal, Class::Open, Class::Contradicts].map(count);
    // If a new version of libloadorder changes the counts, read its order in the document again.
    assert_eq!((counts, counts.iter().sum::<usize>()), ([190, 26, 24], 240));
}
