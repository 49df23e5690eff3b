//! Finds the archives that belong to an active plugin, by their names.

use super::active::stem;
use super::language;
use crate::game::caseless::fold;
use crate::game::titles::title::AttachRule;

/// Archive names sorted by folded name, as Windows and Wine list a folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct SortedNames {
    /// Pairs of folded and stored name.
    names: Vec<(String, String)>,
}

impl SortedNames {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut names: Vec<_> = names.map(|name| (fold(name), name.to_owned())).collect();
        names.sort_unstable();
        Self { names }
    }

    /// The names that begin with a folded prefix.
    fn beginning(&self, prefix: &str) -> &[(String, String)] {
        let start = self.names.partition_point(|(folded, _)| folded.as_str() < prefix);
        let rest = &self.names[start..];
        &rest[..rest.partition_point(|(folded, _)| folded.starts_with(prefix))]
    }

    /// The stored name for a folded one.
    fn exact(&self, folded: &str) -> Option<&str> {
        let found = self.beginning(folded).iter().find(|(name, _)| name == folded);
        found.map(|(_, name)| name.as_str())
    }
}

/// The plugin of Fallout 4's High Resolution Texture Pack, the only one whose archives have numbers.
const HIGH_RESOLUTION: &str = "DLCULTRAHIGHRESOLUTION";

/// The archives that belong to an active plugin, in load order.
pub(crate) fn attached<'a>(
    rule: AttachRule,
    plugin: &str,
    language: &str,
    archives: &'a SortedNames,
) -> Vec<&'a str> {
    let stem = fold(stem(plugin));
    let exact = |suffixes: &[&str]| -> Vec<&'a str> {
        let folded = suffixes.iter().map(|suffix| stem.clone() + &fold(&suffix.replace("{lang}", language)));
        folded.filter_map(|name| archives.exact(&name)).collect()
    };
    match rule {
        AttachRule::None => Vec::new(),
        AttachRule::PrefixOfEsp(_) if !fold(plugin).ends_with(".ESP") => Vec::new(),
        AttachRule::PrefixOfEsp(extension) | AttachRule::Prefix(extension) => {
            let extension = fold(extension);
            let of_kind = archives.beginning(&stem).iter().filter(|(folded, _)| folded.ends_with(&extension));
            of_kind.map(|(_, name)| name.as_str()).collect()
        }
        AttachRule::Exact(suffixes) => exact(suffixes),
        AttachRule::Fallout4(suffixes) => {
            let mut found = exact(suffixes);
            // In English the last two suffixes are equal.
            found.dedup();
            if stem == HIGH_RESOLUTION {
                found.extend(numbered(&(stem + " - TEXTURES"), ".BA2", archives));
            }
            found
        }
    }
}

/// The archives that some tools attach to an active plugin by a more generous rule than the game's.
pub(crate) fn disputed<'a>(rule: AttachRule, plugin: &str, archives: &'a SortedNames) -> Vec<&'a str> {
    if !matches!(rule, AttachRule::Fallout4(_)) {
        return Vec::new();
    }
    let stem = fold(stem(plugin));
    let is_part = |folded: &str| {
        let part = folded.strip_prefix(stem.as_str()).and_then(|rest| rest.strip_suffix(".BA2"));
        part.is_some_and(|part| part.is_empty() || part.starts_with(" - "))
    };
    let all = archives.beginning(&stem).iter().filter(|(folded, _)| is_part(folded));
    // Voices of other languages are not disputed.
    all.map(|(_, name)| name.as_str()).filter(|name| language::of_archive(name).is_none()).collect()
}

/// The archives whose folded name has only digits between these parts.
fn numbered<'a>(before: &str, behind: &str, archives: &'a SortedNames) -> impl Iterator<Item = &'a str> {
    let is_one = move |folded: &str| {
        let number = folded.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let all = archives.beginning(before).iter().filter(move |(folded, _)| is_one(folded));
    all.map(|(_, name)| name.as_str())
}
