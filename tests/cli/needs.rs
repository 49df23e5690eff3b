//! `bsafs needs`: which textures and materials meshes name, and which of them are missing.

use std::fs;

use serde_json::Value;

use crate::mounted::{Finished, TestDir, unmount};
use crate::support::mesh::{Nif, bgsm, geometry};
use crate::support::{Tes4, tes4::FILE_NAMES, tes4::FOLDER_NAMES};

/// A base archive and a mod, with planted gaps: `gone_n.dds`, `lost_d.dds` and `nowhere.bgsm`.
fn world() -> TestDir {
    let dir = TestDir::new();
    let base = Tes4::new(105)
        .flags(FOLDER_NAMES | FILE_NAMES)
        .file("textures\\iron", "cuirass.dds", b"DDS ".to_vec())
        .file("textures\\rock", "rock_d.dds", b"DDS ".to_vec())
        .file("meshes\\iron", "cuirass.nif", Nif::SkyrimSe.naming(&["textures\\iron\\cuirass.dds"]));
    dir.archive("base.bsa", &base.build());
    let write = |path: &str, bytes: &[u8]| {
        let path = dir.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let iron = ["Textures\\Iron\\CUIRASS.dds", "C:\\Work\\Data\\textures\\iron\\gone_n.dds", "Scene.nif"];
    write("Mod/meshes/iron/cuirass.nif", &Nif::SkyrimSe.naming(&iron));
    let rock = ["Materials\\rock.bgsm", "textures\\old\\rock.dds", "materials\\nowhere.bgsm"];
    write("Mod/meshes/rock.nif", &Nif::Fallout4.naming(&rock));
    write("Mod/materials/rock.bgsm", &bgsm(&["rock\\rock_d.tga", "", "null.dds", "rock/lost_d.dds"]));
    write("Mod/meshes/plain.nif", &Nif::Fallout3.naming(&[]));
    dir
}

const SOURCES: [&str; 2] = ["base.bsa", "Mod"];

fn needs(dir: &TestDir, arguments: &[&str]) -> Finished {
    dir.run([&["needs"], &SOURCES[..], arguments].concat())
}

#[test]
fn each_named_file_has_its_layer_or_is_missing() {
    let dir = world();
    let found = needs(&dir, &["MESHES\\iron\\cuirass.nif"]);
    let expected = "meshes/iron/cuirass.nif   from Mod\n  \
                    textures/iron/cuirass.dds   base.bsa\n  \
                    textures/iron/gone_n.dds    missing\n\
                    1 of 2 files is missing\n";
    assert_eq!((found.code, &*found.out, &*found.err), (1, expected, ""));
}

#[test]
fn materials_are_followed_and_their_textures_count_instead_of_the_meshs() {
    let dir = world();
    let found = needs(&dir, &["meshes/rock.nif"]);
    let expected = "meshes/rock.nif   from Mod\n  \
                    materials/rock.bgsm          Mod\n    \
                    textures/rock/rock_d.dds   base.bsa\n    \
                    textures/rock/lost_d.dds   missing\n  \
                    textures/old/rock.dds        \
                    not there; the mesh has a material, which names the textures\n  \
                    materials/nowhere.bgsm       missing\n\
                    2 of 4 files are missing\n";
    assert_eq!((found.code, &*found.out, &*found.err), (1, expected, ""));
}

#[test]
fn all_gaps_are_found_and_nothing_else_is_reported() {
    let dir = world();
    let found = needs(&dir, &["--missing", "--json"]);
    let mut missing = Vec::new();
    for line in found.out.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        for need in line["needs"].as_array().unwrap() {
            assert_eq!(need["state"], "missing");
            missing.push(need["path"].as_str().unwrap().to_owned());
        }
    }
    missing.sort();
    missing.dedup();
    let planted = ["materials/nowhere.bgsm", "textures/iron/gone_n.dds", "textures/rock/lost_d.dds"];
    assert_eq!((found.code, &missing[..]), (1, &planted.map(str::to_owned)[..]));

    for (path, bytes) in
        planted.map(|path| (path, if path.ends_with("bgsm") { bgsm(&[""; 4]) } else { b"DDS ".to_vec() }))
    {
        fs::create_dir_all(dir.path("Mod").join(path).parent().unwrap()).unwrap();
        fs::write(dir.path("Mod").join(path), bytes).unwrap();
    }
    let found = needs(&dir, &["--missing"]);
    assert_eq!((found.code, &*found.out, &*found.err), (0, "6 files needed, and all are there\n", ""));
}

