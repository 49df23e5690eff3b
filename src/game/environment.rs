//! What of the process's environment says where a user's files are.

use std::path::PathBuf;

/// Folders of the user. Tests make one of a temporary folder.
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
}

impl Environment {
    /// That of this process. Without `$HOME`, as services and `mount -a` are started, the home is that of the list of users.
    pub fn of_process() -> Self {
        // Relative to the current folder would be anybody's; users without a home have `/`.
        let home = std::env::home_dir().filter(|home| home.is_absolute()).unwrap_or_else(|| "/".into());
        Self {
            xdg_data_home: xdg("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share")),
            xdg_config_home: xdg("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            user: std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default(),
            home,
        }
    }

    /// The defaults below a home.
    pub fn of_home(home: impl Into<PathBuf>, user: &str) -> Self {
        let home = home.into();
        let (xdg_data_home, xdg_config_home) = (home.join(".local/share"), home.join(".config"));
        Self { home, xdg_data_home, xdg_config_home, user: user.to_owned() }
    }
}

/// A folder that a variable names; the specification has relative ones ignored.
fn xdg(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
