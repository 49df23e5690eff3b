//! What an INI file that the game does not read would change. The user may expect that it has an effect.

use super::archive_invalidation;
use super::layers::loose_rule;
use crate::game::caseless::fold;
use crate::game::settings::ini::{Ini, IniFiles};
use crate::game::titles::title::Title;

/// The keys of an unread INI file that would change which archives the game loads, or when loose files
/// win, if the game read the file above the others.
pub(crate) fn keys_of_consequence<'a>(title: &Title, inis: &IniFiles, unread: &'a Ini) -> Vec<&'a str> {
    let mut with = inis.clone();
    with.push("", unread.clone());
    let changes_loose = loose_rule(title.loose, inis) != loose_rule(title.loose, &with)
        || archive_invalidation::list_name(title, inis) != archive_invalidation::list_name(title, &with);
    let section = title.lists.section;
    let keys = unread.keys(section).filter(|(key, value)| {
        let is_changed = inis.get(section, key).is_none_or(|(current, _)| current != *value);
        is_changed && (is_list(title, key) || changes_loose && is_for_loose_files(key))
    });
    keys.map(|(key, _)| key).collect()
}

/// Whether a key lists archives.
fn is_list(title: &Title, key: &str) -> bool {
    let key = fold(key);
    let is_one = |name: &str| match name.strip_suffix(' ') {
        Some(numbered) => key.starts_with(&fold(numbered)),
        None => key == fold(name),
    };
    title.lists.keys.iter().chain(&title.lists.last).any(|(name, _)| is_one(name))
}

fn is_for_loose_files(key: &str) -> bool {
    let names = ["bInvalidateOlderFiles", "sResourceDataDirsFinal", "SInvalidationFile"];
    names.iter().any(|name| fold(name) == fold(key))
}

#[cfg(test)]
mod tests {
    use super::{Ini, IniFiles, keys_of_consequence};
    use crate::game::titles::title;

    fn keys(id: &str, read: &str, unread: &str) -> Vec<String> {
        let ini = |text: &str| Ini::parse(format!("[Archive]\n{text}").as_bytes());
        let mut inis = IniFiles::default();
        inis.push("Main.ini", ini(read));
        let unread = ini(unread);
        let keys = keys_of_consequence(title(id).unwrap(), &inis, &unread);
        keys.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn only_keys_that_would_change_something_are_found() {
        let list = "sResourceArchiveList=A.bsa\n";
        assert_eq!(keys("skyrimse", list, list), [""; 0]);
        assert_eq!(keys("skyrimse", list, "SRESOURCEARCHIVELIST=\niOther=1"), ["SRESOURCEARCHIVELIST"]);
        assert_eq!(keys("skyrimse", "", "bInvalidateOlderFiles=1"), [""; 0]);
        assert_eq!(keys("falloutnv", "", "bInvalidateOlderFiles=1"), [""; 0]);
        assert_eq!(keys("falloutnv", "", "bInvalidateOlderFiles=0"), ["bInvalidateOlderFiles"]);
        assert_eq!(keys("fallout4", "sResourceDataDirsFinal=", "bInvalidateOlderFiles=1").len(), 1);
    }
}
