//! Names for files whose archive stores no names: their hashes in hexadecimal.

use std::fmt::Write as _;

use super::family::{Family, Hash};

/// The folder (`None` for the root) and the name under which to list a file whose name is not stored.
///
/// `extension` is what the archive stores with the hash, NUL-padded and without its dot; only BA2 has it. If
/// the archive stores no hashes either, the name is `nameless`.
pub fn placeholder_name(family: Family, hash: &Hash, extension: [u8; 4]) -> (Option<String>, String) {
    match family {
        Family::Tes3 => (None, format!("{:016X}", hash.file)),
        Family::Tes4 | Family::Tes4Xbox | Family::Tes4Ps3 => {
            (Some(format!("{:016X}", hash.folder)), format!("{:016X}", hash.file))
        }
        Family::None => (None, "nameless".into()),
        Family::Fo4 => {
            let mut name = format!("{:08X}_{:08X}", hash.folder, hash.file >> 32);
            let used = extension.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
            for (at, byte) in extension.iter().take(used).map(u8::to_ascii_lowercase).enumerate() {
                if at == 0 {
                    name.push('.');
                }
                match byte {
                    b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => name.push(char::from(byte)),
                    // Writing to a string cannot fail.
                    _ => drop(write!(name, "%{byte:02X}")),
                }
            }
            (None, name)
        }
    }
}
