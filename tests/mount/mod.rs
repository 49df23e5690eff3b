//! The file system as programs see it: real mounts by the real program, one noun a file.

mod attributes; // modes, times, sizes, numbers; extended attributes
mod by_mount; // the forms in which mount(8) calls the program
mod caching; // what the kernel need not ask twice
mod damage; // archives that are bad, or change under the mount
mod failures; // what is refused before anything is mounted
mod layers; // several archives in one mount
mod lifecycle; // from the mountpoint's making to its removal
mod listings; // folders, read whole and in part
mod names; // lookups in any case, and names that are in no listing
mod reading; // bytes, whole and in part
mod real_archives; // what other people's tools wrote
mod refusals; // every operation that would write
mod signals; // SIGTERM and its kind
mod users; // who may enter, whose the files are

use crate::support::content::{noise, texels, text};
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Tes4, Tes4File};

/// A small packed archive of the usual shape.
fn world() -> Vec<u8> {
    world_files()
        .into_iter()
        .fold(Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED | EMBEDDED), |archive, (path, data)| {
            let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
            archive.add(folder.replace('/', "\\"), Tes4File::new(name, data))
        })
        .build()
}

/// What a mount of [`world`] must show, in no order.
fn world_files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("textures/clutter/bucket.dds", texels(1, 300_000)),
        ("textures/clutter/Pail.DDS", text(2, 5_000)),
        ("textures/sky.dds", noise(3, 20_000)),
        ("meshes/tower.nif", text(4, 700_000)),
        ("readme.txt", text(5, 800)),
    ]
}

/// The files' paths, as they are listed.
fn world_paths() -> Vec<&'static str> {
    world_files().into_iter().map(|(path, _)| path).collect()
}
