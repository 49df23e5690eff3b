//! Recognises the game in a folder, and its store, from files alone.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::game::caseless::{self, CaselessNames};
use crate::game::disk::Disk;
use crate::game::storefront::Storefront;
use crate::game::titles::TITLES;
use crate::game::titles::title::Title;

/// Maximum number of folders above an executable that may be the game's. Oblivion Remastered keeps
/// its executable three folders deep.
const LEVELS_MAX: usize = 4;

/// What a folder contains.
#[derive(Clone, Debug)]
pub(super) enum Recognised {
    Game {
        title: &'static Title,
        /// The folder that was checked, or a subfolder.
        folder: PathBuf,
        /// The language in the folder's name.
        language: Option<String>,
    },
    /// Files that look like a game. The text says what is missing.
    Incomplete(String),
    No,
}

/// Recognises the game in a folder. `expected` is the game that a launcher lists there.
pub(super) fn recognise(disk: &Disk, folder: &Path, expected: Option<&'static Title>) -> Recognised {
    let Some(mut contents) = Contents::read(disk, folder) else {
        return match expected {
            Some(title) => Recognised::Incomplete(format!("the folder of {} cannot be read", title.name)),
            None => Recognised::No,
        };
    };
    let mut missing = Vec::new();
    for title in TITLES {
        let lacks = Lacks::of(title, &mut contents);
        if lacks.is_nothing() {
            return Recognised::Game { title, folder: folder.to_owned(), language: None };
        }
        missing.push((title, lacks));
    }
    if let Some(game) = in_subfolder(disk, folder, &contents.names) {
        return game;
    }
    let what = |(title, lacks): (&Title, Lacks)| Recognised::Incomplete(lacks.what(title));
    // The launcher's list outweighs files that games share.
    if let Some(at) = expected.and_then(|it| missing.iter().position(|(title, _)| std::ptr::eq(*title, it))) {
        return what(missing.swap_remove(at));
    }
    missing.into_iter().find(|(_, lacks)| lacks.is_little()).map_or(Recognised::No, what)
}

/// The game whose folder this is.
pub(crate) fn game_in(disk: &Disk, folder: &Path) -> Option<&'static Title> {
    match recognise(disk, folder, None) {
        Recognised::Game { title, folder: found, .. } if found == folder => Some(title),
        _ => None,
    }
}

/// The game folder of an executable: the nearest folder above it with a game. If there is none but
/// the executable has a game's name, the nearest folder that looks like an incomplete game.
/// `recognise` is [`Report::recognise`](super::candidate::Report::recognise).
pub(super) fn game_folder(executable: &Path, recognise: impl Fn(&Path) -> Recognised) -> Option<PathBuf> {
    let above = || executable.ancestors().skip(1).take(LEVELS_MAX);
    let is_game = |folder: &&Path| matches!(recognise(folder), Recognised::Game { .. });
    let is_like_one = |folder: &&Path| matches!(recognise(folder), Recognised::Incomplete(_));
    let found =
        above().find(is_game).or_else(|| above().find(is_like_one).filter(|_| is_of_game(executable)));
    found.map(Path::to_owned)
}

/// Whether an executable has the name of a game's executable.
fn is_of_game(executable: &Path) -> bool {
    let name = executable.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_own = |path: &str| path.rsplit('/').next().is_some_and(|own| caseless::same(own, name));
    TITLES.iter().any(|title| title.identity.executables.iter().copied().any(is_own))
}

/// The names in a folder and its data folders. They may be many, so each is read only once.
struct Contents<'a> {
    disk: &'a Disk,
    folder: &'a Path,
    names: CaselessNames,
    data: Vec<(&'static str, PathBuf, CaselessNames)>,
    /// Data folders that the user may not read.
    unreadable: Vec<&'static str>,
}

impl<'a> Contents<'a> {
    fn read(disk: &'a Disk, folder: &'a Path) -> Option<Self> {
        Some(Self { disk, folder, names: disk.names(folder).ok()?, data: Vec::new(), unreadable: Vec::new() })
    }

    fn has(&self, path: &str) -> bool {
        self.has_start(path) && self.disk.find_file(self.folder, path).is_some()
    }

    /// Whether a path's first name exists. Most do not, so this check saves listing folders.
    fn has_start(&self, path: &str) -> bool {
        path.split('/').next().is_some_and(|first| self.names.get(first).is_some())
    }

    fn has_in_data(&mut self, title: &'static Title, name: &str) -> bool {
        let at = self.data.iter().position(|(data, ..)| *data == title.data).unwrap_or_else(|| {
            let path = Some(title.data).filter(|path| self.has_start(path));
            let path = path.and_then(|path| self.disk.find_folder(self.folder, path)).unwrap_or_default();
            let names = self.disk.names(&path).unwrap_or_else(|error| {
                if error.kind() == ErrorKind::PermissionDenied {
                    self.unreadable.push(title.data);
                }
                CaselessNames::default()
            });
            self.data.push((title.data, path, names));
            self.data.len() - 1
        });
        let (_, path, names) = &self.data[at];
        // A link of a mod manager may be dangling.
        names.get(name).is_some_and(|name| self.disk.is_file(&path.join(name)))
    }
}

