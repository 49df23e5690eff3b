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
}

/// An archive that belongs to a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attached<'a> {
    pub(crate) name: &'a str,
    /// Whether sources agree that the game loads an archive of this name.
    pub(crate) is_sure: bool,
}

/// The archives that belong to an active plugin, in load order.
pub(crate) fn attached<'a>(
    rule: AttachRule,
    plugin: &str,
    language: &str,
    archives: &'a SortedNames,
) -> Vec<Attached<'a>> {
    let stem = fold(stem(plugin));
    let sure = |(_, name): &'a (String, String)| Attached { name, is_sure: true };
    match rule {
        AttachRule::None => Vec::new(),
        AttachRule::PrefixOfEsp(_) if !fold(plugin).ends_with(".ESP") => Vec::new(),
        AttachRule::PrefixOfEsp(extension) | AttachRule::Prefix(extension) => {
            let extension = fold(extension);
            let of_kind = archives.beginning(&stem).iter().filter(|(folded, _)| folded.ends_with(&extension));
            of_kind.map(sure).collect()
        }
        AttachRule::Exact(suffixes) => {
            let folded =
                suffixes.iter().map(|suffix| stem.clone() + &fold(&suffix.replace("{lang}", language)));
            let find = |name: String| archives.beginning(&name).iter().find(|(folded, _)| *folded == name);
            folded.filter_map(find).map(sure).collect()
        }
        AttachRule::Fallout4 => {
            let all = archives.beginning(&stem).iter();
            all.filter_map(|(folded, name)| {
                let rest = folded.strip_prefix(stem.as_str())?.strip_suffix(".BA2")?;
                let part = if rest.is_empty() { "" } else { rest.strip_prefix(" - ")? };
                let spoken = language::of_archive(name);
                let is_sure = matches!(part, "MAIN" | "TEXTURES") || spoken == Some(language);
                spoken.is_none_or(|it| it == language).then_some(Attached { name, is_sure })
            })
            .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SortedNames, attached};
    use crate::game::titles::title;

    fn names(id: &str, plugin: &str, archives: &[&str]) -> Vec<String> {
        let sorted = SortedNames::new(archives.iter().copied());
        let rule = title(id).unwrap().attach;
        attached(rule, plugin, "en", &sorted).into_iter().map(|it| it.name.to_owned()).collect()
    }

    const ARCHIVES: [&str; 6] =
        ["Mod.bsa", "mod - A.bsa", "Mod - Textures.bsa", "ModExtra.bsa", "Mo.bsa", "Mod - Main.ba2"];

    #[test]
    fn archives_attach_by_prefix_and_in_oblivion_only_to_esp_files() {
        let all = ["mod - A.bsa", "Mod - Textures.bsa", "Mod.bsa", "ModExtra.bsa"];
        assert_eq!(names("oblivion", "MOD.esp", &ARCHIVES), all);
        assert_eq!(names("oblivion", "Mod.esm", &ARCHIVES), [""; 0]);
        assert_eq!(names("falloutnv", "Mod.esm", &ARCHIVES), all);
    }

    #[test]
    fn skyrim_attaches_exact_names_and_skyrimse_also_textures() {
        assert_eq!(names("skyrim", "Mod.esp", &ARCHIVES), ["Mod.bsa"]);
        assert_eq!(names("skyrimse", "mod.ESL", &ARCHIVES), ["Mod.bsa", "Mod - Textures.bsa"]);
        assert_eq!(names("skyrimse", "größe.esp", &["GRÖßE.bsa"]), ["GRÖßE.bsa"]);
    }

    #[test]
    fn fallout_4_attaches_all_suffixes_except_voices_of_other_languages() {
        let archives = [
            "Mod - Voices_de.ba2",
            "Mod - Voices_en.ba2",
            "Mod - Main.ba2",
            "Mod - Extra.ba2",
            "Mod.ba2",
            "ModB.ba2",
            "Mod - Main.bsa",
        ];
        let sorted = SortedNames::new(archives.into_iter());
        let found = attached(title("fallout4").unwrap().attach, "Mod.esp", "en", &sorted);
        let found: Vec<_> = found.iter().map(|it| (it.name, it.is_sure)).collect();
        let expected = [
            ("Mod - Extra.ba2", false),
            ("Mod - Main.ba2", true),
            ("Mod - Voices_en.ba2", true),
            ("Mod.ba2", false),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn morrowind_and_fallout_76_attach_nothing_and_starfield_fixed_names() {
        assert_eq!(names("morrowind", "Mod.esp", &ARCHIVES), [""; 0]);
        assert_eq!(names("fallout76", "Mod.esm", &ARCHIVES), [""; 0]);
        let archives = ["Mod - Voices_en.ba2", "Mod - Main.ba2", "Mod - Other.ba2", "Mod - Textures.ba2"];
        assert_eq!(
            names("starfield", "Mod.esm", &archives),
            ["Mod - Main.ba2", "Mod - Textures.ba2", "Mod - Voices_en.ba2"]
        );
    }
}