#[test]
fn a_layers_own_copy_is_read_even_if_another_hides_it() {
    let dir = world();
    let found = needs(&dir, &["--of", "base.bsa"]).success();
    assert!(found.starts_with("meshes/iron/cuirass.nif   from base.bsa\n"), "{found}");
    assert!(found.ends_with("\n1 file needed, and it is there\n"), "{found}");
    let unknown = needs(&dir, &["--of", "Nothing"]);
    assert_eq!((unknown.code, unknown.err.contains("no such layer")), (66, true));
}

#[test]
fn who_names_a_texture_is_answered_through_materials_and_for_missing_ones() {
    let dir = world();
    let found =
        needs(&dir, &["--who", "rock/rock_d.dds", "textures\\iron\\gone_n.DDS", "textures/old/rock.dds"]);
    let expected = "textures/rock/rock_d.dds   base.bsa\n  \
                    materials/rock.bgsm   from Mod\n  \
                    meshes/rock.nif   from Mod, by materials/rock.bgsm\n\
                    textures/iron/gone_n.dds   missing\n  \
                    meshes/iron/cuirass.nif   from Mod\n\
                    textures/old/rock.dds   missing\n  \
                    meshes/rock.nif   from Mod\n";
    assert_eq!((found.code, &*found.out, &*found.err), (0, expected, ""));
    let unused = needs(&dir, &["--who", "textures/unused.dds"]);
    assert_eq!((unused.code, unused.out.lines().last()), (1, Some("  no mesh or material names it")));
    assert_eq!(needs(&dir, &["--who", "readme.txt"]).code, 2);
    // No mesh is read, so nothing is known of the texture.
    let unread = needs(&dir, &["--who", "textures/unused.dds", "--glob", "meshs/**"]);
    let none = "bsafs: --glob meshs/**: no file matches; `bsafs list` prints all paths\n";
    assert_eq!((unread.code, &*unread.out, &*unread.err), (1, "", none));
    assert_eq!(needs(&dir, &["--who"]).code, 2);
}

#[test]
fn a_mesh_is_extracted_with_everything_that_it_needs() {
    let dir = world();
    let found = needs(&dir, &["meshes/rock.nif", "--extract", "out"]);
    assert_eq!((found.code, found.err.contains("2 of 4 files are missing")), (1, true), "{found:?}");
    for path in ["meshes/rock.nif", "materials/rock.bgsm", "textures/rock/rock_d.dds"] {
        assert!(dir.path("out").join(path).is_file(), "{path}");
    }
    assert!(!dir.path("out/meshes/iron").exists());
}

#[test]
fn a_mesh_that_cannot_be_read_is_named_and_the_answer_is_no() {
    let dir = world();
    fs::write(dir.path("Mod/meshes/bad.nif"), b"no mesh").unwrap();
    fs::remove_file(dir.path("Mod/meshes/iron/cuirass.nif")).unwrap();
    fs::remove_file(dir.path("Mod/meshes/rock.nif")).unwrap();
    fs::remove_file(dir.path("Mod/materials/rock.bgsm")).unwrap();
    for quiet in [&[][..], &["-q"]] {
        let found = needs(&dir, quiet);
        let why = "bsafs: meshes/bad.nif: it is neither a mesh (NIF) nor a material (BGSM, BGEM, MAT)\n";
        assert_eq!((found.code, &*found.err), (1, why));
    }
    let json = needs(&dir, &["--json", "meshes/bad.nif"]).out;
    assert!(serde_json::from_str::<Value>(&json).unwrap()["unread"].is_string(), "{json}");
}

