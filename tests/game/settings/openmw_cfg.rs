//! OpenMW's settings: what its paths are relative to.

use std::path::Path;

use bsafs::game::{Cfg, OpenmwFolders};

#[test]
fn paths_are_relative_to_their_file_or_to_a_token() {
    let cfg = Cfg::parse(Path::new("/cfg"), b" # data=1\n data = x \n other=y");
    let places = OpenmwFolders { user_data: "/data".into(), ..OpenmwFolders::default() };
    assert_eq!(cfg.values("data").collect::<Vec<_>>(), ["x"]);
    assert_eq!(cfg.path("./mods/../x", &places), Path::new("/cfg/mods/../x"));
    assert_eq!(cfg.path("?userdata?data", &places), Path::new("/data/data"));
    assert_eq!(cfg.path("/absolute", &places), Path::new("/absolute"));
}
