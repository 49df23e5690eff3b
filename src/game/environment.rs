//! The parts of the process environment that locate a user's files.

use std::path::PathBuf;

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
