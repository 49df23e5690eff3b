//! Finds the process that serves a mount, if its daemon does not report its number itself.

use std::fs::{read_dir, read_link, read_to_string};
use std::path::Path;

use crate::daemon::overlay;
use crate::fuse::connection_number;
use crate::system::mountinfo::MountEntry;
use crate::system::process;

/// The process that serves a mount. `None` if there is none, or if this user may not inspect it.
pub(crate) fn process_of(mounted: &MountEntry) -> Option<u32> {
    // Linux before 6.7 does not say which mount a descriptor of `/dev/fuse` belongs to. But a daemon also
    // has the folder open that its mount covers.
    let covered = overlay::mountpoint(mounted);
    let mut processes = process::others().ok()?;
    processes.find(|(_, folder)| serves(folder, &mounted.device, &covered)).map(|(pid, _)| pid)
}

/// Whether a process, named by its folder in `/proc`, serves the mount with a device number.
fn serves(process: &Path, device: &str, covered: &Path) -> bool {
    let Ok(descriptors) = read_dir(process.join("fd")) else { return false };
    let (mut has_unnumbered, mut has_covered) = (false, false);
    for descriptor in descriptors.flatten() {
        let Ok(target) = read_link(descriptor.path()) else { continue };
        has_covered |= target == covered;
        if target != Path::new("/dev/fuse") {
            continue;
        }
        let info = read_to_string(process.join("fdinfo").join(descriptor.file_name()));
        match connection_number(&info.unwrap_or_default()) {
            Some(number) => return device == format!("0:{number}"),
            None => has_unnumbered = true,
        }
    }
    has_unnumbered && has_covered
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir, write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_daemon_is_found_by_its_connection_or_else_by_the_covered_folder() {
        for (info, covered, expected) in [
            ("pos:\t0\nfuse_connection:\t39\n", "/elsewhere", true),
            ("pos:\t0\nfuse_connection:\t3\n", "/mnt", false),
            ("pos:\t0\n", "/mnt", true),
            ("pos:\t0\n", "/elsewhere", false),
        ] {
            let process = tempfile::TempDir::new().expect("cannot make a folder");
            let path = |name: &str| process.path().join(name);
            create_dir(path("fd")).and_then(|()| create_dir(path("fdinfo"))).expect("cannot make a folder");
            symlink(covered, path("fd/3")).expect("cannot make a link");
            symlink("/dev/fuse", path("fd/4")).expect("cannot make a link");
            write(path("fdinfo/4"), info).expect("cannot write");
            assert_eq!(serves(process.path(), "0:39", Path::new("/mnt")), expected, "{info} {covered}");
        }
    }
}
