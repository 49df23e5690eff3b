//! Other processes, as `/proc` shows them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// All processes except this one: their numbers and their folders in `/proc`.
///
/// # Errors
/// `/proc` cannot be listed.
pub(crate) fn others() -> io::Result<impl Iterator<Item = (u32, PathBuf)>> {
    let found = fs::read_dir("/proc")?.flatten();
    // Names that are not numbers include links to the folder of this process.
    let numbered = found.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())));
    Ok(numbered.filter(|(pid, _)| *pid != std::process::id()))
}

/// Whether a process, given its folder in `/proc`, runs bsafs, by the name under which it was started.
pub(crate) fn runs_bsafs(process: &Path) -> bool {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    let program = line.split(|&byte| byte == 0).next().unwrap_or_default();
    Path::new(OsStr::from_bytes(program))
        .file_name()
        .is_some_and(|name| name.to_string_lossy().contains("bsafs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_links_to_it_are_not_other_processes() {
        let others: Vec<_> = others().unwrap().collect();
        let own = std::process::id().to_string();
        for name in ["self", "thread-self", "version", &own] {
            assert!(!others.iter().any(|(_, folder)| *folder == Path::new("/proc").join(name)), "{name}");
        }
        assert!(others.contains(&(1, "/proc/1".into())));
    }
}
