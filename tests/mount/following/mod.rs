//! Tests of mounts that follow the disk.

mod disks; // disks that are mounted, unmounted and mounted again where sources are
mod files; // changes to archives and loose files
mod model; // random changes, compared with a fresh mount
mod reloading; // reloads on request, without watches, and many of them
mod sources; // changes to what leads to sources: links, folders far above, profiles
mod watch; // `bsafs watch`: which changes are printed, and that waiting keeps nothing busy
mod writes; // programs that have files open while others write, save and touch them
