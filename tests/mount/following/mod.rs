//! Mounts that follow the disk.

mod files; // changes of archives and loose files
mod model; // random changes, compared with a fresh mount
mod reloading; // reloads by hand, and what they leave
mod sources; // changes of what leads to sources: links, folders far above, profiles
