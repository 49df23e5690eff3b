//! Tests of the file system as programs see it. They make real mounts with the real program; each
//! file covers one topic.

mod attackers; // what another user gets of the programs that root starts, and sets in root's mounts
mod attacks; // one table: what another user controls, what root runs, and how it ends
mod attributes; // modes, times, sizes, inode numbers, extended attributes
mod by_mount; // mounts made by mount(8) and fstab
mod caching; // what the kernel caches: names, negative entries, attributes, listings, bytes
mod damage; // archives that are damaged, or that change while mounted
mod desktop; // `bsafs open`: mountpoints in the home, one mount per archive, errors without a terminal
mod documents; // the commands of README and the topics
mod edit_faults; // disks that are full, broken or gone below a writable mount
mod failures; // mounts that are refused before anything is mounted
mod folders; // folders of loose files, with and without archives
mod following; // changes on the disk, and reloads
mod fstab; // lines in /etc/fstab, as root and as a user, with mount.fuse3 and without it
mod hostile_names; // names with line ends and control characters, in every message and log
mod layers; // several archives in one mount: load order, hidden copies
mod lifecycle; // mountpoints made and removed, busy mounts, killed daemons
mod listings; // readdir from the start and from any cookie
mod logging; // where the log goes, and that writing it blocks nothing
mod memory; // memory use compared with the length of an archive
mod mounts; // `bsafs mounts`, and `bsafs umount` of a source and of all mounts
mod mute; // daemons that answer some requests and never others
mod names; // lookups in any case, and names that no listing shows
mod other_disks; // links to NTFS and to the file systems of other daemons
mod other_programs; // programs of 32 bits, walks that trust link counts, containers, old times
mod outages; // archives on a disk that fails or hangs
mod overlay; // writable mounts (`--edit`)
mod privileges; // daemons with fewer rights, and what a mount reveals to which user
mod profiles; // mounts that a profile describes
mod reading; // bytes of files: whole, in parts, in parallel
mod real_archives; // archives written by other tools
mod redirected; // folders that another user exchanges while root mounts and unmounts
mod refusals; // every operation that would write
mod signals; // SIGTERM, SIGINT, SIGHUP
mod thumbnails; // how much of a texture a thumbnail decodes
mod trust; // what is not believed: links and daemons of other users
mod users; // owner, permissions, ordinary users, allow_other

use crate::support::content::{noise, texels, text};
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Tes4, Tes4File};

/// A small packed archive with the files of [`world_files`].
fn world() -> Vec<u8> {
    world_files()
        .into_iter()
        .fold(Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED | EMBEDDED), |archive, (path, data)| {
            let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
            archive.add(folder.replace('/', "\\"), Tes4File::new(name, data))
        })
        .build()
}

/// Paths and contents of the files in [`world`], in no particular order.
fn world_files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("textures/clutter/bucket.dds", texels(1, 300_000)),
        ("textures/clutter/Pail.DDS", text(2, 5_000)),
        ("textures/sky.dds", noise(3, 20_000)),
        ("meshes/tower.nif", text(4, 700_000)),
        ("readme.txt", text(5, 800)),
    ]
}
