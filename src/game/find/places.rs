//! The places where launchers, mod managers and users keep games, prefixes and instances: a row for each.

use std::path::{Path, PathBuf};

use super::candidate::{GameCandidate, Report};
use super::habits::{folders_in, games_in, in_prefix};
use super::{launchers, own_places, steam};
use crate::game::installation::Environment;

/// A place in a user's home.
#[derive(Clone, Copy, Debug)]
struct LauncherPlace {
    /// The launcher, mod manager or habit that the place belongs to.
    launcher: &'static str,
    base: Base,
    path: &'static str,
    holds: Holds,
}

/// The folder that the path of a place begins in.
#[derive(Clone, Copy, Debug)]
enum Base {
    Home,
    /// `$XDG_DATA_HOME`.
    Data,
    /// `$XDG_CONFIG_HOME`.
    Config,
}

/// What is in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// Steam's own folder, which lists libraries and shortcuts.
    Steam,
    /// The settings of Heroic, which list games.
    Heroic,
    /// The settings of Legendary, which Rare shares.
    Legendary,
    /// Lutris's settings of each game.
    Lutris,
    /// The folder that has the folder of bottles, and the settings of Bottles.
    Bottles,
    /// Faugus's list of games.
    Faugus,
    /// The settings of mo2-lint, which list instances.
    Mo2Lint,
    /// The settings of Fluorine, which name a prefix.
    Fluorine,
    /// The list that the user keeps for bsafs.
    OwnPlaces,
    /// A folder whose subfolders may each be a game.
    Games,
    /// A prefix.
    Prefix,
    /// A folder whose subfolders may each be a prefix.
    Prefixes,
    /// Instances of Mod Organizer 2, this many levels deep.
    Instances(u8),
}

/// All places. The launcher that installed a game knows most about it, so lists come before habits.
const PLACES: &[LauncherPlace] = &[
    row("bsafs", Base::Config, "bsafs", Holds::OwnPlaces),
    row("Steam", Base::Data, "Steam", Holds::Steam),
    row("Steam", Base::Home, ".local/share/Steam", Holds::Steam),
    row("Steam", Base::Home, ".steam/steam", Holds::Steam),
    row("Steam", Base::Home, ".steam/root", Holds::Steam),
    row("Steam", Base::Home, ".steam/debian-installation", Holds::Steam),
    row("Steam", Base::Home, ".var/app/com.valvesoftware.Steam/.local/share/Steam", Holds::Steam),
    row("Steam", Base::Home, ".var/app/com.valvesoftware.Steam/data/Steam", Holds::Steam),
    row("Steam", Base::Home, "snap/steam/common/.local/share/Steam", Holds::Steam),
    row("Heroic", Base::Config, "heroic", Holds::Heroic),
    row("Heroic", Base::Home, ".var/app/com.heroicgameslauncher.hgl/config/heroic", Holds::Heroic),
    row("Heroic", Base::Config, "heroic-games-launcher", Holds::Heroic),
    row(
        "Heroic",
        Base::Home,
        ".var/app/com.heroicgameslauncher.hgl/config/heroic-games-launcher",
        Holds::Heroic,
    ),
    row("Heroic", Base::Home, "snap/heroic/current/.config/heroic", Holds::Heroic),
    row("Legendary", Base::Config, "legendary", Holds::Legendary),
    row("Lutris", Base::Config, "lutris/games", Holds::Lutris),
    row("Lutris", Base::Data, "lutris/games", Holds::Lutris),
    row("Lutris", Base::Home, ".var/app/net.lutris.Lutris/config/lutris/games", Holds::Lutris),
    row("Lutris", Base::Home, ".var/app/net.lutris.Lutris/data/lutris/games", Holds::Lutris),
    row("Bottles", Base::Data, "bottles", Holds::Bottles),
    row("Bottles", Base::Home, ".var/app/com.usebottles.bottles/data/bottles", Holds::Bottles),
    row("Faugus", Base::Data, "faugus-launcher", Holds::Faugus),
    row("Faugus", Base::Config, "faugus-launcher/prefixes", Holds::Prefixes),
    row("Faugus", Base::Home, "Faugus", Holds::Prefixes),
    row("Faugus", Base::Home, "Faugus", Holds::Games),
    row("umu", Base::Home, "Games/umu", Holds::Prefixes),
    row("mo2-lint", Base::Config, "mo2-lint", Holds::Mo2Lint),
    row("mo2-lint", Base::Config, "mo2-lint/instances", Holds::Instances(1)),
    row("SteamTinkerLaunch", Base::Config, "steamtinkerlaunch/mo2/compatdata", Holds::Prefix),
    row("Fluorine", Base::Config, "fluorine", Holds::Fluorine),
    row("Fluorine", Base::Home, launchers::INSTANCES[0], Holds::Instances(2)),
    row("Fluorine", Base::Home, launchers::INSTANCES[1], Holds::Instances(2)),
    row("Wine", Base::Home, ".wine", Holds::Prefix),
    row("Heroic", Base::Home, "Games/Heroic", Holds::Games),
    row("Heroic", Base::Home, "Games/Heroic/Prefixes", Holds::Prefixes),
    row("Heroic", Base::Home, "Games/Heroic/Prefixes/default", Holds::Prefixes),
    row("", Base::Home, "Games", Holds::Games),
    row("", Base::Home, "GOG Games", Holds::Games),
    row("", Base::Home, "games", Holds::Games),
    row("", Base::Home, "Games", Holds::Instances(3)),
    row("", Base::Home, "games", Holds::Instances(3)),
    row("", Base::Home, "GOG Games", Holds::Instances(2)),
    row("", Base::Home, "", Holds::Instances(1)),
];

