//! Load orders of small installations that the tests write, for rules that no world covers.

use std::fs;
use std::path::{Path, PathBuf};

use bsafs::NoteCode;
use bsafs::game::{
    ArchiveRule, Disk, Installation, LoadOrder, LooseRule, Overrides, Storefront, plan_game, plan_mo2, title,
};
use tempfile::TempDir;

/// An installation in a temporary folder.
pub(super) struct Tree {
    dir: TempDir,
    pub(super) installation: Installation,
}

impl Tree {
    pub(super) fn new(id: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let [folder, my_games, local] = ["game", "my", "local"].map(|name| dir.path().join(name));
        let title = title(id).unwrap();
        fs::create_dir_all(folder.join(title.data)).unwrap();
        fs::create_dir_all(&my_games).unwrap();
        fs::create_dir_all(&local).unwrap();
        let (my_games, local) = (Some(my_games), Some(local));
        let installation = Installation {
            title,
            store: Storefront::Steam,
            folder,
            prefix: None,
            my_games,
            local,
            language: None,
            prefixes: Vec::new(),
        };
        Self { dir, installation }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    /// Writes files with these texts, and makes their folders.
    pub(super) fn with(self, files: &[(&str, &str)]) -> Self {
        for (relative, text) in files {
            let path = self.path(relative);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self
    }

    pub(super) fn plan(&self) -> LoadOrder {
        plan_game(&Disk::default(), &self.installation, &Overrides::default()).unwrap()
    }
}

/// File names of the layers, lowest first.
fn layers(order: &LoadOrder) -> Vec<String> {
    order.layers.iter().map(|layer| layer.path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

pub(super) fn notes(order: &LoadOrder, code: NoteCode) -> Vec<&str> {
    order.notes.iter().filter(|note| note.code == code).map(|note| note.subject.as_str()).collect()
}

#[test]
fn oblivion_with_settings_in_its_own_folder_reads_no_others() {
    let tree = Tree::new("oblivion").with(&[
        ("game/Data/Here.bsa", ""),
        ("game/Data/There.bsa", ""),
        ("game/Data/On.esp", ""),
        ("game/Oblivion.ini", "[General]\nbUseMyGamesDirectory=0\n[Archive]\nSArchiveList=Here.bsa\n"),
        ("game/Plugins.txt", "On.esp\n"),
        ("my/Oblivion.ini", "[Archive]\nSArchiveList=There.bsa\n"),
        ("local/Plugins.txt", "Gone.esp\n"),
    ]);
    let order = tree.plan();
    assert_eq!(
        (layers(&order), &order.plugins[..]),
        (vec!["Data".into(), "Here.bsa".into()], &["On.esp".into()][..])
    );
    assert_eq!(order.precedence.loose, LooseRule::ByDate);
}

#[test]
fn with_xskybsa_the_last_archive_of_oblivion_wins() {
    let tree = Tree::new("oblivion").with(&[
        ("game/Data/A.bsa", ""),
        ("game/Data/B.bsa", ""),
        ("game/Data/obse/plugins/xSkyBSA.dll", ""),
        ("my/Oblivion.ini", "[Archive]\nSArchiveList=A.bsa, B.bsa\n"),
    ]);
    let order = tree.plan();
    assert_eq!(layers(&order), ["A.bsa", "B.bsa", "Data"]);
    assert_eq!(
        (order.precedence.archives, order.precedence.loose),
        (ArchiveRule::LastWins, LooseRule::Always)
    );
}

#[test]
fn without_invalidation_archives_of_new_vegas_hide_loose_files() {
    let tree = Tree::new("falloutnv").with(&[
        ("game/Data/A.bsa", ""),
        ("game/Data/A.override", ""),
        ("my/Fallout.ini", "[Archive]\nbInvalidateOlderFiles=0\nSArchiveList=A.bsa\n"),
    ]);
    let order = tree.plan();
    assert_eq!(
        (layers(&order), &order.precedence.loose),
        (vec!["Data".into(), "A.bsa".into()], &LooseRule::Never)
    );
    assert_eq!(notes(&order, NoteCode::OverrideFile).len(), 1);
}

#[test]
fn fallout_4_shows_loose_files_only_below_the_folders_of_its_setting() {
    let ini = "[Archive]\nbInvalidateOlderFiles=1\nsResourceDataDirsFinal=STRINGS\\\n";
    let tree = Tree::new("fallout4").with(&[("my/Fallout4.ini", ini), ("game/Data/Fallout4 - Misc.ba2", "")]);
    let order = tree.plan();
    assert_eq!(
        layers(&order),
        ["Data", "Fallout4 - Misc.ba2"],
        "without a setting the vanilla archive list must be used"
    );
    assert_eq!(order.layers[0].shown.only.as_deref(), Some(&["strings".to_owned()][..]));
    let tree = tree.with(&[("my/Fallout4Custom.ini", "[Archive]\nsResourceDataDirsFinal=\n")]);
    let order = tree.plan();
    assert_eq!(layers(&order), ["Fallout4 - Misc.ba2", "Data"]);
    assert_eq!(order.layers[1].shown.only, None);
}

#[test]
fn fallout_4_loads_english_voices_below_those_of_its_language() {
    let tree = Tree::new("fallout4").with(&[
        ("my/Fallout4.ini", "[General]\nsLanguage=de\n[Archive]\nSResourceArchiveList=\n"),
        ("local/Plugins.txt", "*Mod.esp\n"),
        ("game/Data/Mod.esp", ""),
        ("game/Data/Mod - Voices_de.ba2", ""),
        ("game/Data/Mod - Voices_en.ba2", ""),
        ("game/Data/Mod - Voices_fr.ba2", ""),
    ]);
    let order = tree.plan();
    assert_eq!(layers(&order), ["Data", "Mod - Voices_en.ba2", "Mod - Voices_de.ba2"]);
    let [subject] = notes(&order, NoteCode::ArchiveLanguage)[..] else { panic!("{:?}", order.notes) };
    assert!(subject.ends_with("Mod - Voices_fr.ba2"), "{subject}");
}

#[test]
fn german_voices_of_starfield_win_unless_english_ones_are_chosen() {
    let mut tree = Tree::new("starfield").with(&[
        ("game/Starfield.ini", "[Archive]\nsResourceEnglishVoiceList=Starfield - Voices01.ba2\n"),
        ("game/Starfield_de.ini", "[Archive]\nsResourceLocaleVoiceList=Starfield - Voices_de01.ba2\n"),
        ("game/Data/Starfield - Voices01.ba2", ""),
        ("game/Data/Starfield - Voices_de01.ba2", ""),
        ("my/StarfieldPrefs.ini", ""),
        ("local/Plugins.txt", ""),
    ]);
    tree.installation.language = Some("german".into());
    let (english, german) = ("Starfield - Voices01.ba2", "Starfield - Voices_de01.ba2");
    assert_eq!(layers(&tree.plan()), ["Data", english, german]);
    let tree = tree.with(&[("my/StarfieldPrefs.ini", "[Controls]\nbUseLocaleVoices=0\n")]);
    assert_eq!(layers(&tree.plan()), ["Data", english]);
}

#[test]
fn the_data_folder_of_starfield_in_my_games_wins() {
    let tree = Tree::new("starfield").with(&[
        ("game/Starfield.ini", "[Archive]\nSResourceArchiveList=Starfield - Misc.ba2\n"),
        ("game/Data/Starfield - Misc.ba2", ""),
        ("game/Data/Both.esm", ""),
        ("my/StarfieldPrefs.ini", ""),
        ("my/Starfield.ccc", ""),
        ("game/Starfield.ccc", "Both.esm\n"),
        ("my/Data/Starfield - Misc.ba2", ""),
        ("my/Data/Both.esm", ""),
        ("my/Data/Alone.esm", ""),
        ("local/Plugins.txt", "*Alone.esm\n"),
    ]);
    let order = tree.plan();
    let paths: Vec<&Path> = order.layers.iter().map(|layer| layer.path.as_path()).collect();
    let expected = ["game/Data", "my/Data", "my/Data/Starfield - Misc.ba2"].map(|path| tree.path(path));
    assert_eq!(paths, expected.each_ref().map(PathBuf::as_path));
    assert_eq!(order.plugins, [""; 0], "an empty list in My Games must replace the other list");
    assert_eq!(notes(&order, NoteCode::PluginMissing), ["Alone.esm"]);
    assert_eq!(notes(&order, NoteCode::DataTwoPlaces).len(), 1);
}

#[test]
fn archives_of_skyrim_vr_hide_those_of_plugins() {
    let tree = Tree::new("skyrimvr").with(&[
        ("game/Skyrim.ini", "[Archive]\nsResourceArchiveList=Skyrim - Misc.bsa\nsResourceArchiveList2=\n"),
        ("game/Data/Skyrim - Misc.bsa", ""),
        ("game/Data/Skyrim_VR - Main.bsa", ""),
        ("game/Data/Mod.esp", ""),
        ("game/Data/Mod.bsa", ""),
        ("local/Plugins.txt", "*Mod.esp\n"),
    ]);
    assert_eq!(layers(&tree.plan()), ["Skyrim - Misc.bsa", "Mod.bsa", "Skyrim_VR - Main.bsa", "Data"]);
}

#[test]
fn unusual_files_cause_notes_and_the_others_are_planned() {
    let long = vec!["Name of an archive.bsa"; 20].join(", ");
    let ini = format!("[Archive]\nsResourceArchiveList={long}\nsResourceArchiveList2=Good.bsa\n");
    let tree = Tree::new("skyrim").with(&[
        ("my/Skyrim.ini", &ini),
        ("game/Data/Good.bsa", ""),
        (
            "game/Data/Needs.esp",
            "TES4\x1e\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0HEDR\x0c\0............MAST\x06\0A.esm\0",
        ),
        ("local/plugins.txt", "Needs.esp\n"),
        ("local/Plugins.txt", "needs.esp\n"),
    ]);
    std::os::unix::fs::symlink("gone", tree.path("game/Data/Link.bsa")).unwrap();
    fs::create_dir(tree.path("my/SkyrimPrefs.ini")).unwrap();
    let order = tree.plan();
    assert_eq!(
        (layers(&order), &order.plugins[..]),
        (vec!["Good.bsa".into(), "Data".into()], &["Needs.esp".into()][..])
    );
    assert_eq!(notes(&order, NoteCode::ListTooLong), ["sResourceArchiveList in Skyrim.ini"]);
    assert_eq!(notes(&order, NoteCode::ArchiveMissing), ["Name of an archive.bsa"]);
    assert_eq!(notes(&order, NoteCode::MasterMissing), ["A.esm"]);
    assert!(notes(&order, NoteCode::LinkDangling)[0].ends_with("Data/Link.bsa"));
    assert!(notes(&order, NoteCode::PluginsFilesDiffer)[0].ends_with("local/plugins.txt"));
    assert_eq!(notes(&order, NoteCode::NeverStarted), [""; 0]);
}

#[test]
fn the_error_for_a_missing_mo2_profile_lists_the_existing_ones() {
    let tree = Tree::new("skyrimse").with(&[
        (
            "mo2/ModOrganizer.ini",
            "[General]\ngamePath=@ByteArray(Q:\\\\x)\nselected_profile=@ByteArray(Gone)\n",
        ),
        ("mo2/profiles/Default/modlist.txt", "+Two\n+One\n"),
        ("mo2/profiles/Default/plugins.txt", "*Mod.esp\n"),
        ("mo2/mods/One/Mod.esp", ""),
        ("mo2/mods/One/Mod.bsa", ""),
        ("mo2/mods/Two/textures/a.dds", ""),
        ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=\nsResourceArchiveList2=\n"),
    ]);
    let find = |folder: Option<&Path>| match folder {
        None => Ok(tree.installation.clone()),
        Some(folder) => Err(format!("{} must not be searched for", folder.display())),
    };
    let failed = plan_mo2(&Disk::default(), &tree.path("mo2"), &find, &Vec::new, &Overrides::default())
        .unwrap_err()
        .to_string();
    assert!(failed.contains("\"Gone\"") && failed.contains("\"Default\""), "{failed}");
    let overrides = Overrides { mo2_profile: Some("default".into()), ..Overrides::default() };
    let order = plan_mo2(&Disk::default(), &tree.path("mo2"), &find, &Vec::new, &overrides).unwrap();
    assert_eq!(layers(&order), ["Mod.bsa", "Data", "One", "Two"]);
    assert_eq!(order.layers[3].why, "mod \"Two\"");
    let hidden = &order.layers[3].shown.hidden;
    assert!(
        hidden.hides_file(b"a.dds.mohidden") && hidden.hides_folder(b".git") && !hidden.hides_file(b"a.dds")
    );
    let unknown = |_: Option<&Path>| Err(String::new());
    let failed = plan_mo2(&Disk::default(), &tree.path("mo2"), &unknown, &Vec::new, &overrides)
        .unwrap_err()
        .to_string();
    assert!(failed.contains("Q:\\x") && failed.contains("--prefix"), "{failed}");
}

#[test]
fn an_unreadable_plugin_list_is_noted_once() {
    let tree = Tree::new("skyrimse").with(&[("game/Data/Mod.esp", "")]);
    fs::create_dir(tree.path("local/Plugins.txt")).unwrap();
    let order = tree.plan();
    let [subject] = notes(&order, NoteCode::FileUnreadable)[..] else { panic!("{:?}", order.notes) };
    assert!(subject.ends_with("local/Plugins.txt"), "{subject}");
    // The user mistypes the name of a list.
    let overrides = Overrides { plugins: Some(tree.path("plugins.text")), ..Overrides::default() };
    let order = plan_game(&Disk::default(), &tree.installation, &overrides).unwrap();
    let [subject] = notes(&order, NoteCode::FileUnreadable)[..] else { panic!("{:?}", order.notes) };
    assert!(subject.ends_with("plugins.text"), "{subject}");
}

#[test]
fn missing_mods_are_noted_with_the_reason() {
    let ini =
        |settings: &str| format!("[General]\ngamePath=/x\nselected_profile=P\n[Settings]\n{settings}\n");
    let tree = Tree::new("skyrimse").with(&[
        ("mo2/ModOrganizer.ini", &ini("")),
        ("mo2/profiles/P/modlist.txt", "+Disk\n+Up\n+One\n"),
        ("mo2/mods/One/a.txt", ""),
    ]);
    let plan = || {
        plan_mo2(
            &Disk::default(),
            &tree.path("mo2"),
            &|_| Ok(tree.installation.clone()),
            &Vec::new,
            &Overrides::default(),
        )
        .unwrap()
    };
    std::os::unix::fs::symlink("/", tree.path("mo2/mods/Disk")).unwrap();
    std::os::unix::fs::symlink("..", tree.path("mo2/mods/Up")).unwrap();
    let order = plan();
    assert_eq!(layers(&order), ["Data", "One"]);
    assert_eq!(notes(&order, NoteCode::Mo2ModMissing), ["Up", "Disk"]);
    // One note on the missing folder, instead of one for each mod.
    fs::write(tree.path("mo2/ModOrganizer.ini"), ini("mod_directory=Q:/Mods")).unwrap();
    let order = plan();
    assert_eq!(layers(&order), ["Data"]);
    assert_eq!(notes(&order, NoteCode::Mo2ModMissing), [""; 0]);
    assert!(notes(&order, NoteCode::FileUnreadable)[0].ends_with("mo2/ModOrganizer.ini"));
    fs::remove_file(tree.path("mo2/profiles/P/modlist.txt")).unwrap();
    assert!(notes(&plan(), NoteCode::FileUnreadable)[0].ends_with("P/modlist.txt"));
}

#[test]
fn an_mo2_profile_of_morrowind_has_its_own_settings() {
    let tree = Tree::new("morrowind").with(&[
        ("game/Morrowind.ini", "[Archives]\nArchive 0=Game.bsa\n"),
        ("game/Data Files/Morrowind.bsa", ""),
        ("game/Data Files/Game.bsa", ""),
        ("mo2/ModOrganizer.ini", "[General]\nselected_profile=Default\n"),
        ("mo2/profiles/Default/settings.ini", "[General]\nLocalSettings=true\n"),
        ("mo2/profiles/Default/morrowind.ini", "[Archives]\nArchive 0=Mod.bsa\nArchive 2=Game.bsa\n"),
        ("mo2/overwrite/Mod.bsa", ""),
    ]);
    fs::create_dir(tree.path("game/DATA FILES")).unwrap();
    let find = |_: Option<&Path>| Ok(tree.installation.clone());
    let order =
        plan_mo2(&Disk::default(), &tree.path("mo2"), &find, &Vec::new, &Overrides::default()).unwrap();
    let expected = ["Morrowind.bsa", "Mod.bsa", "Data Files", "overwrite"];
    assert_eq!(layers(&order), expected, "archive numbers after a gap must be ignored");
    assert!(notes(&order, NoteCode::FolderCase)[0].ends_with("game/DATA FILES"), "{:?}", order.notes);
}

#[test]
fn a_flag_and_not_the_extension_makes_a_plugin_of_morrowind_a_master() {
    let plugin = |flag: u8| {
        let mut bytes = b"TES3\x14\0\0\0\0\0\0\0\0\0\0\0HEDR\x0c\0\0\0....\0\0\0\0....".to_vec();
        bytes[28] = flag;
        bytes
    };
    let list = "[Game Files]\nGameFile0=A.esp\nGameFile1=B.esm\n";
    let tree = Tree::new("morrowind").with(&[("game/Morrowind.ini", list)]);
    for (name, flag) in [("A.esp", 1), ("B.esm", 0)] {
        fs::write(tree.path("game/Data Files").join(name), plugin(flag)).unwrap();
    }
    assert_eq!(tree.plan().plugins, ["A.esp", "B.esm"]);
}

#[test]
fn listed_archives_are_loaded_only_from_inside_the_data_folder() {
    let list = "Sub\\Deep.bsa, .\\Plain.bsa, plain.bsa, SUB/../sub/deep.BSA, \
                ..\\Out.bsa, Sub\\..\\..\\Out.bsa, Z:\\Out.bsa, /Out.bsa";
    let tree = Tree::new("skyrimse").with(&[
        (
            "my/Skyrim.ini",
            &format!("[Archive]\nsResourceArchiveList={list}\nsResourceArchiveList2=Sub\\None.bsa\n"),
        ),
        ("game/Data/Plain.bsa", ""),
        ("game/Data/sub/deep.bsa", ""),
        ("game/Out.bsa", ""),
    ]);
    let order = tree.plan();
    assert_eq!(layers(&order), ["deep.bsa", "Plain.bsa", "Data"]);
    let missing = notes(&order, NoteCode::ArchiveMissing);
    assert_eq!(missing, ["..\\Out.bsa", "Sub\\..\\..\\Out.bsa", "Z:\\Out.bsa", "/Out.bsa", "Sub\\None.bsa"]);
    let is_out = |note: &&bsafs::Note| note.text.contains("leads out of the data folder");
    assert_eq!(order.notes.iter().filter(is_out).count(), 4);
}

#[test]
fn an_archive_with_the_version_of_another_game_is_noted_but_loaded() {
    let tree = Tree::new("skyrimse").with(&[
        (
            "my/Skyrim.ini",
            "[Archive]\nsResourceArchiveList=Own.bsa, Old.bsa, Ba2.bsa, None.bsa\nsResourceArchiveList2=\n",
        ),
        ("game/Data/Own.bsa", "BSA\0\x69\0\0\0"),
        ("game/Data/Old.bsa", "BSA\0\x68\0\0\0"),
        ("game/Data/Ba2.bsa", "BTDX\x01\0\0\0GNRL"),
        ("game/Data/None.bsa", "nothing known"),
    ]);
    let order = tree.plan();
    assert_eq!(layers(&order), ["Own.bsa", "Old.bsa", "Ba2.bsa", "None.bsa", "Data"]);
    let noted = notes(&order, NoteCode::ArchiveVersion);
    assert_eq!(
        noted.iter().map(|it| it.rsplit('/').next().unwrap()).collect::<Vec<_>>(),
        ["Old.bsa", "Ba2.bsa"]
    );
}

#[test]
fn add_ons_of_the_microsoft_store_are_found_beside_fallout_4() {
    let mut tree = Tree::new("fallout4").with(&[
        ("Fallout 4 (PC)/Content/Data/Fallout4.esm", ""),
        ("Fallout 4 (PC)/Content/Data/Fallout4 - Misc.ba2", ""),
        ("fallout 4- automatron (pc)/Content/Data/DLCRobot.esm", ""),
        ("fallout 4- automatron (pc)/Content/Data/DLCRobot - Main.ba2", ""),
        ("Fallout 4- Far Harbor (PC)/Content/data/DLCCoast.esm", ""),
        ("Fallout 4- Other (PC)/Content/Data/Other.esm", ""),
    ]);
    tree.installation.folder = tree.path("Fallout 4 (PC)/Content");
    assert_eq!(
        tree.plan().plugins,
        ["Fallout4.esm"],
        "only a copy from the Microsoft Store may have add-ons"
    );
    tree.installation.store = Storefront::Microsoft;
    let order = tree.plan();
    assert_eq!(order.plugins, ["Fallout4.esm", "DLCRobot.esm", "DLCCoast.esm"]);
    let paths: Vec<PathBuf> = order.layers.iter().map(|layer| layer.path.clone()).collect();
    let expected = [
        "Fallout 4 (PC)/Content/Data",
        "Fallout 4- Far Harbor (PC)/Content/data",
        "fallout 4- automatron (pc)/Content/Data",
        "Fallout 4 (PC)/Content/Data/Fallout4 - Misc.ba2",
        "fallout 4- automatron (pc)/Content/Data/DLCRobot - Main.ba2",
    ];
    assert_eq!(paths, expected.map(|path| tree.path(path)));
}

#[test]
fn the_root_folder_of_a_mod_is_excluded_only_with_root_builder() {
    let instance = |more: &str| format!("[General]\nselected_profile=Default\n{more}");
    let on = "[PluginPersistance]\nRootBuilder\\enabled=true\n";
    let off = "[PluginPersistance]\nRootBuilder\\enabled=false\n";
    let set = "[Plugins]\nRootBuilder\\autobuild=true\n";
    for (ini, has_folder, is_out) in
        [("", false, false), (on, false, true), (set, false, true), ("", true, true), (off, true, false)]
    {
        let tree = Tree::new("skyrimse").with(&[
            ("mo2/ModOrganizer.ini", &instance(ini)),
            ("mo2/profiles/Default/modlist.txt", "+SKSE\n+Plain\n"),
            ("mo2/mods/SKSE/Root/skse64_loader.exe", ""),
            ("mo2/mods/Plain/textures/a.dds", ""),
        ]);
        if has_folder {
            fs::create_dir_all(tree.path("mo2/plugins/RootBuilder")).unwrap();
        }
        let find = |_: Option<&Path>| Ok(tree.installation.clone());
        let order =
            plan_mo2(&Disk::default(), &tree.path("mo2"), &find, &Vec::new, &Overrides::default()).unwrap();
        assert_eq!(layers(&order), ["Data", "Plain", "SKSE"]);
        assert_eq!(order.layers[2].shown.hidden.hides_at_root(b"Root"), is_out, "{ini} {has_folder}");
        let root = tree.path("mo2/mods/SKSE/Root");
        let noted: &[&str] = if is_out { &[root.to_str().unwrap()] } else { &[] };
        assert_eq!(notes(&order, NoteCode::Mo2RootFolder), noted, "{ini} {has_folder}");
    }
}

#[test]
fn new_vegas_hides_the_paths_of_an_invalidation_list() {
    for (key, loose) in [("1", LooseRule::Always), ("0", LooseRule::Never)] {
        let ini =
            format!("[Archive]\nbInvalidateOlderFiles={key}\nSInvalidationFile=Hidden.txt\nSArchiveList=\n");
        let tree = Tree::new("falloutnv").with(&[("my/Fallout.ini", &ini)]);
        assert_eq!(tree.plan().invalidated, [""; 0], "a missing list must hide nothing");
        let tree = tree.with(&[("game/Data/hidden.TXT", "Meshes\\A.nif\n")]);
        let order = tree.plan();
        assert_eq!(
            (&order.invalidated[..], &order.precedence.loose),
            (&["meshes/a.nif".to_owned()][..], &loose)
        );
        assert!(notes(&order, NoteCode::ArchiveInvalidation)[0].ends_with("Data/hidden.TXT"));
        let tree = tree.with(&[("game/Hidden.txt", "b.dds")]);
        assert_eq!(tree.plan().invalidated, ["b.dds"], "the list in the game's folder must come first");
    }
}

#[test]
fn only_a_few_paths_of_a_very_long_list_are_looked_up() {
    let list: Vec<String> = (0..1_000).map(|at| format!("sub\\{at}.bsa")).collect();
    let ini = format!("[Archive]\nsResourceArchiveList={}\nsResourceArchiveList2=\n", list.join(","));
    let tree = Tree::new("skyrimse").with(&[
        ("my/Skyrim.ini", &ini),
        ("game/Data/sub/0.bsa", ""),
        ("game/Data/sub/63.bsa", ""),
        ("game/Data/sub/64.bsa", ""),
    ]);
    let order = tree.plan();
    assert_eq!(layers(&order), ["0.bsa", "63.bsa", "Data"]);
    assert_eq!(notes(&order, NoteCode::ArchiveMissing).len(), 998);
    assert_eq!(order.notes.iter().filter(|note| note.text.contains("not looked up")).count(), 936);
}