/// A mod with an archive, in whose mesh is the gap `lost.dds`, and a folder with a mesh that names another.
fn mod_with_an_archive() -> TestDir {
    let dir = TestDir::new();
    let write = |path: &str, bytes: &[u8]| {
        let path = dir.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    write("Mod/meshes/x/ok.nif", &Nif::SkyrimSe.naming(&["textures\\x\\ok.dds"]));
    write("Mod/textures/x/ok.dds", b"DDS ");
    let archive = Tes4::new(105).flags(FOLDER_NAMES | FILE_NAMES).file(
        "meshes\\x",
        "m.nif",
        Nif::SkyrimSe.naming(&["textures\\x\\lost.dds"]),
    );
    dir.archive("Mod/Mod.bsa", &archive.build());
    write("Ref/meshes/a.nif", &Nif::SkyrimSe.naming(&["textures\\a.dds", "meshes\\b.nif"]));
    write("Ref/meshes/b.nif", &Nif::SkyrimSe.naming(&["textures\\gone.dds", "meshes\\a.nif"]));
    write("Ref/textures/a.dds", b"DDS ");
    dir
}

const LOST: &str =
    "meshes/x/m.nif   from Mod/Mod.bsa\n  textures/x/lost.dds   missing\n1 of 2 files is missing\n";

#[test]
fn the_archives_of_a_mod_are_of_the_mod() {
    let dir = mod_with_an_archive();
    let found = dir.run(["needs", "Ref", "Mod", "--missing", "--of", "Mod"]);
    assert_eq!((found.code, &*found.out), (1, LOST));
    let found = dir.run(["needs", "Ref", "Mod", "--missing", "--of", "Mod.bsa"]);
    assert_eq!(found.out.lines().last(), Some("1 of 1 file is missing"));
    // What another layer hides is of the mod, too.
    fs::create_dir_all(dir.path("Top/meshes/x")).unwrap();
    fs::write(dir.path("Top/meshes/x/m.nif"), Nif::SkyrimSe.naming(&[])).unwrap();
    let found = dir.run(["needs", "Mod", "Top", "--missing", "--of", "mod"]);
    assert_eq!((found.code, &*found.out), (1, LOST));
}

#[test]
fn a_folder_or_file_in_a_mount_is_searched_in_the_whole_mount() {
    let dir = mod_with_an_archive();
    dir.run(["mount", "Mod", "mnt"]).success();
    let found = dir.run(["needs", "mnt/meshes", "--missing"]);
    assert_eq!((found.code, &*found.out), (1, LOST));
    for mesh in ["mnt/meshes/x/ok.nif", dir.path("mnt/meshes/x/ok.nif").to_str().unwrap()] {
        let found = dir.run(["needs", mesh]);
        let expected = "meshes/x/ok.nif   from Mod\n  textures/x/ok.dds   Mod\n\
                        1 file needed, and it is there\n";
        assert_eq!((found.code, &*found.out, &*found.err), (0, expected, ""), "{mesh}");
    }
    let found = dir.run(["needs", "mnt", "--who", "mnt/textures/x/ok.dds", "mnt/textures/x/lost.dds"]);
    assert_eq!(found.code, 0, "{found:?}");
    assert_eq!(found.out, dir.run(["needs", "Mod", "--who", "x/ok.dds", "x/lost.dds"]).out);
    // Only one of the sources is limited.
    assert_eq!(dir.run(["needs", "mnt/meshes", "Ref"]).code, 2);
    assert_eq!(unmount(&dir.path("mnt")).code, 0);
}

#[test]
fn a_part_of_a_mod_on_the_disk_is_refused_with_the_command_that_works() {
    let dir = mod_with_an_archive();
    let advice = [
        ("Mod/meshes", "`bsafs needs Mod 'meshes/**'`"),
        ("Mod/meshes/", "`bsafs needs Mod 'meshes/**'`"),
        ("Mod/meshes/x", "`bsafs needs Mod 'meshes/x/**'`"),
        ("Mod/textures", "`bsafs needs Mod 'textures/**'`"),
        ("Mod/meshes/x/ok.nif", "`bsafs needs Mod meshes/x/ok.nif`"),
    ];
    for (source, expected) in advice {
        let found = dir.run(["needs", source]);
        assert_eq!((found.code, found.err.contains(expected)), (2, true), "{source}: {found:?}");
    }
    assert_eq!(dir.run(["needs", "Mod", "meshes/x/ok.nif"]).code, 0);
    // A mod may be called so.
    fs::rename(dir.path("Mod"), dir.path("Textures")).unwrap();
    assert_eq!(dir.run(["needs", "Textures", "meshes/x/ok.nif"]).code, 0);
}

#[test]
fn existing_files_are_replaced_by_extract_on_demand() {
    let dir = mod_with_an_archive();
    let extract = |more: &[&str]| {
        dir.run([&["needs", "Mod", "meshes/x/ok.nif", "--extract", "out"][..], more].concat())
    };
    let found = extract(&[]);
    assert_eq!((found.code, &*found.err), (0, ""), "{found:?}");
    assert!(found.out.starts_with("1 file needed, and it is there\nwrote 2 files"), "{found:?}");
    fs::write(dir.path("out/textures/x/ok.dds"), b"old ").unwrap();
    assert_eq!(extract(&[]).code, 1);
    let found = extract(&["--overwrite"]);
    assert_eq!((found.code, fs::read(dir.path("out/textures/x/ok.dds")).unwrap()), (0, b"DDS ".to_vec()));
    assert_eq!(dir.run(["needs", "Mod", "--overwrite"]).code, 2);
}

#[test]
fn an_answer_about_nothing_is_no() {
    let dir = mod_with_an_archive();
    let of_other = ["needs", "Ref", "Mod", "meshes/x/ok.nif", "--of", "Ref"];
    for arguments in [&["needs", "Mod", "textures"][..], &of_other] {
        let found = dir.run(arguments);
        let is_said = found.err.contains("no mesh or material");
        assert_eq!((found.code, &*found.out, is_said), (1, "", true), "{arguments:?}: {found:?}");
    }
    // A pattern without a match is named beside others.
    for command in ["needs", "list"] {
        for other in ["meshes/x/ok.nif", "meshes/x/ok*"] {
            let found = dir.run([command, "Mod", other, "meshes/none/**"]);
            let expected = "bsafs: meshes/none/**: no file matches; `bsafs list` prints all paths\n";
            assert_eq!((found.code, &*found.err), (1, expected), "{command}: {found:?}");
            assert!(found.out.starts_with("meshes/x/ok.nif"), "{found:?}");
        }
    }
}

#[test]
fn a_mesh_that_another_names_is_followed() {
    let dir = mod_with_an_archive();
    let found = dir.run(["needs", "Ref", "meshes/a.nif"]);
    let expected = "meshes/a.nif   from Ref\n  textures/a.dds        Ref\n  meshes/b.nif          Ref\n    \
                    textures/gone.dds   missing\n    meshes/a.nif        Ref\n1 of 4 files is missing\n";
    assert_eq!((found.code, &*found.out), (1, expected));
    fs::write(dir.path("Ref/textures/gone.dds"), b"DDS ").unwrap();
    dir.run(["needs", "Ref", "meshes/a.nif", "--extract", "out"]).success();
    dir.run(["needs", "out"]).success();
}

#[test]
fn an_answer_without_a_mesh_that_cannot_be_read_says_so() {
    let dir = mod_with_an_archive();
    fs::create_dir_all(dir.path("Cut/meshes")).unwrap();
    fs::write(dir.path("Cut/meshes/cut.nif"), b"no mesh").unwrap();
    let found = dir.run(["needs", "Cut"]);
    let expected = "0 meshes read; 1 mesh cannot be read, so more may be missing\n";
    assert_eq!((found.code, &*found.out), (1, expected));
    let found = dir.run(["needs", "Cut", "Mod", "--who", "textures/x/ok.dds"]);
    assert_eq!((found.code, found.err.contains("may name these files, too")), (1, true), "{found:?}");
}

#[test]
fn meshes_in_folders_that_mod_organizer_hides_are_not_read() {
    let dir = mod_with_an_archive();
    fs::rename(dir.path("Ref/meshes"), dir.path("Ref/Old.MoHidden")).unwrap();
    let found = dir.run(["needs", "Ref"]);
    assert_eq!((found.code, &*found.out), (0, "0 meshes read\n"));
}

#[test]
fn materials_of_starfield_may_be_compiled_but_geometry_is_needed() {
    let dir = TestDir::new();
    let meshes = dir.path("Mod/meshes");
    fs::create_dir_all(&meshes).unwrap();
    let mesh = Nif::Starfield.naming(&["Materials\\hull.mat"]);
    fs::write(meshes.join("ship.nif"), [mesh, geometry("ab\\cd"), vec![0; 300]].concat()).unwrap();
    let found = dir.run(["needs", "Mod"]);
    let expected = "meshes/ship.nif   from Mod\n  \
                    materials/hull.mat      no loose file; the compiled materials are not read\n  \
                    geometries/ab/cd.mesh   missing\n\
                    1 of 1 file is missing\n";
    assert_eq!((found.code, &*found.out), (1, expected));
    // A loose material takes the place of the compiled one.
    fs::create_dir_all(dir.path("Mod/materials")).unwrap();
    fs::write(dir.path("Mod/materials/hull.mat"), br#"{"FileName": "Data\\Textures\\hull.dds"}"#).unwrap();
    let found = dir.run(["needs", "Mod", "meshes/ship.nif"]);
    assert!(found.out.contains("    textures/hull.dds     missing\n"), "{found:?}");
}

#[test]
fn why_says_which_meshes_near_it_name_a_missing_texture() {
    let dir = world();
    let why = |thing: &str| dir.run(["why", "--in", "base.bsa", "--in", "Mod", thing]);
    let found = why("Textures\\IRON\\gone_n.dds");
    assert_eq!(found.code, 1);
    assert!(found.out.contains("meshes/iron/cuirass.nif"), "{}", found.out);
    assert!(found.out.contains("Mod --who textures/iron/gone_n.dds` finds others"), "{}", found.out);
    // Through a material, which is near, while the mesh is in another folder.
    let found = why("textures/rock/lost_d.dds");
    assert!(!found.out.contains("names it, and"), "{}", found.out);
    assert!(found.out.contains("--who textures/rock/lost_d.dds`"), "{}", found.out);
    // No mesh of this folder names it, and what is there is no reason.
    let found = why("textures/iron/nobody.dds");
    assert!(found.out.contains("no mesh in this folder names it"), "{}", found.out);
    assert!(!why("textures/iron/cuirass.dds").out.contains("--who"));
    assert!(!why("readme.txt").out.contains("--who"));
}

#[test]
fn why_finds_the_face_that_lacks_its_tint_by_the_name_of_the_plugin() {
    let dir = TestDir::new();
    let texture = "textures\\actors\\character\\facegendata\\facetint\\My.esp\\00000800.dds";
    let mesh = dir.path("Mod/meshes/actors/character/facegendata/facegeom/My.esp/00000800.nif");
    fs::create_dir_all(mesh.parent().unwrap()).unwrap();
    fs::write(&mesh, Nif::SkyrimSe.naming(&[texture])).unwrap();
    let found = dir.run(["why", "--in", "Mod", texture]);
    let expected = "meshes/actors/character/facegendata/facegeom/my.esp/00000800.nif";
    assert!(found.out.to_lowercase().contains(expected), "{}", found.out);
}
