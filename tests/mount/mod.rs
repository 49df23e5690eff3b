//! The file system as programs see it: real mounts by the real program, one noun a file.

mod attributes; // modes, times, sizes, numbers; extended attributes
mod by_mount; // the forms in which mount(8) calls the program
mod caching; // what the kernel caches: names, negative entries, attributes, listings, the page cache
mod damage; // archives that are damaged, or changed under the mount
mod desktop; // open: mountpoints below a home, one mount for one archive, the file manager, errors without a terminal
mod failures; // what is refused before anything is mounted
mod folders; // folders of loose files, with archives and without
mod following; // changes on the disk, and reloads
mod layers; // several archives in one mount: load order, hidden copies
mod lifecycle; // mountpoints that are made and removed, busy mounts, daemons that were killed
mod listings; // readdir, whole and from any cookie
mod logging; // where the log goes, and that nobody waits for it
mod memory; // as a multiple of an archive's length
mod mounts; // mounts, and umount by source and of all
mod names; // lookups in any case, and names that are in no listing
mod outages; // archives on a disk that fails or hangs
mod overlay; // writable views
mod privileges; // daemons with fewer rights, and what a mount tells to whom
mod profiles; // mounts that a file describes
mod reading; // bytes of files, whole and in part, in parallel
mod real_archives; // archives that other tools wrote
mod refusals; // every operation that would write
mod signals; // SIGTERM, SIGINT, SIGHUP
#[cfg(feature = "pictures")]
mod thumbnails; // what a thumbnail decodes of a texture
mod users; // owner, permissions, ordinary users, allow_other

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

/// Paths and contents of the files in [`world`], in no order.
fn world_files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("textures/clutter/bucket.dds", texels(1, 300_000)),
        ("textures/clutter/Pail.DDS", text(2, 5_000)),
        ("textures/sky.dds", noise(3, 20_000)),
        ("meshes/tower.nif", text(4, 700_000)),
        ("readme.txt", text(5, 800)),
    ]
}
