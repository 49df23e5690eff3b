//! Random installations that avoid the known differences of [`crate::libloadorder_differences`].

use crate::games::Game;
use crate::installations::{Plugin, TestInstallation};
use crate::support::content::Xorshift;

/// A generator of random installations.
pub(crate) struct Random(pub(crate) Xorshift);

impl Random {
    pub(crate) fn installation(&mut self, game: &'static Game) -> TestInstallation {
        let mut installation = TestInstallation::of(game.id);
        for name in self.names(game) {
            let flags = *self.one_of(game.flags);
            // In the games' own plugins, the master flag is set if and only if the extension is `.esm`.
            let is_own = game.own.contains(&name.as_str());
            let flags = if is_own { u32::from(name.ends_with(".esm")) } else { flags };
            let time = self.below(4);
            installation.plugins.push(Plugin { name, flags, masters: Vec::new(), time });
        }
        let mut names: Vec<String> = installation.plugins.iter().map(|it| it.name.clone()).collect();
        names.push("Gone.esp".to_owned());
        self.add_masters(&mut installation, &names);
        installation.lines = self.plugin_lines(game, &names);
        if game.ccc.is_some() {
            // The `.ccc` files that come with the games list only masters with ASCII names, whose
            // own masters come earlier.
            let is_plain = |it: &&Plugin| it.is_master(game) && it.name.is_ascii() && it.masters.is_empty();
            let masters = installation.plugins.iter().filter(is_plain);
            let masters: Vec<String> = masters.map(|it| it.name.clone()).chain(["Gone.esl".into()]).collect();
            installation.ccc = self.chance(2).then(|| self.some_of(&masters, 4));
            installation.users_ccc = self.chance(4).then(|| self.some_of(&masters, 2));
        }
        if game.ini.is_some() && self.chance(4) {
            installation.tests = self.some_of(&names, 3);
        }
        if game.id == "falloutnv" {
            let nams = names.iter().map(|it| format!("{}.nam", it.rsplit_once('.').unwrap().0));
            let mut nams: Vec<String> = nams.collect();
            nams.dedup();
            installation.others = self.some_of(&nams, 2);
            installation.others.sort();
            installation.others.dedup();
        }
        installation
    }

    /// Gives some plugins masters.
    ///
    /// To avoid the differences of [`crate::libloadorder_differences`], a master needs at most one plugin,
    /// which itself needs none. If a list gives the order, the needed plugin is a master too. A
    /// blueprint needs only blueprints.
    fn add_masters(&mut self, installation: &mut TestInstallation, names: &[String]) {
        let has_times = matches!(installation.game.id, "morrowind" | "oblivion" | "fallout3" | "falloutnv");
        let mut needed: Vec<String> = Vec::new();
        for at in 0..installation.plugins.len() {
            let name = installation.plugins[at].name.clone();
            // The games' own plugins need no plugin that loads later.
            if !self.chance(3) || installation.game.own.contains(&&*name) || needed.contains(&name) {
                continue;
            }
            let plugin = &installation.plugins[at];
            if !plugin.is_master(installation.game) {
                installation.plugins[at].masters = self.some_of(names, 3);
                continue;
            }
            let is_fit = |it: &&Plugin| {
                let is_early = has_times || it.is_master(installation.game);
                it.masters.is_empty() && is_early && (it.is_blueprint() || !plugin.is_blueprint())
            };
            let fit = installation.plugins.iter().filter(is_fit).map(|it| it.name.clone());
            let fit: Vec<String> = fit.filter(|it| *it != name).chain(["Gone.esm".into()]).collect();
            let masters = self.some_of(&fit, 1);
            needed.extend_from_slice(&masters);
            installation.plugins[at].masters = masters;
        }
    }

    /// Names of some of the game's own plugins and of others, in random order.
    pub(crate) fn names(&mut self, game: &Game) -> Vec<String> {
        const STEMS: [&str; 12] = [
            "Alpha",
            "alpine",
            "_under",
            "[Set] a",
            "Zeta",
            "zeta 2",
            "Mod - B",
            "Mod",
            "Gr\u{F6}\u{DF}e",
            "\u{C4}nderung",
            "m.d",
            "BlueprintShips-Zeta",
        ];
        let mut names: Vec<String> = game.own.iter().map(|it| (*it).to_owned()).collect();
        names.retain(|_| self.chance(2));
        for stem in STEMS {
            if self.chance(3) {
                names.push(format!("{stem}{}", self.one_of(game.extensions)));
            }
        }
        self.shuffle(&mut names);
        names
    }

    /// Random lines of `Plugins.txt`.
    fn plugin_lines(&mut self, game: &Game, names: &[String]) -> Vec<String> {
        let has_stars = game.ccc.is_some();
        let mut lines = self.list(names);
        if has_stars {
            for line in &mut lines {
                if !line.starts_with('#') && !line.is_empty() && !self.chance(4) {
                    line.insert(0, '*');
                }
            }
        }
        if game.id == "morrowind" {
            lines.retain(|line| !line.is_empty() && !line.starts_with('#'));
        }
        lines
    }

    /// Some names in random order, sometimes with a comment, a blank line or a repeated name.
    fn list(&mut self, names: &[String]) -> Vec<String> {
        let mut lines = self.some_of(names, names.len());
        for line in ["# a comment".to_owned(), String::new(), lines.first().cloned().unwrap_or_default()] {
            if self.chance(6) {
                let at = self.below(lines.len() as u64 + 1) as usize;
                lines.insert(at, line);
            }
        }
        lines
    }

    /// At most `most` of the names, in random order, each once.
    pub(crate) fn some_of(&mut self, names: &[String], most: usize) -> Vec<String> {
        let mut some = names.to_vec();
        self.shuffle(&mut some);
        some.truncate(self.below(most as u64 + 1) as usize);
        some
    }

    pub(crate) fn shuffle(&mut self, names: &mut [String]) {
        for at in (1..names.len()).rev() {
            names.swap(at, self.below(at as u64 + 1) as usize);
        }
    }

    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }

    /// True with a probability of 1 in `n`.
    fn chance(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.0.next() >> 20) % limit
    }
}
