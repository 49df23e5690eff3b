//! An installed game, and the user's overrides for it.

use std::path::PathBuf;
use std::time::SystemTime;

use super::disk::Disk;
use super::precedence::ArchiveRule;
use super::storefront::Storefront;
use super::titles::title::Title;

/// An installed game.
#[derive(Clone, Debug)]
pub struct Installation {
    pub title: &'static Title,
    /// The store that the copy comes from.
    pub store: Storefront,
    pub folder: PathBuf,
    /// The Wine prefix of the game: the folder that contains `drive_c`.
    pub prefix: Option<PathBuf>,
    /// The game's folder in `Documents/My Games`, if it exists.
    pub my_games: Option<PathBuf>,
    /// The game's folder in `AppData/Local`, if it exists.
    pub local: Option<PathBuf>,
    /// The game's language as the store names it, such as `german`.
    pub language: Option<String>,
    /// The prefixes that have the game's settings, the one that is used first. If the game has settings in
    /// none of its own, those of other programs.
    pub prefixes: Vec<WinePrefix>,
}

impl Installation {
    /// The Wine prefixes whose drives paths of the game's programs may be on.
    pub(crate) fn prefix_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.prefix.iter().cloned().chain(self.prefixes.iter().map(|it| it.folder.clone()))
    }

    /// The `.ccc` file that the game reads, which lists Creation Club plugins.
    pub(crate) fn creation_club(&self, disk: &Disk) -> Option<PathBuf> {
        let rules = Some(&self.title.plugins).filter(|it| !it.ccc.is_empty())?;
        let my_games = self.my_games.as_ref().filter(|_| rules.ccc_in_my_games);
        let of_user = my_games.and_then(|folder| disk.find_file(folder, rules.ccc));
        of_user.or_else(|| disk.find_file(&self.folder, rules.ccc))
    }
}

/// A Wine prefix that has the settings of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WinePrefix {
    /// The folder that contains `drive_c`.
    pub folder: PathBuf,
    /// The launcher that made it; empty if it is not known.
    pub launcher: &'static str,
    /// When a program last started in it.
    pub last_start: Option<SystemTime>,
    /// Whether the user's own list of places names it.
    pub is_named: bool,
    /// The game's folder in `Documents/My Games`, if it exists.
    pub my_games: Option<PathBuf>,
    /// The game's folder in `AppData/Local`, if it exists.
    pub local: Option<PathBuf>,
}

/// Settings from the user that replace what was found.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The Wine prefix: the folder that contains `drive_c`.
    pub prefix: Option<PathBuf>,
    /// INI files that replace the game's own, lowest first.
    pub inis: Vec<PathBuf>,
    pub plugins: Option<PathBuf>,
    pub precedence: Option<ArchiveRule>,
    pub mo2_profile: Option<String>,
}

// The parts of the process environment that locate a user's files.

/// Folders of the user. Tests point them at a temporary folder.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `$HOME`.
    pub home: PathBuf,
    /// `$XDG_DATA_HOME`, or `~/.local/share`.
    pub xdg_data_home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    pub xdg_config_home: PathBuf,
    /// The login name.
    pub user: String,
    /// The folder that has `etc`, `usr` and `var`: `/`.
    pub system: PathBuf,
}

/// Environment variable with another [`Environment::system`], so that tests do not find what is installed on
/// the machine that runs them. Only debug builds read it.
const SYSTEM: &str = "BSAFS_SYSTEM";

impl Environment {
    /// The environment of this process. Without `$HOME`, as in services and `mount -a`, the home
    /// comes from the user database.
    pub fn of_process() -> Self {
        // A relative home would depend on the current folder, which may be anybody's. Users without
        // a home get `/`.
        let home = std::env::home_dir().filter(|home| home.is_absolute()).unwrap_or_else(|| "/".into());
        Self {
            xdg_data_home: xdg("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share")),
            xdg_config_home: xdg("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            system: std::env::var_os(SYSTEM)
                .filter(|_| cfg!(debug_assertions))
                .map_or_else(|| "/".into(), PathBuf::from),
            user: std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default(),
            home,
        }
    }

    /// The default folders below a home.
    pub fn of_home(home: impl Into<PathBuf>, user: &str) -> Self {
        let home = home.into();
        let (xdg_data_home, xdg_config_home) = (home.join(".local/share"), home.join(".config"));
        Self { home, xdg_data_home, xdg_config_home, user: user.to_owned(), system: "/".into() }
    }
}

/// The folder that a variable names. The XDG specification says to ignore relative paths.
fn xdg(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
