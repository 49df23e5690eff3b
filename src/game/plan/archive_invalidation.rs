//! `ArchiveInvalidation.txt`, the paths that Oblivion, Fallout 3 and New Vegas ignore in archives.

use super::listed_path::below_data;
use crate::game::settings::ini::IniFiles;
use crate::game::settings::settings_text::{decode_list, lines};
use crate::game::titles::title::{LooseSetting, Title};

/// The list's name in the INI files. `None` if they set none; the games' default is unknown.
pub(crate) fn list_name<'a>(title: &Title, inis: &'a IniFiles) -> Option<&'a str> {
    // Oblivion and New Vegas read the list. Fallout 3 is assumed to; no source confirms it.
    let reads_it = matches!(title.loose, LooseSetting::Dates | LooseSetting::Invalidate);
    let (name, _) = inis.get("Archive", "SInvalidationFile").filter(|_| reads_it)?;
    Some(name).filter(|name| !name.is_empty())
}

/// The paths in a list, in lower case with `/` between names.
pub(crate) fn paths(list: &[u8]) -> Vec<String> {
    let text = decode_list(list, encoding_rs::WINDOWS_1252);
    let paths = lines(&text).filter_map(below_data).map(|path| path.to_ascii_lowercase());
    paths.filter(|path| !path.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::{list_name, paths};
    use crate::game::settings::ini::{Ini, IniFiles};
    use crate::game::titles::title;

    #[test]
    fn a_list_may_contain_any_case_and_either_slash() {
        let list = b"Textures\\A.dds\r\n\r\n  meshes/b.NIF \r\n..\\out.dds\n";
        assert_eq!(paths(list), ["textures/a.dds", "meshes/b.nif"]);
    }

    #[test]
    fn only_games_that_use_invalidation_lists_read_the_setting() {
        let named = |id: &str, text: &str| {
            let mut inis = IniFiles::default();
            inis.push("Main.ini", Ini::parse(format!("[Archive]\n{text}").as_bytes()));
            list_name(title(id).unwrap(), &inis).map(str::to_owned)
        };
        for id in ["oblivion", "nehrim", "fallout3", "falloutnv"] {
            assert_eq!(named(id, "sinvalidationfile=A.txt").as_deref(), Some("A.txt"), "{id}");
            assert_eq!(named(id, "SInvalidationFile="), None, "{id}");
            assert_eq!(named(id, ""), None, "{id}");
        }
        for id in ["skyrim", "fallout4", "morrowind"] {
            assert_eq!(named(id, "SInvalidationFile=A.txt"), None, "{id}");
        }
    }
}
