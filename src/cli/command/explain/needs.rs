//! `bsafs needs`: prints the textures and materials that meshes name, and which of them are missing.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::conflicts::{is_named, layers_named};
use crate::answers::fate::Fate;
use crate::answers::needs::{
    DEPTH_MAX, Line, Named, Needs, NeedsOf, find, is_scanned, is_scanned_path, needs,
};
use crate::answers::question::Question;
use crate::cli::command::write::extract::Extract;
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::mount_as_source::place_in_mount;
use crate::cli::options::named_sources::source_set;
use crate::cli::options::option_table::{AS_USER, OpenArgs};
use crate::cli::options::selection::{self, Selection, is_file_of_game, is_pattern};
use crate::cli::terminal::output::{ASIDE, Output, StyledWrite, WINNER};
use crate::cli::terminal::progress;
use crate::cli::terminal::shown_layers::ShownLayers;
use crate::cli::terminal::unseen::Unseen;
use crate::cli::ui::Ui;
use crate::format::is_archive_name;
use crate::game::is_data_folder;
use crate::kinds;
use crate::limits::NEEDS_FOLLOWED_MAX;
use crate::mesh::kind_of_name;
use crate::note::{Note, NoteCode};
use crate::shown::{Shown, quoted};
use crate::system::paths;
use crate::system::text::count;
use crate::tree::NodeId;
use crate::vfs::sources::profile::{Profile, is_game};
use crate::vfs::{Layout, Vfs, VfsFile, VfsLayer};

/// Print the textures and materials that meshes need, and which of them are missing
///
/// A mesh is purple or invisible if no mod, no archive and no folder of the game has a texture that it
/// names. The answer has a line for each file that a mesh names: the layer that it comes from, or
/// "missing". If a mesh names materials (BGSM, BGEM and Starfield's loose MAT) or other meshes, bsafs
/// reads these too.
///
/// Without paths, all meshes and materials of the sources are read. Names are compared as in the game:
/// ignoring case, below `textures`, with DDS for TGA and BMP, and without the folders of the machine on
/// which the mesh was made. A mesh can name a file that the engine does not use, such as a mask for an
/// effect that is off. bsafs marks such files only if the engine's rule is known; `bsafs help meshes`
/// lists them.
///
/// The exit status is 1 if a file is missing, if a mesh cannot be read, or if no file matches a pattern.
/// It is also 1 if the mod of --of has meshes or an archive that the game does not load. With --who, it is
/// 1 if no mesh or material names a path.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct AskNeeds {
    /// Sources (the rightmost wins), then paths or patterns of meshes in them, ignoring case
    #[arg(required_unless_present = "game_dir=", value_name = "SOURCE|PATH")]
    sources: Vec<PathBuf>,
    /// Print only what is missing
    #[arg(long)]
    missing: bool,
    /// Read the meshes and materials of this layer, even those that others hide
    ///
    /// LAYER is the name of a mod, folder or archive, or the end of its path, ignoring case. A mod is its
    /// folder and the archives in it.
    #[arg(long, value_name = "LAYER")]
    of: Option<String>,
    /// Print the meshes and materials that name the paths
    #[arg(long, conflicts_with_all = ["missing", "of", "extract"])]
    who: bool,
    /// Write the meshes and all that they need to this folder, each below its own path
    #[arg(long, value_name = "FOLDER", conflicts_with = "json")]
    extract: Option<PathBuf>,
    /// With --extract, replace existing files
    #[arg(long, requires = "extract")]
    overwrite: bool,
    /// Print one JSON object per line: a mesh or a material, or with --who a path
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    open: OpenArgs,
}

const EXAMPLES: &str = "\
Examples:
  bsafs needs skyrimse meshes/armor/iron/f/cuirass_1.nif
  bsafs needs ~/MO2 --missing --of MyMod          what the meshes of a mod lack
  bsafs needs skyrimse 'meshes/armor/**' --missing --json
  bsafs needs skyrimse meshes/clutter/bucket02a.nif --extract out
  bsafs needs skyrimse --who textures/armor/iron/f/cuirass.dds";

/// What a mesh or a material needs, as JSON.
#[derive(Serialize)]
struct FileLine {
    path: String,
    layer: String,
    needs: Vec<NeedLine>,
    /// Why the names are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<String>,
}

#[derive(Serialize)]
struct NeedLine {
    path: String,
    /// `there`, `missing` or `unneeded`.
    state: &'static str,
    /// The layer that has the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<String>,
    /// Why a file that is not there is not needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    /// The material or other mesh that names the file, if the mesh does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    material: Option<String>,
}

