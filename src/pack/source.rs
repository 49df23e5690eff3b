//! The files of a source, and what keeps a source from being packed at all.

use std::borrow::Cow;

use super::error::{PackError, PackErrorKind};
use super::pack_options::PackOptions;
use super::verdict::{KNOWN_TOPS, LeftOut, LooseReason};
use crate::note::NoteCode;
use crate::shown::Shown;
use crate::tree::Kind;
use crate::vfs::parallel::in_parallel;
use crate::vfs::{Vfs, VfsFile};

pub(super) struct SourceFile {
    pub(super) file: VfsFile,
    /// The path below the data folder, with `/` between names.
    pub(super) path: Vec<u8>,
    pub(super) size: u64,
}

/// The folders that stand for the data folder itself, in lower case.
const DATA: [&str; 2] = ["data", "data files"];

/// All files that the options select, ordered by path without regard to case, and those that stay loose
/// because they lie beside the data folder.
pub(super) fn files(vfs: &Vfs, options: &PackOptions) -> Result<(Vec<SourceFile>, Vec<LeftOut>), PackError> {
    refuse_oddities(vfs, options)?;
    let files = vfs.select(&options.only);
    let data = data_folder(vfs)?;
    let twins: Vec<String> = files.iter().filter_map(|file| twin(vfs, file)).collect();
    if !twins.is_empty() {
        let what = "files whose paths differ only in case, of which an archive can have one:";
        return Err(PackError::list(PackErrorKind::Source, what, &twins));
    }
    let sizes = in_parallel(files.len(), &|| {}, |index| files[index].size());
    let failed: Vec<String> =
        sizes.iter().filter_map(|it| it.as_ref().err().map(ToString::to_string)).collect();
    if !failed.is_empty() {
        return Err(PackError::list(PackErrorKind::Unreadable, "files that cannot be read:", &failed));
    }
    let is_below = |file: &VfsFile| {
        let path = file.path_bytes();
        data.as_ref().is_none_or(|data| path.starts_with(data) && path.get(data.len()) == Some(&b'/'))
    };
    let (below, beside): (Vec<VfsFile>, Vec<VfsFile>) = files.into_iter().partition(is_below);
    let source = |file: VfsFile| {
        let mut path = stored_path(&file);
        if let Some(data) = &data {
            path.drain(..path.len().min(data.len() + 1));
        }
        SourceFile { path, size: file.shown_size(), file }
    };
    let left_out =
        |file: VfsFile| LeftOut { path: file.path(), reason: LooseReason::BesideData, detail: String::new() };
    Ok((below.into_iter().map(source).collect(), beside.into_iter().map(left_out).collect()))
}

/// The path of a file as it is stored. Bytes of a name on the disk that are not UTF-8 are listed as `%XX`,
/// but an archive gets the bytes.
fn stored_path(file: &VfsFile) -> Vec<u8> {
    let stored = if file.layer().is_folder() { file.stored_name() } else { Vec::new() };
    if std::str::from_utf8(&stored).is_err() { stored } else { file.path_bytes() }
}

/// Fails if there is something that is not a plain file, so that nothing is left out in silence.
fn refuse_oddities(vfs: &Vfs, options: &PackOptions) -> Result<(), PackError> {
    let is_odd = |code| {
        use NoteCode::{
            FileUnreadable, LinkCircle, LinkDangling, LinkOfOtherUser, OtherMount, PathTooDeep, SpecialFile,
        };
        matches!(
            code,
            FileUnreadable
                | LinkCircle
                | LinkDangling
                | LinkOfOtherUser
                | OtherMount
                | PathTooDeep
                | SpecialFile
        )
    };
    let odd = vfs.left_out().filter(|note| is_odd(note.code));
    let odd: Vec<String> = odd.map(|note| format!("{}: {note}", note.subject.shown())).collect();
    if !odd.is_empty() {
        return Err(PackError::list(PackErrorKind::Source, "the source has what cannot be packed:", &odd));
    }
    if options.follows_links {
        return Ok(());
    }
    let links: Vec<String> = vfs.link_paths().iter().map(|path| path.shown().to_string()).collect();
    if links.is_empty() {
        Ok(())
    } else {
        Err(PackError::list(
            PackErrorKind::Source,
            "the source has links; --follow-links packs what they lead to:",
            &links,
        ))
    }
}

/// The folder at the top that stands for the data folder, if everything of the game is in it.
fn data_folder(vfs: &Vfs) -> Result<Option<Vec<u8>>, PackError> {
    let tree = vfs.tree();
    let (mut data, mut others) = (None, Vec::new());
    for node in tree.children(crate::tree::NodeId::ROOT) {
        let name = String::from_utf8_lossy(tree.name(node)).to_ascii_lowercase();
        if tree.kind(node) != Kind::Folder {
            continue;
        }
        match DATA.contains(&&*name) {
            true => data = Some(tree.name(node).to_vec()),
            false if KNOWN_TOPS.contains(&&*name) => others.push(name),
            false => {}
        }
    }
    match (data, others.first()) {
        (Some(data), Some(other)) => {
            let data = String::from_utf8_lossy(&data).into_owned();
            let what = format!(
                "the source has a folder {} beside {}, so it is not clear where the game's files begin; a \
                 game never finds paths that begin with Data",
                data.shown(),
                other.shown()
            );
            Err(PackError::new(PackErrorKind::Source, what))
        }
        (data, _) => Ok(data),
    }
}

/// The two paths of a file that is listed under a number, because another one has its name.
fn twin(vfs: &Vfs, file: &VfsFile) -> Option<String> {
    let name = String::from_utf8_lossy(file.name());
    let (stem, extension) = name
        .rsplit_once('.')
        .map_or((&*name, Cow::Borrowed("")), |(stem, extension)| (stem, format!(".{extension}").into()));
    let (base, number) = stem.strip_suffix(')')?.rsplit_once(" (")?;
    number.parse::<u32>().ok()?;
    let stored = file.stored_name();
    let stored = stored.rsplit(|byte| matches!(byte, b'/' | b'\\')).next()?;
    let is_renamed = !stored.is_empty() && !stored.eq_ignore_ascii_case(file.name());
    let other = format!("{base}{extension}");
    is_renamed.then(|| {
        let folder = file.path();
        let folder = folder.strip_suffix(&*name).unwrap_or_default().to_owned();
        let stored = format!("{folder}{}", String::from_utf8_lossy(stored));
        let other = format!("{folder}{other}");
        let other = vfs.file(&other).map_or(other, |other| other.path());
        format!("{} and {}", stored.shown(), other.shown())
    })
}
