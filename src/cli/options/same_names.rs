//! Paths to suggest for a path that does not exist: those of files with the same name.

use crate::shown::Shown;
use crate::vfs::Vfs;

/// Maximum number of paths that are suggested.
const SHOWN: usize = 4;

/// The end of an error about a path that is not in the tree; empty if no file has its name.
pub(crate) fn same_names(vfs: &Vfs, path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let is_alike = |path: &String| path.rsplit('/').next().is_some_and(|it| it.eq_ignore_ascii_case(name));
    let mut found: Vec<String> = vfs.files().map(|file| file.path()).filter(is_alike).collect();
    found.sort_unstable();
    let more = match found.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    match found.len() {
        0 => String::new(),
        _ => {
            let shown = found.iter().take(SHOWN).map(|path| format!("\n  {}", path.shown()));
            format!("; files of this name:{}{more}", shown.collect::<String>())
        }
    }
}