/// Who names a file, as JSON.
#[derive(Serialize)]
struct WhoLine {
    path: String,
    /// The layer that has the file; `None` if it is missing.
    layer: Option<String>,
    named_by: Vec<NamedBy>,
}

#[derive(Serialize)]
struct NamedBy {
    path: String,
    layer: String,
    /// The material or other mesh that names the file, if the mesh does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    material: Option<String>,
}

impl AskNeeds {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        Inquiry::run(self.json, |inquiry| self.answer(inquiry, ui))
    }

    fn answer(&self, inquiry: &mut Inquiry, ui: &Ui) -> Result<(), Failure> {
        let (arguments, sources) = whole_sources(&self.sources)?;
        let (sources, mut selected) = self.selection.split_at(&arguments, sources)?;
        let options = self.open.options().layout(Layout::Union);
        // Everybody may read what is extracted.
        let advice_to_root = self.extract.as_ref().map(|_| AS_USER);
        let vfs = Vfs::from(source_set(sources, options.advice_to_root(advice_to_root))?.open()?);
        let vfs = &vfs;
        let paths: Vec<&[u8]> = selected.paths().iter().map(|path| path.as_os_str().as_bytes()).collect();
        // A mesh names files anywhere, and any mesh may name a file.
        inquiry.unseen.add(vfs.unseen());
        if self.who {
            return self.who(vfs, &paths, inquiry);
        }
        let named = inquiry.select(&mut selected, vfs)?;
        // A file that the user named is read, whatever its extension.
        let asked: HashSet<NodeId> = paths.iter().filter_map(|path| Some(vfs.file(path)?.node())).collect();
        let mut files = self.copies(vfs, named, &mut inquiry.unseen)?;
        files.retain(|file| is_scanned(file) || asked.contains(&file.node()));
        if files.is_empty() && selected.is_limited() {
            let of = self.of.as_ref().map(|of| format!(" of {}", of.shown())).unwrap_or_default();
            let what = "is among the selected files; `bsafs list` prints all paths";
            return Err(Failure::new(Exit::No, format!("no mesh or material{of} {what}")));
        }
        files.sort_by_cached_key(|file| file.path_bytes().to_ascii_lowercase());
        let found = read(vfs, files);
        match &self.extract {
            Some(folder) => {
                if found.counts().1 > 0 || !found.is_whole() {
                    log::warn!("{}", summary(&found));
                } else if !ui.is_quiet {
                    writeln!(inquiry.out, "{}", summary(&found))?;
                    inquiry.out.flush()?;
                }
                let extract = Extract::into_folder(folder, self.overwrite);
                inquiry.set_exit(extract.write_files(vfs, found.all(vfs), folder, ui)?);
            }
            None => self.print(&ShownNeeds::new(vfs, &found), inquiry, ui)?,
        }
        if found.counts().1 > 0 || !found.is_whole() {
            inquiry.set_exit(Exit::No);
        }
        Ok(())
    }

    /// The files themselves, or the copies of them that the layer of `--of` has.
    fn copies(&self, vfs: &Vfs, files: Vec<VfsFile>, unseen: &mut Unseen) -> Result<Vec<VfsFile>, Failure> {
        let Some(of) = &self.of else { return Ok(files) };
        let mut notes = not_loaded(vfs);
        notes.retain(|note| {
            let place = Path::new(&note.subject);
            // The archives in the data folder of a game are not one mod.
            let of_mod = place
                .parent()
                .filter(|folder| is_archive_name(note.subject.as_bytes()) && !is_data_folder(folder));
            is_named(place, of) || of_mod.is_some_and(|folder| is_named(folder, of))
        });
        let is_asked = match layers_named(vfs, of) {
            // A mod can have nothing else than what the game does not load. Then its folder is no layer.
            Err(_) if !notes.is_empty() => vec![false; vfs.layers().len()],
            is_asked => is_asked?,
        };
        for note in notes {
            unseen.add_not_loaded(note);
        }
        let copies = files.into_iter().flat_map(|file| {
            let hidden: Vec<VfsFile> = file.hidden().collect();
            std::iter::once(file).chain(hidden)
        });
        Ok(copies.filter(|copy| is_asked[copy.layer().number()]).collect())
    }

    fn print(&self, answer: &ShownNeeds<'_>, inquiry: &mut Inquiry, ui: &Ui) -> Result<(), OutputError> {
        let found = answer.found;
        let (mut bytes, mut is_cut) = (0, false);
        for file in &found.files {
            let is_followed = bytes < NEEDS_FOLLOWED_MAX;
            is_cut |= !is_followed;
            let mut lines = found.lines(file, if is_followed { DEPTH_MAX } else { 0 });
            bytes += lines.iter().map(|line| answer.len_if_followed(line)).sum::<usize>();
            lines.retain(|line| !self.missing || matches!(line.need.found, Named::Missing(_)));
            if self.missing && lines.is_empty() && file.needs.is_ok() {
                continue;
            }
            if self.json {
                inquiry.out.json(&answer.json(file, &lines))?;
            } else if file.needs.is_ok() {
                inquiry.out.text(|out| answer.write(out, file, &lines))?;
            }
        }
        if !self.json && !ui.is_quiet {
            writeln!(inquiry.out, "{}", summary(found))?;
        }
        if is_cut {
            log::error!("{TOO_MANY}");
            inquiry.set_exit(Exit::No);
        }
        Ok(())
    }

    /// Prints which meshes and materials name paths.
    fn who(&self, vfs: &Vfs, paths: &[&[u8]], inquiry: &mut Inquiry) -> Result<(), Failure> {
        let mut targets = Vec::new();
        for path in paths {
            let target = find(vfs, path).ok_or_else(|| {
                let what = "meshes name no files of this kind, only textures, materials, geometry and meshes";
                Failure::new(Exit::Usage, format!("{}: {what}", String::from_utf8_lossy(path).shown()))
            })?;
            targets.push(target);
        }
        if targets.is_empty() {
            let what = "--who: name files after the sources, such as textures/armor/iron/f/cuirass.dds";
            return Err(Failure::new(Exit::Usage, what));
        }
        let (_, mut of_meshes) = self.selection.split(&[])?;
        let mut files = inquiry.select(&mut of_meshes, vfs)?;
        files.retain(is_scanned);
        files.sort_by_cached_key(|file| file.path_bytes().to_ascii_lowercase());
        let found = read(vfs, files);
        let answer = ShownNeeds::new(vfs, &found);
        if !found.is_whole() {
            inquiry.set_exit(Exit::No);
            log::error!("what is not read may name these files, too, so the answer may not be whole");
        }
        for target in &targets {
            let named_by = found.naming(target);
            if named_by.is_empty() {
                inquiry.set_exit(Exit::No);
            }
            let text = |out: &mut Output| answer.write_who(out, target, &named_by);
            inquiry.put(|| answer.json_who(target, &named_by), text)?;
        }
        Ok(())
    }
}