const fn row(launcher: &'static str, base: Base, path: &'static str, holds: Holds) -> LauncherPlace {
    LauncherPlace { launcher, base, path, holds }
}

/// Searches all places. Returns the folders that may hold a game, the likeliest first.
pub(super) fn candidates(environment: &Environment, report: &mut Report<'_>) -> Vec<GameCandidate> {
    let mut candidates = Vec::new();
    for place in PLACES {
        report.launcher = place.launcher;
        candidates.extend(in_place(place.holds, &place.folder(environment), environment, report));
    }
    candidates
}

/// Searches a folder that contains games, prefixes or a launcher's lists.
fn in_place(
    holds: Holds,
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<GameCandidate> {
    if let Holds::Instances(depth) = holds {
        report.instances.push((folder.to_owned(), depth));
        return Vec::new();
    }
    if !report.searched.iter().any(|it| it == folder) {
        report.searched.push(folder.to_owned());
    }
    if !report.is_new(&format!("{holds:?}"), folder) {
        return Vec::new();
    }
    match holds {
        Holds::Steam => steam::candidates(folder, environment, report),
        Holds::Heroic => launchers::of_heroic(folder, environment, report),
        Holds::Legendary => launchers::of_legendary(folder, environment, report),
        Holds::Lutris => launchers::of_lutris(folder, environment, report),
        Holds::Bottles => launchers::of_bottles(folder, environment, report),
        Holds::Faugus => launchers::of_faugus(folder, environment, report),
        Holds::Mo2Lint => launchers::of_mo2_lint(folder, environment, report),
        Holds::Fluorine => {
            launchers::add_prefix(folder, environment, report);
            Vec::new()
        }
        Holds::OwnPlaces => own_places::candidates(folder, environment, report),
        Holds::Games => games_in(folder, environment, report),
        Holds::Prefix => in_prefix(folder, report),
        Holds::Prefixes => {
            folders_in(report.disk, folder).iter().flat_map(|it| in_prefix(it, report)).collect()
        }
        Holds::Instances(_) => Vec::new(),
    }
}

impl LauncherPlace {
    fn folder(&self, environment: &Environment) -> PathBuf {
        match self.base {
            Base::Home => environment.home.join(self.path),
            Base::Data => environment.xdg_data_home.join(self.path),
            Base::Config => environment.xdg_config_home.join(self.path),
        }
    }
}
