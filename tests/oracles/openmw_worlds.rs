//! Settings of OpenMW that [`crate::openmw_log`] compares.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::Tes3;

/// Folders and settings of OpenMW.
pub(crate) struct World {
    pub(crate) name: &'static str,
    /// Whether the first settings are beside the program instead of in `/etc`.
    pub(crate) is_local: bool,
    /// Paths and contents of files. A path that ends with `/` is a folder; a path with ` -> ` is a link.
    /// `config/openmw` is the user's folder, and every content may contain [`World::FOLDER`].
    files: &'static [(&'static str, &'static str)],
}

impl World {
    /// Stands for the folder of the world.
    pub(crate) const FOLDER: &'static str = "{world}";

    /// The folder of the first settings.
    pub(crate) fn start(&self) -> &'static str {
        if self.is_local { "program" } else { "etc/openmw" }
    }

    /// Writes the world. The global settings are those of Debian, as far as they matter here.
    pub(crate) fn write(&self, folder: &Path) {
        for name in ["home", "config/openmw", "data/openmw", "etc/openmw", "1", "2", "3", "4", "5"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        let global = "data-local=\"?userdata?data\"\nuser-data=\"?userdata?\"\nconfig=\"?userconfig?\"\n";
        fs::write(folder.join("etc/openmw/openmw.cfg"), global).unwrap();
        for (path, content) in self.files {
            if let Some((link, target)) = path.split_once(" -> ") {
                symlink(target, folder.join(link)).unwrap();
                continue;
            }
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match path.extension().and_then(|it| it.to_str()) {
                Some("bsa" | "BSA") => fs::write(&path, Tes3::new().file("a.txt", "a").build()).unwrap(),
                Some("cfg") => {
                    fs::write(&path, content.replace(Self::FOLDER, folder.to_str().unwrap())).unwrap()
                }
                _ => fs::create_dir_all(&path).unwrap(),
            }
        }
    }

    /// The settings, for a message.
    pub(crate) fn settings(&self) -> String {
        let files = self.files.iter().filter(|(_, content)| !content.is_empty());
        files.map(|(path, content)| format!("# {path}\n{content}")).collect()
    }
}

const fn user(name: &'static str, files: &'static [(&'static str, &'static str)]) -> World {
    World { name, is_local: false, files }
}

const fn local(name: &'static str, files: &'static [(&'static str, &'static str)]) -> World {
    World { name, is_local: true, files }
}

/// The user's settings.
const CFG: &str = "config/openmw/openmw.cfg";
/// Settings beside the program.
const LOCAL: &str = "program/openmw.cfg";