/// What the game does not load of the sources, and may have meshes: archives, and the folders whose loose
/// files it ignores.
fn not_loaded(vfs: &Vfs) -> Vec<Note> {
    let is_archive = |note: &&Note| {
        Fate::of_code(note.code) == Some(Fate::NotLoaded) && is_archive_name(note.subject.as_bytes())
    };
    let ignored = vfs.opened().ignored.iter().filter(|it| it.paths().any(|path| is_scanned_path(&path)));
    let ignored = ignored.map(|it| {
        let (folder, why) = (it.folder.path().to_string_lossy(), vfs.order().why_loose_ignored());
        Note::new(NoteCode::LooseDisabled, folder, why)
    });
    vfs.notes().filter(is_archive).cloned().chain(ignored).collect()
}

/// The arguments, so that sources are whole, and the number of sources among them. What a mesh names is
/// searched in all of a source. So a folder or a file in a mount is a path in that mount.
fn whole_sources(arguments: &[PathBuf]) -> Result<(Vec<PathBuf>, usize), Failure> {
    let (mut sources, mut inside, mut limited) = (Vec::new(), Vec::new(), None);
    let count = selection::sources(arguments);
    for (number, argument) in arguments.iter().enumerate() {
        let is_source = number < count;
        let path = Question::plain(argument);
        let may_be_mounted = if is_source { !is_game(argument) } else { !is_pattern(argument) };
        let mut place = if may_be_mounted { place_in_mount(&path)? } else { None };
        // In a mount, a path that is not there may be one in the sources.
        let is_relative = || path.is_relative() && path.symlink_metadata().is_err();
        if place.is_some() && !is_source && is_relative() && place_in_mount(Path::new("."))?.is_some() {
            place = None;
        }
        match place {
            Some((mount, below)) => {
                if !sources.contains(&mount) {
                    sources.push(mount);
                }
                if below != Path::new("") {
                    limited = limited.or(is_source.then_some(argument));
                    inside.push(below);
                }
            }
            None if is_source => {
                check_whole(argument, &path)?;
                sources.push(argument.clone());
            }
            None => inside.push(argument.clone()),
        }
    }
    if let Some(folder) = limited.filter(|_| sources.len() > 1) {
        let what = "what its meshes name is searched in the whole mount; give the mount, and --glob for this \
                    folder";
        return Err(Failure::new(Exit::Usage, format!("{}: {what}", folder.shown())));
    }
    let count = sources.len();
    sources.append(&mut inside);
    Ok((sources, count))
}

