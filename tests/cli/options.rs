//! Profiles and values of `-o`, as a mount plans them. Nothing is opened.

use std::fs;
use std::path::PathBuf;

use bsafs::cli::{Exit, Failure, MOUNT_OPTIONS, PlannedMount, plan_mount};
use bsafs::fs::Owner;
use tempfile::TempDir;

/// The plan of a mount of an archive with these values of `-o`.
fn parse(values: &[&str]) -> Result<PlannedMount, Failure> {
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    plan_mount(&["a.bsa".into()], &values)
}

#[test]
fn every_option_is_accepted_with_its_example_and_has_an_effect() {
    let before = format!("{:?}", parse(&[]).unwrap());
    for row in MOUNT_OPTIONS {
        let option = format!("{}{}", row.name, row.example);
        let after = parse(&[&option]).unwrap_or_else(|failure| panic!("{}", failure.what));
        assert_ne!(format!("{after:?}"), before, "{option}");
        assert_eq!(row.name.ends_with('='), !row.example.is_empty(), "{option}");
    }
}

#[test]
fn options_that_mount_and_fstab_pass_are_accepted() {
    let passed = "rw,dev,suid,nofail,noauto,user,_netdev,x-systemd.automount,X-mount.mkdir,relatime,fsname=a";
    assert!(parse(&[passed]).is_ok());
    assert!(parse(&["lazytime,iversion,mand,silent,_rnetdev,auto_unmount,nosymfollow"]).is_ok());
    let failure = parse(&["remount,ro"]).unwrap_err();
    assert!(failure.what.contains("mount again"), "{}", failure.what);
}

#[test]
fn a_flag_with_a_value_is_refused_and_not_turned_on() {
    for option in ["allow_other=no", "force=false", "static=0"] {
        let failure = parse(&[option]).unwrap_err();
        assert!(failure.what.starts_with(&format!("-o {option}: the option takes no value")), "{failure:?}");
    }
}

#[test]
fn the_error_names_an_unknown_option() {
    let failure = parse(&["ro,dirsynk"]).unwrap_err();
    assert!(failure.what.contains("dirsynk"), "{}", failure.what);
    assert_eq!(failure.exit, Exit::Usage);
}

#[test]
fn masks_remove_permissions() {
    let parsed = |options| parse(&["uid=7,gid=8", options]).unwrap().presentation.owner;
    let owner = Owner::new(7, 8);
    assert_eq!(parsed("umask=077,dmask=022"), Owner { file_mask: 0o077, folder_mask: 0o022, ..owner });
    // The order of options does not matter.
    for options in ["fmode=666,dmode=777,umask=022", "umask=022,dmode=777,fmode=666"] {
        let masks = Owner { file_mask: 0o022, folder_mask: 0o022, ..owner };
        assert_eq!(parsed(options), Owner { file_mode: 0o666, folder_mode: 0o777, ..masks });
    }
    assert!(parse(&["fmode=1777"]).is_err() && parse(&["umask=8"]).is_err());
}

#[test]
fn a_comma_may_be_part_of_a_value() {
    let planned = parse(&[r"fsname=a\,b,xattr"]).unwrap();
    assert_eq!((planned.request.fsname.as_str(), planned.presentation.xattrs), ("a,b", true));
}

#[test]
fn a_misspelt_archive_is_not_taken_for_a_mountpoint() {
    let planned = |paths: [&str; 2]| plan_mount(&paths.map(PathBuf::from), &[]).unwrap();
    let misspelt = planned(["a.bsa", "no-such.ba2"]);
    assert_eq!((misspelt.expanded.len(), misspelt.mountpoint), (2, None));
    assert_eq!(planned(["a.bsa", "no-such-folder"]).mountpoint, Some("no-such-folder".into()));
}

/// A folder with a profile.
struct InFolder(TempDir);

impl InFolder {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn paths(&self, names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(|name| self.path(name)).collect()
    }

    /// The plan of a mount of a profile with this text.
    fn plan(&self, text: &str) -> Result<PlannedMount, Failure> {
        fs::write(self.path("p.toml"), text).unwrap();
        // Only an own profile decides the mountpoint.
        plan_mount(&[self.path("p.toml"), self.path("given")], &[])
    }
}

fn in_folder() -> InFolder {
    InFolder(TempDir::new().unwrap())
}

#[test]
fn relative_paths_in_a_profile_start_at_its_folder() {
    let folder = in_folder();
    let text = "archives = ['a.bsa', '/b.bsa', 'skyrimse', '~/c.bsa']\nfolder = 'Data'\nmountpoint = 'mnt'\n\
                options = 'xattr,names=x,names=/y'";
    let planned = folder.plan(text).unwrap();
    let home = std::env::home_dir().unwrap();
    let expected = [folder.path("Data/a.bsa"), "/b.bsa".into(), "skyrimse".into(), home.join("c.bsa")];
    assert_eq!(planned.expanded, expected);
    assert_eq!((planned.mountpoint, planned.presentation.xattrs), (Some(folder.path("given")), true));
    let names = [folder.path("x"), "/y".into()];
    assert!(planned.options.contains(&format!("names: {names:?}")), "{}", planned.options);
}

#[test]
fn a_profile_with_a_misspelt_key_or_another_profile_is_refused() {
    let folder = in_folder();
    let failure = folder.plan("archives = ['a.bsa']\nmountpiont = 'x'").unwrap_err();
    assert!(failure.what.contains("mountpiont"), "{failure:?}");
    for archives in ["['p.toml']", "['*.toml']", "['skyrimse', 'Other.TOML']"] {
        let failure = folder.plan(&format!("archives = {archives}")).unwrap_err();
        assert!(failure.what.contains("cannot name another profile"), "{failure:?}");
    }
}

#[test]
fn a_pattern_expands_to_the_matching_files_sorted_by_name() {
    let folder = in_folder();
    for name in ["b.BSA", "A.bsa", "[Set] b.bsa", "[Set] a.bsa", "c.ba2", "S.bsa", "what?.bsa", "x{1}!.txt"] {
        fs::write(folder.path(name), "").unwrap();
    }
    fs::create_dir(folder.path("folder.bsa")).unwrap();
    let found = |archives: &str| folder.plan(&format!("archives = {archives}")).map(|it| it.expanded);
    let all = ["c.ba2", "[Set] a.bsa", "[Set] b.bsa", "A.bsa", "b.BSA", "S.bsa", "what?.bsa"];
    assert_eq!(found("['c.ba2', '*.bsa']").unwrap(), folder.paths(&all));
    assert_eq!(found("['[set] ?.bsa']").unwrap(), folder.paths(&["[Set] a.bsa", "[Set] b.bsa"]));
    assert_eq!(found("['x{1}!*']").unwrap(), folder.paths(&["x{1}!.txt"]));
    // A file has exactly this name.
    assert_eq!(found("['what?.bsa']").unwrap(), folder.paths(&["what?.bsa"]));
    let failure = found("['A.bsa', 'none/*.bsa']").unwrap_err();
    assert_eq!(failure.what, format!("{}: no such file or folder", folder.path("none").display()));
    let failure = found("['A.bsa', '*.bsa2']").unwrap_err();
    assert!(failure.what.contains("no file matches") && failure.what.contains("*.bsa2"), "{failure:?}");
}
