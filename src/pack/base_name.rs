//! After which plugin archives are called.

use super::error::{PackError, PackErrorKind};
use super::pack_options::PackOptions;
use super::rules::Loads;
use super::source::SourceFile;
use crate::game::stem;

/// The plugins at the top of the source that load archives, and what archives are called after.
pub(super) struct BaseName {
    pub(super) name: String,
    plugins: Vec<String>,
}

impl BaseName {
    /// The name that the user gave, or that of the only plugin.
    pub(super) fn find(files: &[SourceFile], options: &PackOptions) -> Result<Self, PackError> {
        let game = options.game;
        let at_top = |file: &SourceFile| {
            let path = String::from_utf8_lossy(&file.path).into_owned();
            let (stem, extension) = path.rsplit_once('.')?;
            let loads = game.plugins.iter().any(|known| known.eq_ignore_ascii_case(extension));
            (loads && !stem.contains('/')).then_some(path.clone())
        };
        let plugins: Vec<String> = files.iter().filter_map(at_top).collect();
        if options.file_name.is_some() {
            // The file has its whole name.
            return Ok(Self { name: String::new(), plugins });
        }
        if let Some(name) = &options.name {
            if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
                let what =
                    format!("--name \"{}\": no file of a game can have this name", name.escape_debug());
                return Err(PackError::new(PackErrorKind::Option, what));
            }
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

    /// The plugin of this name.
    pub(super) fn plugin(&self, name: &str) -> Option<&str> {
        self.plugins.iter().map(String::as_str).find(|plugin| stem(plugin).eq_ignore_ascii_case(name))
    }
}