/// Fails if a source is a folder for what meshes name, or a file of a game. What a mesh names is not in it.
fn check_whole(source: &Path, path: &Path) -> Result<(), Failure> {
    let is_part = |name: &OsStr| {
        kinds::KINDS.iter().any(|kind| kind.is_named && name.eq_ignore_ascii_case(kind.folder))
    };
    let is_file = is_file_of_game(path);
    let absolute = paths::absolute(path).unwrap_or_else(|_| path.to_owned());
    let is_below = |path: &Path| path.ancestors().any(|it| it.file_name().is_some_and(is_part));
    let is_folder = || {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let names: Vec<OsString> = entries.map(|it| it.file_name()).collect();
        // A mod may be called so, too. No game has meshes or textures at the top.
        let is_mod = names.iter().any(|name| is_part(name) || is_archive_name(name.as_bytes()));
        let has_files = || names.iter().any(|name| kind_of_name(name.as_bytes()).is_some());
        !is_mod && (absolute.file_name().is_some_and(is_part) || has_files())
    };
    let is_part_of_source = is_file || is_below(&absolute) && path.is_dir() && is_folder();
    if !is_part_of_source || Profile::saved(source).is_some() {
        return Ok(());
    }
    let around = |path: &Path| {
        let part = path.ancestors().find(|it| it.file_name().is_some_and(is_part))?;
        part.parent().map(Path::to_owned)
    };
    let root = [path, &absolute].into_iter().find_map(|path| Some((path, around(path)?)));
    let kind = if is_file { "it is a file" } else { "it is a part of a game or mod" };
    let Some((path, root)) = root else {
        let what = format!("{kind}; give the folder of the game or mod first, and then the path in it");
        return Err(Failure::new(Exit::Usage, format!("{}: {what}", source.shown())));
    };
    let below = path.strip_prefix(&root).unwrap_or(path).to_string_lossy();
    let root = if root == Path::new("") { ".".into() } else { root.to_string_lossy() };
    let below = if is_file { quoted(&below) } else { quoted(&format!("{below}/**")) };
    let what = format!("{kind}, and what meshes name is searched in the whole; run");
    let what = format!("{}: {what} `bsafs needs {} {below}`", source.shown(), quoted(&root));
    Err(Failure::new(Exit::Usage, what))
}

/// Reads meshes and materials with a progress bar. Says which of them cannot be read.
fn read(vfs: &Vfs, files: Vec<VfsFile>) -> Needs {
    let total = || files.iter().map(VfsFile::disk_size).sum();
    let advance = progress::bytes("reading meshes", files.len(), total);
    let found = needs(vfs, files, &|file| advance(file.disk_size()));
    for (file, why) in found.unread() {
        log::error!("{}: {why}", file.path());
    }
    if found.is_cut {
        log::error!("{TOO_MANY}");
    }
    found
}

/// Maximum number of columns to which the names of one file are filled up with blanks.
const WIDTH_MAX: usize = 100;

const TOO_MANY: &str = "the meshes name too many files, so some are left out; ask about fewer meshes";

/// What was found, with the names of the layers.
struct ShownNeeds<'a> {
    vfs: &'a Vfs,
    found: &'a Needs,
    names: ShownLayers,
}

impl<'a> ShownNeeds<'a> {
    fn new(vfs: &'a Vfs, found: &'a Needs) -> Self {
        let layers: Vec<VfsLayer> = vfs.layers().collect();
        let names = ShownLayers::of(layers.iter().map(|layer| (layer.path(), layer.is_folder())));
        Self { vfs, found, names }
    }

    fn write(&self, out: &mut impl StyledWrite, file: &NeedsOf, lines: &[Line<'_>]) -> io::Result<()> {
        out.write_styled(WINNER, file.file.path().shown())?;
        writeln!(out, "   from {}", self.names.shown(file.file.layer().path()))?;
        let shown = |line: &Line<'_>| {
            format!("{}{}", "  ".repeat(line.depth + 1), self.path(&line.need.found).shown())
        };
        let width = lines.iter().map(|line| shown(line).chars().count()).max().unwrap_or_default();
        // One long name must not make all lines long.
        let width = width.min(WIDTH_MAX);
        for line in lines {
            write!(out, "{:<width$}   ", shown(line))?;
            self.write_state(out, &line.need.found)?;
        }
        Ok(())
    }