/// The marks of a title that a folder lacks.
struct Lacks {
    executable: bool,
    also: Vec<&'static str>,
    masters: Vec<&'static str>,
    has_others: bool,
    has_masters: bool,
    /// Whether the data folder is unreadable, so that it is unknown what it lacks.
    is_unreadable: bool,
}

impl Lacks {
    fn of(title: &'static Title, contents: &mut Contents<'_>) -> Self {
        let identity = &title.identity;
        let mut masters = identity.masters.to_vec();
        masters.retain(|name| !contents.has_in_data(title, name));
        let has = |path: &&str| contents.has(path);
        Self {
            executable: !identity.executables.iter().any(has),
            also: identity.also.iter().copied().filter(|path| !has(path)).collect(),
            has_others: identity.without.iter().any(has),
            has_masters: masters.is_empty() && !identity.masters.is_empty(),
            masters,
            is_unreadable: contents.unreadable.contains(&title.data),
        }
    }

    fn is_nothing(&self) -> bool {
        !self.executable && self.also.is_empty() && self.masters.is_empty() && !self.has_others
    }

    /// Whether the folder looks like the title: it has all except the masters or the executable.
    fn is_little(&self) -> bool {
        self.also.is_empty() && !self.has_others && (self.has_masters || !self.executable)
    }

    fn what(&self, title: &Title) -> String {
        if self.is_unreadable {
            return format!(
                "it looks like {}, but you have no permission to read its folder {}",
                title.name, title.data
            );
        }
        let masters = self.masters.iter().map(|name| format!("{}/{name}", title.data));
        let mut names: Vec<String> = masters.chain(self.also.iter().map(|it| (*it).to_owned())).collect();
        if self.executable {
            names.extend(title.identity.executables.first().map(|it| (*it).to_owned()));
        }
        match &names[..] {
            [] => format!("it looks like {}, but contains files of another game", title.name),
            [name] => format!("it looks like {}, but {name} is missing", title.name),
            names => {
                format!("it looks like {}, but these files are missing: {}", title.name, names.join(", "))
            }
        }
    }
}

/// The game in a subfolder: one of several languages, English first, or Steam's subfolder.
fn in_subfolder(disk: &Disk, folder: &Path, names: &CaselessNames) -> Option<Recognised> {
    for title in TITLES {
        let identity = &title.identity;
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        if !identity.language_folder.is_empty() {
            let beginning = caseless::fold(&format!("{} ", identity.language_folder));
            for name in names.iter().filter(|name| caseless::fold(name).starts_with(&beginning)) {
                let language =
                    name.chars().skip(beginning.chars().count()).collect::<String>().to_lowercase();
                found.push((language, folder.join(name)));
            }
        }
        if names.get(identity.steam_subfolder).is_some() {
            found
                .extend(disk.find_folder(folder, identity.steam_subfolder).map(|path| (String::new(), path)));
        }
        found.sort_by_key(|(language, _)| language != "english");
        let is_title = |(_, path): &(String, PathBuf)| {
            Contents::read(disk, path)
                .is_some_and(|mut contents| Lacks::of(title, &mut contents).is_nothing())
        };
        if let Some((language, folder)) = found.into_iter().find(is_title) {
            let language = Some(language).filter(|it| !it.is_empty());
            return Some(Recognised::Game { title, folder, language });
        }
    }
    None
}

/// The store, recognised by files in the game's folder.
pub(super) fn store_of(disk: &Disk, title: &Title, folder: &Path) -> Storefront {
    let Ok(names) = disk.names(folder) else { return Storefront::Unknown };
    let has = |name: &str| names.get(name).is_some();
    let folded: Vec<String> = names.iter().map(caseless::fold).collect();
    let has_any = |start: &str, end: &str| folded.iter().any(|it| it.starts_with(start) && it.ends_with(end));
    let parent_has =
        |name: &str| folder.parent().is_some_and(|parent| disk.find_file(parent, name).is_some());
    match () {
        () if has_any("GOGGAME-", ".ICO") || has_any("GOGGAME-", ".INFO") || has("Galaxy64.dll") => {
            Storefront::Gog
        }
        () if has("EOSSDK-Win64-Shipping.dll")
            || has("EOSSDK-Win32-Shipping.dll")
            || has("FalloutLauncherEpic.exe") =>
        {
            Storefront::Epic
        }
        // If each language has a folder, the manifest is in their parent.
        () if has("appxmanifest.xml") || (is_in_parent(title) && parent_has("appxmanifest.xml")) => {
            Storefront::Microsoft
        }
        () if has("installscript.vdf") || has_any("STEAM_API", ".DLL") => Storefront::Steam,
        () => Storefront::Unknown,
    }
}

/// Whether the Microsoft Store keeps its manifest next to the game's folder, which is that of a language.
fn is_in_parent(title: &Title) -> bool {
    !title.identity.language_folder.is_empty()
}
