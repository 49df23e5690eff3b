//! When loose files beat archives, by the settings of an installation.

use crate::game::precedence::{Confidence, LooseRule};
use crate::game::settings::ini::{IniFiles, list};
use crate::game::titles::title::LooseSetting;

const SECTION: &str = "Archive";
const INVALIDATE: &str = "bInvalidateOlderFiles";

/// The rule that the INI files set, and how sure it is.
pub(crate) fn rule(setting: LooseSetting, inis: &IniFiles) -> (LooseRule, Confidence) {
    let (is_set, is_set_by_default) =
        (inis.is_set(SECTION, INVALIDATE, false), inis.is_set(SECTION, INVALIDATE, true));
    match setting {
        LooseSetting::Always => (LooseRule::Always, Confidence::High),
        LooseSetting::Dates if is_set_by_default => (LooseRule::ByDate, Confidence::Medium),
        LooseSetting::Invalidate if is_set_by_default => (LooseRule::Always, Confidence::Medium),
        LooseSetting::Dates | LooseSetting::Invalidate => (LooseRule::Never, Confidence::Medium),
        LooseSetting::DataDirsFinal => {
            let folders = inis.get(SECTION, "sResourceDataDirsFinal").map_or("STRINGS\\", |(value, _)| value);
            let folders: Vec<String> = list(folders).map(folder).collect();
            match is_set && folders.is_empty() {
                true => (LooseRule::Always, Confidence::High),
                false => (LooseRule::Below(folders), Confidence::Medium),
            }
        }
    }
}

fn folder(name: &str) -> String {
    name.replace('\\', "/").trim_matches('/').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{LooseRule, LooseSetting, rule};
    use crate::game::settings::ini::{Ini, IniFiles};

    fn of(setting: LooseSetting, text: &str) -> LooseRule {
        let mut inis = IniFiles::default();
        inis.push("Main.ini", Ini::parse(format!("[Archive]\n{text}").as_bytes()));
        rule(setting, &inis).0
    }

    #[test]
    fn fallout_4_needs_both_settings_to_see_loose_files() {
        let strings = LooseRule::Below(vec!["strings".into()]);
        assert_eq!(of(LooseSetting::DataDirsFinal, ""), strings);
        assert_eq!(of(LooseSetting::DataDirsFinal, "bInvalidateOlderFiles=1"), strings);
        let text = "bInvalidateOlderFiles=1\nsResourceDataDirsFinal=";
        assert_eq!(of(LooseSetting::DataDirsFinal, text), LooseRule::Always);
        assert_eq!(of(LooseSetting::DataDirsFinal, "sResourceDataDirsFinal="), LooseRule::Below(Vec::new()));
        let text = "bInvalidateOlderFiles=1\nsResourceDataDirsFinal=Strings\\, Textures\\New\\";
        let below = LooseRule::Below(vec!["strings".into(), "textures/new".into()]);
        assert_eq!(of(LooseSetting::DataDirsFinal, text), below);
    }

    #[test]
    fn the_old_games_see_loose_files_unless_the_setting_is_off() {
        assert_eq!(of(LooseSetting::Dates, ""), LooseRule::ByDate);
        assert_eq!(of(LooseSetting::Dates, "bInvalidateOlderFiles=0"), LooseRule::Never);
        assert_eq!(of(LooseSetting::Invalidate, ""), LooseRule::Always);
        assert_eq!(of(LooseSetting::Invalidate, "bInvalidateOlderFiles=0"), LooseRule::Never);
        assert_eq!(of(LooseSetting::Always, "bInvalidateOlderFiles=0"), LooseRule::Always);
    }
}
