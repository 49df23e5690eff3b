//! What a page shows, without its HTML.

use crate::answers::fate::Fate;
use crate::answers::order_changes::Listing;
use crate::kinds::{self, What};
use crate::vfs::VfsFile;

/// What a page shows, in its order.
pub(crate) struct Contents {
    pub(crate) head: PageHead,
    /// Lists of mods, plugins and reasons. Open ones come before the parts, closed ones after them.
    pub(crate) lists: Vec<NameList>,
    pub(crate) parts: Vec<Part>,
    /// The layers, lowest first. Empty if there are none to compare.
    pub(crate) layers: Vec<LayerBar>,
    /// How the user makes a page of fewer files.
    pub(crate) narrowing: &'static str,
}

/// What a page is about, and what its reader wants to know first.
pub(crate) struct PageHead {
    pub(crate) title: String,
    /// The sources. The date and the version of the program are added.
    pub(crate) line: String,
    /// A name and a text for each fact.
    pub(crate) facts: Vec<(&'static str, String)>,
}

/// Lines below one title. Without lines, nothing is shown.
pub(crate) struct NameList {
    pub(crate) id: &'static str,
    pub(crate) heading: &'static str,
    pub(crate) is_closed: bool,
    /// What became of a name, the name, and what is said of it.
    pub(crate) lines: Vec<(Option<Listing>, String, String)>,
}

/// Sections below one title.
pub(crate) struct Part {
    pub(crate) id: &'static str,
    pub(crate) heading: &'static str,
    /// A sentence that explains the sections, or nothing.
    pub(crate) about: &'static str,
    /// Whether the reader knows what it says, so that it begins closed.
    pub(crate) is_closed: bool,
    pub(crate) sections: Vec<Section>,
}

/// A layer with its numbers of files.
pub(crate) struct LayerBar {
    pub(crate) name: String,
    pub(crate) winning: usize,
    pub(crate) hidden: usize,
}

/// Files that belong together: those that one layer hides from another one, or those that were added.
pub(crate) struct Section {
    pub(crate) name: String,
    /// The name of the layer whose files are hidden.
    pub(crate) over: Option<String>,
    /// Sentences about the layers.
    pub(crate) about: Vec<String>,
    /// The number of files. There may be fewer rows: no more than a page has room for.
    pub(crate) files: usize,
    /// How many of them equal the file that hides them.
    pub(crate) equal: usize,
    /// If the user asked for one of the layers, whether it is the one that wins.
    pub(crate) wins: Option<bool>,
    /// Sorted by folder.
    pub(crate) rows: Vec<Row>,
}

/// One path, with its file or its two files.
pub(crate) struct Row {
    /// The path, as bytes are decoded; it is not escaped.
    pub(crate) path: String,
    pub(crate) sides: Vec<Side>,
    pub(crate) state: State,
    pub(crate) pixels: Pixels,
}

/// How the files of a row compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// They were not compared, or there is only one.
    Unknown,
    Equal,
    Different,
    /// One of them cannot be read.
    Unreadable,
    /// There is only the new one.
    Added,
    /// There is only the old one. If there is a copy of the new one, this became of it.
    Removed(Option<Fate>),
    /// There is only one, because this became of the other.
    Other(Fate),
}

/// One of the files of a row.
pub(crate) struct Side {
    /// What the file is in the row, such as "hidden".
    pub(crate) role: &'static str,
    /// The mod that has it, if the reader does not know that.
    pub(crate) of_mod: Option<String>,
    pub(crate) file: VfsFile,
}

/// What is done with the pixels of two textures besides their pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pixels {
    /// Nothing more.
    Shown,
    /// If both pictures are equal or only alpha differs, all pixels are compared.
    Compared,
    /// As [`Pixels::Compared`]. If the pixels differ, a third picture shows where.
    Subtracted,
}

impl Row {
    /// The folder of the path, empty at the top, and the name.
    pub(crate) fn folder_and_name(&self) -> (&str, &str) {
        self.path.rsplit_once('/').unwrap_or(("", &self.path))
    }

    /// Whether the files are textures, by their name.
    pub(crate) fn is_texture(&self) -> bool {
        self.kind().is_some_and(|kind| kind.id == 't')
    }

    /// What the files are, by their name.
    pub(crate) fn kind(&self) -> Option<&'static RowKind> {
        let what = kinds::kind_of(&self.path)?.what;
        ROW_KINDS.iter().find(|kind| kind.all.contains(&what))
    }
}

/// A kind of files that a reader may want to see alone.
pub(crate) struct RowKind {
    /// The letter that stands for it in the page.
    pub(crate) id: char,
    pub(crate) name: &'static str,
    all: &'static [What],
}

/// The kinds. Other files have the letter `o`.
pub(crate) static ROW_KINDS: [RowKind; 4] = [
    RowKind { id: 't', name: "textures", all: &[What::Texture] },
    RowKind { id: 'm', name: "meshes", all: &[What::Mesh, What::Morph, What::Animation, What::Geometry] },
    RowKind { id: 'c', name: "scripts", all: &[What::Script, What::ScriptSource] },
    RowKind { id: 's', name: "sounds", all: &[What::Sound] },
];