    /// Writes where a named file comes from, and ends the line.
    fn write_state(&self, out: &mut impl StyledWrite, found: &Named) -> io::Result<()> {
        match (self.file(found), found) {
            (Some(file), _) => writeln!(out, "{}", self.names.shown(file.layer().path())),
            (None, Named::Unneeded(_, why)) => {
                out.write_styled(ASIDE, why.words())?;
                writeln!(out)
            }
            (None, _) => {
                out.write_styled(WINNER, "missing")?;
                writeln!(out)
            }
        }
    }

    fn write_who(
        &self,
        out: &mut impl StyledWrite,
        target: &Named,
        named_by: &[(&VfsFile, Option<&VfsFile>)],
    ) -> io::Result<()> {
        out.write_styled(WINNER, self.path(target).shown())?;
        write!(out, "   ")?;
        self.write_state(out, target)?;
        for (file, material) in named_by {
            write!(out, "  {}   from {}", file.path().shown(), self.names.shown(file.layer().path()))?;
            if let Some(material) = material {
                out.write_styled(ASIDE, format_args!(", by {}", material.path().shown()))?;
            }
            writeln!(out)?;
        }
        if named_by.is_empty() {
            writeln!(out, "  no mesh or material names it")?;
        }
        Ok(())
    }

    fn json(&self, file: &NeedsOf, lines: &[Line<'_>]) -> FileLine {
        let need = |line: &Line<'_>| NeedLine {
            path: self.path(&line.need.found),
            state: match &line.need.found {
                Named::There(_) => "there",
                Named::Missing(_) => "missing",
                Named::Unneeded(..) => "unneeded",
            },
            layer: self.file(&line.need.found).as_ref().map(layer_name),
            why: match &line.need.found {
                Named::Unneeded(_, why) => Some(why.words()),
                Named::There(_) | Named::Missing(_) => None,
            },
            material: line.material.map(VfsFile::path),
        };
        FileLine {
            path: file.file.path(),
            layer: layer_name(&file.file),
            needs: lines.iter().map(need).collect(),
            unread: file.needs.as_ref().err().map(ToString::to_string),
        }
    }

    fn json_who(&self, target: &Named, named_by: &[(&VfsFile, Option<&VfsFile>)]) -> WhoLine {
        let named_by = named_by.iter().map(|(file, material)| NamedBy {
            path: file.path(),
            layer: layer_name(file),
            material: material.map(VfsFile::path),
        });
        WhoLine {
            path: self.path(target),
            layer: self.file(target).as_ref().map(layer_name),
            named_by: named_by.collect(),
        }
    }

    /// How much text a line adds if a material or another mesh has the name, not the file itself.
    fn len_if_followed(&self, line: &Line<'_>) -> usize {
        line.material.map_or(0, |material| material.path_bytes().len() + self.path(&line.need.found).len())
    }

    fn file(&self, found: &Named) -> Option<VfsFile> {
        match found {
            Named::There(node) => self.vfs.file_of(*node),
            Named::Missing(_) | Named::Unneeded(..) => None,
        }
    }

    fn path(&self, found: &Named) -> String {
        match found {
            Named::There(node) => self.vfs.file_of(*node).map(|file| file.path()).unwrap_or_default(),
            Named::Missing(path) | Named::Unneeded(path, _) => path.to_string(),
        }
    }
}

fn layer_name(file: &VfsFile) -> String {
    file.layer().path().to_string_lossy().into_owned()
}

/// The last line of the answer.
fn summary(found: &Needs) -> String {
    let unread = match found.unread().count() {
        0 => String::new(),
        unread => format!("; {} cannot be read, so more may be missing", count(unread, "mesh")),
    };
    format!("{}{unread}", summary_of_read(found))
}

fn summary_of_read(found: &Needs) -> String {
    let (all, missing) = found.counts();
    match (all, missing) {
        (0, _) => match found.files.iter().filter(|file| file.needs.is_ok()).count() {
            0 => "0 meshes read".into(),
            1 => "1 mesh read, which names no files".into(),
            read => format!("{} read, which name no files", count(read, "mesh")),
        },
        (1, 0) => "1 file needed, and it is there".into(),
        (_, 0) => format!("{} needed, and all are there", count(all, "file")),
        (_, 1) => format!("1 of {} is missing", count(all, "file")),
        (..) => format!("{missing} of {} are missing", count(all, "file")),
    }
}
