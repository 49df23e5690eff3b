//! What a command opens, and how: its sources, in place of profiles what these name, and the options that hold for them.

use std::path::{Path, PathBuf};

use super::profile::Profile;
use crate::cli::exit::Failure;
use crate::cli::options::mount_state::{Flags, MountOptions};
use crate::cli::options::open_args::{Layout, OpenArgs};

/// Sources and options; the same ones plan and open the same layers, whichever command they are given to.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceSet {
    /// In load order; none is a profile.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) open: OpenArgs,
    pub(crate) layout: Layout,
    /// Whether suspect files are served.
    pub(crate) salvage: bool,
}

impl SourceSet {
    /// The sources of a command that mounts nothing. Of the options of profiles, those of a mount have no effect.
    pub(crate) fn new(sources: &[PathBuf], flags: &Flags) -> Result<Self, Failure> {
        let Expanded { paths, mut options, .. } = Expanded::new(sources, MountOptions::new())?;
        options.outrank_by(flags);
        Ok(Self::of_options(paths, &options))
    }

    /// Paths, none of which is a profile, with the options of a mount.
    pub(crate) fn of_options(paths: Vec<PathBuf>, options: &MountOptions) -> Self {
        Self {
            paths,
            open: options.open.clone(),
            layout: options.layout.unwrap_or_default(),
            salvage: options.salvage,
        }
    }

    /// One of the paths, or what it leads to, with the same options.
    pub(crate) fn only(&self, path: &Path) -> Self {
        Self { paths: vec![path.to_owned()], ..self.clone() }
    }

    /// The same in one tree, whatever a profile says.
    pub(crate) fn in_one_tree(self) -> Self {
        Self { layout: Layout::Union, ..self }
    }
}

/// Sources without profiles, and what the profiles among them say.
#[derive(Debug)]
pub(crate) struct Expanded {
    /// In load order.
    pub(crate) paths: Vec<PathBuf>,
    /// That of the first profile that has one.
    pub(crate) mountpoint: Option<PathBuf>,
    pub(crate) options: MountOptions,
}

impl Expanded {
    /// Replaces profiles by what they name. Their options outrank `options`, and a later one those before it.
    pub(crate) fn new(sources: &[PathBuf], mut options: MountOptions) -> Result<Self, Failure> {
        let (mut paths, mut mountpoint) = (Vec::with_capacity(sources.len()), None);
        for source in sources {
            if !Profile::is_one(source) {
                paths.push(source.clone());
                continue;
            }
            let mut profile = Profile::read(source)?;
            paths.append(&mut profile.archives);
            mountpoint = mountpoint.or(profile.mountpoint.take());
            options.add(&profile.options, &profile.parent)?;
        }
        Ok(Self { paths, mountpoint, options })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::options::open_args::ParseArgs;
    use crate::format::encoding::Encoding;

    #[test]
    fn flags_outrank_a_later_profile_and_that_an_earlier_one_and_lists_add_up() {
        let dir = tempfile::TempDir::new().expect("a folder");
        let profile = |name: &str, options: &str| {
            let path = dir.path().join(name);
            fs::write(&path, format!("archives = ['{name}.bsa']\noptions = '{options}'")).expect("written");
            path
        };
        let one = profile("one.toml", "encoding=1250,prefix=a,ini=a.ini,names=a.txt,uid=7,force");
        let two = profile("two.toml", "encoding=1251,prefix=b,ini=b.ini,mo2_profile=P,layout=per-archive");
        let sources = [one, PathBuf::from("c.bsa"), two];
        let inside = |names: &[&str]| names.iter().map(|name| dir.path().join(name)).collect::<Vec<_>>();
        let set = SourceSet::new(&sources, &Flags::default()).unwrap_or_else(|it| panic!("{}", it.what));
        assert_eq!(
            set.paths,
            [inside(&["one.toml.bsa"]), vec!["c.bsa".into()], inside(&["two.toml.bsa"])].concat()
        );
        assert_eq!(set.open.parse.encoding().name(), "windows-1251");
        assert_eq!(set.open.source.prefix.as_deref(), Some(&*dir.path().join("b")));
        assert_eq!((set.open.source.inis, set.open.names), (inside(&["a.ini", "b.ini"]), inside(&["a.txt"])));
        assert_eq!((set.layout, set.open.parse.force), (Layout::PerArchive, true));

        // The default, where it is given, outranks too.
        let parse = ParseArgs { encoding: Encoding::from_label("1252"), force: false };
        let mut open = OpenArgs { parse, ..OpenArgs::default() };
        open.source.inis.push("c.ini".into());
        let flags = Flags { open, layout: Some(Layout::Union), ..Flags::default() };
        let set = SourceSet::new(&sources, &flags).unwrap_or_else(|it| panic!("{}", it.what));
        assert_eq!(set.open.parse.encoding().name(), "windows-1252");
        assert_eq!(set.open.source.inis.last(), Some(&"c.ini".into()));
        assert_eq!((set.layout, set.open.source.mo2_profile.as_deref()), (Layout::Union, Some("P")));
    }
}