pub(crate) const WORLDS: &[World] = &[
    user(
        "data and archives",
        &[
            (CFG, "data=\"{world}/1\"\ndata={world}/2\nfallback-archive=B.bsa\nfallback-archive=A.bsa\n"),
            ("1/A.bsa", ""),
            ("2/b.BSA", ""),
            ("data/openmw/data/", ""),
        ],
    ),
    user(
        "an archive in two folders",
        &[
            (CFG, "data={world}/1\ndata={world}/2\nfallback-archive=a.BSA\n"),
            ("1/a.BSA", ""),
            ("2/A.bsa", ""),
        ],
    ),
    user(
        "an archive listed twice",
        &[
            (CFG, "data={world}/1\nfallback-archive=A.bsa\nfallback-archive=B.bsa\nfallback-archive=A.bsa\n"),
            ("1/A.bsa", ""),
            ("1/B.bsa", ""),
        ],
    ),
    user(
        "a folder listed twice",
        &[
            (
                CFG,
                "data={world}/1\ndata={world}/2\ndata={world}/1\ndata={world}//2\nfallback-archive=A.bsa\n",
            ),
            ("1/A.bsa", ""),
            ("2/A.bsa", ""),
        ],
    ),
    user(
        "a folder in several spellings",
        &[(CFG, "data={world}/1\ndata={world}/2\ndata={world}/1/\ndata={world}/3\ndata={world}/3/../2\n")],
    ),
    user(
        "the local folder is also a data folder",
        &[
            (CFG, "data={world}/1\ndata={world}/2\ndata-local={world}/1\nfallback-archive=A.bsa\n"),
            ("1/A.bsa", ""),
            ("2/A.bsa", ""),
        ],
    ),
    user("a folder that does not exist", &[(CFG, "data={world}/none\ndata={world}/2\n")]),
    user(
        "quotes",
        &[
            (
                CFG,
                "data = \"{world}/1\" and more\ndata=\"{world}/a&&b\"\ndata={world}/c&d\n\
                 data=\"{world}/e&\"f\"\ndata={world}/g\"h\ndata=\"{world}/2&3\"\ndata=\"{world}/blank \"\n\
                 data='{world}/5'\n",
            ),
            ("a&b/", ""),
            ("c&d/", ""),
            ("e\"f/", ""),
            ("g\"h/", ""),
            ("23/", ""),
            ("blank /", ""),
        ],
    ),
    user(
        "a quoted archive is not found",
        &[(CFG, "data={world}/1\nfallback-archive=\"A.bsa\"\n"), ("1/A.bsa", "")],
    ),
    user(
        "comments and blanks",
        &[
            (
                CFG,
                " # data={world}/3\n\t#data={world}/4\n\tdata\t=\t{world}/1 \t\n\
                 data={world}/a # b\ndata={world}/c#d\n\nDATA={world}/5\nunknown=1\n",
            ),
            ("a # b/", ""),
            ("c#d/", ""),
        ],
    ),
    user("lines of Windows", &[(CFG, "data={world}/1\r\ndata=\"{world}/2\"\r\n")]),
    user("a byte order mark", &[(CFG, "\u{feff}data={world}/1\ndata={world}/2\n")]),
    user("a section", &[(CFG, "data={world}/1\n[Mods]\ndata={world}/2\n")]),
    user("a line without a key", &[(CFG, "data={world}/1\nnonsense\n")]),
    user("an open quote", &[(CFG, "data=\"{world}/1\n")]),
    user("a line without a value", &[(CFG, "data={world}/1\ndata=\ndata={world}/2\n")]),
    user("settings in another spelling", &[("config/openmw/OpenMW.cfg", "data={world}/1\n")]),
    user(
        "tokens",
        &[
            (
                CFG,
                "data=?userdata?own\ndata=\"?userconfig?own\"\ndata=?USERDATA?own\n\
                 data=?userdata?\ndata=own/?userdata?\ndata=~/own\ndata=$HOME/own\ndata=?userdata?/own\n",
            ),
            ("data/openmw/own/", ""),
            ("config/openmw/own/", ""),
            ("home/own/", ""),
        ],
    ),
    user(
        "relative paths",
        &[
            (CFG, "data=own\ndata=./own/../other\ndata=../../1\nfallback-archive=A.bsa\n"),
            ("config/openmw/own/", ""),
            ("config/openmw/other/A.bsa", ""),
        ],
    ),
    user(
        "relative to a link",
        &[
            (CFG, "config=../linked\n"),
            ("config/linked -> ../home/dotfiles/openmw", ""),
            ("home/dotfiles/openmw/openmw.cfg", "data=../mods\n"),
            ("home/dotfiles/mods/", ""),
            ("config/mods/", ""),
        ],
    ),
    user(
        "layers of settings",
        &[
            (CFG, "data={world}/1\nconfig={world}/a\nconfig=../b\n"),
            ("a/openmw.cfg", "data={world}/2\nfallback-archive=A.bsa\nconfig=../c\n"),
            ("config/b/openmw.cfg", "data={world}/3\ndata-local={world}/4\nfallback-archive=B.bsa\n"),
            ("c/openmw.cfg", "data=sub\nconfig={world}/a\n"),
            ("c/sub/A.bsa", ""),
            ("2/B.bsa", ""),
        ],
    ),
    user(
        "replaced data",
        &[
            (CFG, "data={world}/1\nfallback-archive=A.bsa\nconfig={world}/a\n"),
            ("a/openmw.cfg", "data={world}/2\nreplace=data\nconfig={world}/b\n"),
            ("b/openmw.cfg", "data={world}/3\nfallback-archive=B.bsa\n"),
            ("2/A.bsa", ""),
            ("3/B.bsa", ""),
        ],
    ),
    user(
        "replaced archives",
        &[
            (CFG, "data={world}/1\nfallback-archive=A.bsa\nconfig={world}/a\n"),
            ("a/openmw.cfg", "replace = fallback-archive\nreplace=\"data\"\nfallback-archive=B.bsa\n"),
            ("1/A.bsa", ""),
            ("1/B.bsa", ""),
        ],
    ),
    user(
        "replaced settings",
        &[
            (CFG, "data={world}/1\nconfig={world}/a\nconfig={world}/b\n"),
            ("a/openmw.cfg", "data={world}/2\nreplace=config\nconfig={world}/c\n"),
            ("b/openmw.cfg", "data={world}/3\n"),
            ("c/openmw.cfg", "data={world}/4\n"),
        ],
    ),
    user(
        "replaced in the first settings of the user",
        &[(CFG, "replace=data-local\nreplace=data\ndata={world}/1\n"), ("data/openmw/data/", "")],
    ),
    local(
        "beside the program",
        &[
            (
                LOCAL,
                "resources=./resources\nuser-data=?userdata?\ndata=?local?own\ndata=../1\n\
                 config=?userconfig?\n",
            ),
            ("program/resources/vfs/", ""),
            ("program/own/", ""),
            (CFG, "data={world}/2\ndata=?local?own\ndata-local={world}/3\n"),
        ],
    ),
    local(
        "beside the program and no other settings",
        &[
            (
                LOCAL,
                "resources=./resources\nuser-data=?userdata?\ndata={world}/1\ndata-local=?userdata?data\n",
            ),
            ("program/resources/vfs/", ""),
            ("data/openmw/data/", ""),
            (CFG, "data={world}/2\n"),
        ],
    ),
    local(
        "resources in the highest settings",
        &[
            (LOCAL, "resources=./resources\nuser-data=?userdata?\nconfig=?userconfig?\n"),
            ("program/resources/vfs/", ""),
            (CFG, "resources=\"../../resources\"\ndata={world}/1\n"),
            ("resources/vfs/A.bsa", ""),
        ],
    ),
];
