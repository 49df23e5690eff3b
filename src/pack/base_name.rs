//! After which plugin archives are called.

use super::error::{PackError, PackErrorKind};
use super::pack_options::PackOptions;
use super::rules::Loads;
use crate::game::stem;
use crate::shown::Shown;

/// The plugins at the top of the source that load archives, and what archives are called after.
pub(super) struct BaseName {
    pub(super) name: String,
    plugins: Vec<String>,
}

impl BaseName {
    /// The name that the user gave, or that of the only plugin.
    /// `at_top` has the files at the top of the sources, whether or not they are selected.
    pub(super) fn find(at_top: &[String], options: &PackOptions) -> Result<Self, PackError> {
        let game = options.game;
        let loads = |name: &&String| {
            let extension = name.rsplit_once('.').map_or("", |it| it.1);
            !name.starts_with('.') && game.plugins.iter().any(|known| known.eq_ignore_ascii_case(extension))
        };
        let plugins: Vec<String> = at_top.iter().filter(loads).cloned().collect();
        if let Some(name) = &options.file_name {
            let endings = game.textures.map(|it| it.1).into_iter().chain([game.main_ending]);
            let name = endings.into_iter().find_map(|end| name.strip_suffix(end)).unwrap_or(stem(name));
            refuse_unfit("-o", name)?;
            refuse_ending("-o", name, options)?;
            return Ok(Self { name: name.to_owned(), plugins });
        }
        if let Some(name) = &options.name {
            refuse_unfit("--name", name)?;
            refuse_ending("--name", name, options)?;
            return Ok(Self { name: name.clone(), plugins });
        }
        let mut names: Vec<&str> = plugins.iter().map(|plugin| stem(plugin)).collect();
        names.sort_by_key(|name| name.to_ascii_lowercase());
        names.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
        match &names[..] {
            [name] => Ok(Self { name: (*name).to_owned(), plugins: plugins.clone() }),
            _ => {
                let endings: Vec<String> = game.plugins.iter().map(|ending| format!(".{ending}")).collect();
                let found = if names.is_empty() {
                    format!("the source has no plugin ({}) at its top", endings.join(", "))
                } else {
                    "the source has several plugins".to_owned()
                };
                let why = match game.loads {
                    Loads::Plugin => "the game loads an archive that is called after a plugin",
                    Loads::Line(_) => "an archive needs a name",
                };
                let what = format!("{found}, and {why}; name it with --name");
                Err(PackError::list(PackErrorKind::Option, &what, &plugins))
            }
        }
    }

    /// The plugin whose name an archive's begins with, as Oblivion and the first games of Fallout attach it.
    pub(super) fn plugin_before(&self, archive: &str) -> Option<&str> {
        let archive = archive.to_lowercase();
        let plugins = self.plugins.iter().map(String::as_str);
        plugins.filter(|plugin| archive.starts_with(&stem(plugin).to_lowercase())).min()
    }

    /// The plugin of this name.
    pub(super) fn plugin(&self, name: &str) -> Option<&str> {
        self.plugins.iter().map(String::as_str).find(|plugin| stem(plugin).eq_ignore_ascii_case(name))
    }
}

/// Fails if Windows, for which games are made, can have no file of a name.
fn refuse_unfit(option: &str, name: &str) -> Result<(), PackError> {
    let start = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let is_numbered = |device: &str| {
        let number = start.strip_prefix(device).and_then(|number| number.parse::<char>().ok());
        number.is_some_and(|number| number.is_ascii_digit() || "¹²³".contains(number))
    };
    let is_device = ["con", "prn", "aux", "nul", "conin$", "conout$"].contains(&&*start)
        || is_numbered("com")
        || is_numbered("lpt");
    let is_bad = |it: char| it.is_control() || r#"/\:*?"<>|"#.contains(it);
    let is_unfit = name.is_empty()
        || is_device
        || name.contains(is_bad)
        || name.starts_with('.')
        || name.ends_with([' ', '.']);
    if !is_unfit {
        return Ok(());
    }
    let what = format!(
        "{option} \"{}\": no file of a game can have this name, because Windows cannot have it; give another",
        name.escape_debug()
    );
    Err(PackError::new(PackErrorKind::Option, what))
}

/// Fails if a name ends like a file of a game, because no plugin is called `MyMod.esp.esp`.
fn refuse_ending(option: &str, name: &str, options: &PackOptions) -> Result<(), PackError> {
    let extension = name.rsplit_once('.').map_or("", |it| it.1).to_ascii_lowercase();
    if options.any_path || !["esp", "esm", "esl", "bsa", "ba2"].contains(&&*extension) {
        return Ok(());
    }
    let (shown, stem) = (name.shown(), stem(name).shown());
    let what = format!(
        "{option} {shown}: the game would load such an archive only with a plugin called {shown}.esp; \
         give the name without .{extension}: {stem} (--any-path takes it as it is)"
    );
    Err(PackError::new(PackErrorKind::Option, what))
}
