//! `bsafs conflicts`: which layer wins, which copies it hides, whether these are equal, and the
//! counts of each layer.

use std::fs;

use serde_json::{Value, json};

use super::{with_a_bad_file, with_a_wrong_checksum};
use crate::mounted::TestDir;
use crate::support::{Ba2, Tes3, Tes4};

/// Two archives and a folder above them. `both.txt` is equal in both archives. `misc/all.txt`
/// differs in all layers. The upper layers hide all files of `low.bsa`.
fn three_layers() -> TestDir {
    let dir = TestDir::new();
    let low = Tes3::new().file("misc\\all.txt", b"low").file("both.txt", b"the same");
    let middle = Tes4::new(104).file("Misc", "All.TXT", b"mid").file("", "both.txt", b"the same");
    dir.archive("low.bsa", &low.build());
    dir.archive("middle.bsa", &middle.build());
    fs::create_dir_all(dir.path("loose/MISC")).unwrap();
    fs::write(dir.path("loose/MISC/all.txt"), b"of the folder").unwrap();
    fs::write(dir.path("loose/alone.txt"), b"1").unwrap();
    dir
}

const LAYERS: [&str; 3] = ["low.bsa", "middle.bsa", "loose"];

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_conflict_is_printed_with_its_winner_and_hidden_copies() {
    let dir = three_layers();
    let printed = dir.run(["conflicts"].iter().chain(&LAYERS)).success();
    let [low, middle, loose] = LAYERS;
    let root = dir.path("low.bsa").parent().unwrap().display().to_string();
    let expected = format!(
        "in {root}
{root}/{low}, {root}/{middle}, {root}/{loose}
  Layers fully hidden  1: {low}
  Conflicts            3 hidden files in 3 pairs
  Equal copies         not compared

    hidden  pair, most hidden files first
         1  {middle} hides {low}
         1  {loose} hides {low}
         1  {loose} hides {middle}

both.txt
  from    {middle}
  hides   {low}
misc/all.txt
  from    {loose}
  hides   {middle}
  hides   {low}

     files   winning    hidden  layer, lowest first
         2         0         2  {low}  (all files hidden)
         2         1         1  {middle}
         2         2         0  {loose}
2 conflicts
"
    );
    assert_eq!(printed.to_lowercase(), expected.to_lowercase());
}

#[test]
fn with_globs_layers_without_matching_files_are_left_out_of_the_summary() {
    let dir = three_layers();
    let conflicts =
        |more: &[&str]| dir.run([&["conflicts", "--glob", "both.txt"][..], more, &LAYERS].concat()).success();
    let printed = conflicts(&[]);
    let summary: Vec<&str> = printed.lines().skip_while(|line| !line.contains("winning")).skip(1).collect();
    assert_eq!(summary.len(), 3, "{printed}");
    assert!(summary[0].contains("low.bsa") && summary[1].contains("middle.bsa"), "{printed}");
    assert_eq!(summary[2], "1 conflict in --glob both.txt");
    // Programs get the same layers.
    assert_eq!(json_lines(&conflicts(&["--json"])).len(), 1 + 2);
}

#[test]
fn json_prints_a_line_per_conflict_and_then_per_layer() {
    let dir = three_layers();
    let printed = dir.run(["conflicts", "--json", "--compare"].iter().chain(&LAYERS)).success();
    let lines = json_lines(&printed);
    let copy = |name: &str, fate: &str, code: &str| {
        let layer = dir.path(name);
        json!({"layer": layer, "why": "", "fate": fate, "code": code})
    };
    let wins = |name: &str| copy(name, "wins", "there");
    let [low, middle] = ["low.bsa", "middle.bsa"].map(|name| copy(name, "loses", "hidden"));
    assert_eq!(lines.len(), 5, "{printed}");
    assert_eq!(
        lines[0],
        json!({"path": "both.txt", "winner": wins("middle.bsa"), "hidden": [low], "equal": [true]})
    );
    assert_eq!((&lines[1]["winner"], &lines[1]["hidden"]), (&wins("loose"), &json!([middle, low])));
    assert_eq!(lines[1]["equal"], json!([false, false]));
    let tally = json!({
        "layer": dir.path("low.bsa"), "why": "", "files": 2, "winning": 0, "hidden": 2, "equal": 1,
        "wholly_shadowed": true,
    });
    assert_eq!(lines[2], tally);
    let counts =
        |line: &Value| ["files", "winning", "hidden", "equal"].map(|key| line[key].as_u64().unwrap());
    assert_eq!((counts(&lines[3]), counts(&lines[4])), ([2, 1, 1, 0], [2, 2, 0, 0]));
    assert_eq!((&lines[3]["wholly_shadowed"], &lines[4]["wholly_shadowed"]), (&false.into(), &false.into()));

    let printed = dir.run(["conflicts", "--json"].iter().chain(&LAYERS)).success();
    assert!(json_lines(&printed).iter().all(|line| line["equal"].is_null()), "{printed}");
}

#[test]
fn the_option_of_prints_only_conflicts_of_that_layer() {
    let dir = three_layers();
    let of = |layer: &str| {
        let printed = dir.run(["conflicts", "--json", "--of", layer].iter().chain(&LAYERS)).success();
        let lines = json_lines(&printed);
        let (conflicts, layers): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line["path"].is_string());
        let text = |value: &Value| value.as_str().unwrap().to_lowercase();
        let conflicts: Vec<String> = conflicts.iter().map(|line| text(&line["path"])).collect();
        (conflicts, layers.len())
    };
    let both = || vec!["both.txt".to_owned(), "misc/all.txt".to_owned()];
    assert_eq!(of("LOOSE"), (vec!["misc/all.txt".to_owned()], 1));
    assert_eq!(of("low.bsa"), (both(), 1));
    assert_eq!(of(dir.path("middle.bsa").to_str().unwrap()), (both(), 1));
    // A part of a name is the name of nothing.
    for part in ["no such", ".bs", "ow.bsa", "oos"] {
        let unknown = dir.run(["conflicts", "low.bsa", "loose", "--of", part]);
        assert_eq!((unknown.code, unknown.out.as_str()), (66, ""));
        let start = format!("bsafs: --of {part}: no such layer; `bsafs order");
        assert!(unknown.err.starts_with(&start), "{unknown:?}");
    }
}

#[test]
fn a_pattern_limits_conflicts_and_counts() {
    let dir = three_layers();
    let lines = dir.run(["conflicts", "--json", "-g", "MISC/*"].iter().chain(&LAYERS)).success();
    let lines = json_lines(&lines);
    let files: Vec<_> = lines[1..].iter().map(|line| line["files"].as_u64().unwrap()).collect();
    assert_eq!((lines.len(), files), (4, vec![1, 1, 1]));
}

#[test]
fn the_summary_counts_equal_copies_and_leaves_out_layers_without_conflicts() {
    let dir = three_layers();
    fs::create_dir(dir.path("quiet")).unwrap();
    fs::write(dir.path("quiet/nothing.txt"), "1").unwrap();
    let printed = dir.run(["conflicts", "--compare", "quiet"].iter().chain(&LAYERS)).success();
    assert!(printed.contains("\n  Equal copies         1 of 3 hidden files\n"), "{printed}");
    assert!(printed.contains("\n         1         1  middle.bsa hides low.bsa\n"), "{printed}");
    assert_eq!(printed.matches("quiet").count(), 1, "only among the sources: {printed}");
}

#[test]
fn without_conflicts_the_summary_says_so() {
    let dir = three_layers();
    let printed = dir.run(["conflicts", "low.bsa"]).success();
    let expected = "  Layers fully hidden  none\n  Conflicts            no conflicts\n0 conflicts\n";
    assert_eq!(printed.split_once('\n').unwrap().1, expected);
}

#[test]
fn an_answer_about_a_part_of_the_files_says_nothing_of_the_whole() {
    let dir = TestDir::new();
    for (layer, files) in [("A", &["meshes/a.nif", "scripts/c.pex"][..]), ("B", &["scripts/c.pex"][..])] {
        for file in files {
            let path = dir.path(format!("{layer}/{file}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, layer).unwrap();
        }
    }
    assert!(dir.run(["conflicts", "A", "B"]).success().contains("  Layers fully hidden  none\n"));
    for (part, words) in
        [(&["scripts"][..], "scripts"), (&["*.pex"], "*.pex"), (&["-g", "*.pex"], "--glob *.pex")]
    {
        let arguments = ["conflicts", "A", "B"].iter().chain(part);
        let shown = dir.run(arguments.clone()).success();
        assert!(!shown.contains("fully hidden"), "{shown}");
        assert!(shown.contains("  A  (all of these files hidden)\n"), "{shown}");
        assert!(shown.contains(&format!("; only {words}\n")), "{shown}");
        assert!(shown.ends_with(&format!("\n1 conflict in {words}\n")), "{shown}");
        let lines = json_lines(&dir.run(arguments.clone().chain(&["--json"])).success());
        assert!(lines.iter().all(|line| line.get("wholly_shadowed").is_none()), "{lines:?}");
        let page = dir.run(arguments.chain(&["--force", "--html", "page.html"]));
        assert_eq!(page.code, 0, "{page:?}");
        let page = fs::read_to_string(dir.path("page.html")).unwrap();
        assert!(!page.contains("fully hidden") && page.contains(&format!("only {words}</title>")), "{words}");
    }
    // `--of` says nothing of other layers, of which one may be fully hidden.
    for (of, says) in [
        ("B", "B: hides 1 file of 1 layer, loses 0 to 0 layers\n"),
        ("A", "A: hides 0 files of 0 layers, loses 1 to 1 layer\n"),
    ] {
        let shown = dir.run(["conflicts", "A", "B", "--of", of]).success();
        assert!(shown.contains(&format!("  Asked about          {says}")), "{shown}");
        assert!(!shown.contains("fully hidden"), "{shown}");
    }
    fs::remove_dir_all(dir.path("A/meshes")).unwrap();
    let shown = dir.run(["conflicts", "A", "B", "--of", "A"]).success();
    assert!(shown.contains("loses 1 to 1 layer, and no file of it wins\n"), "{shown}");
    let diff = dir.run(["diff", "A", "B", "-g", "*.pex"]);
    assert!(diff.out.ends_with("; only --glob *.pex\n"), "{diff:?}");
}

#[test]
fn an_unreadable_file_is_neither_equal_nor_different() {
    let dir = TestDir::new();
    dir.archive("bad.bsa", &with_a_bad_file());
    let (wrong, _, _) = with_a_wrong_checksum();
    dir.archive("wrong.bsa", &wrong);
    let good = Tes4::new(104).file("sound", "bad.wav", crate::support::content::text(3, 9_000));
    dir.archive("good.bsa", &good.build());
    let compared = dir.run(["conflicts", "--compare", "--json", "bad.bsa", "good.bsa"]);
    let lines = json_lines(&compared.out);
    assert_eq!((compared.code, &lines[0]["equal"]), (1, &json!([null])));
    assert!(compared.err.contains("sound/bad.wav: "), "{}", compared.err);
    // `wrong.wav` has no copy in another layer, so it is not read and causes no error.
    let compared = dir.run(["conflicts", "--compare", "--json", "wrong.bsa", "bad.bsa"]).success();
    let good_wav = json_lines(&compared)[0].clone();
    assert_eq!((&good_wav["path"], &good_wav["equal"]), (&"sound/good.wav".into(), &json!([true])));
    // Nothing is read without --compare.
    dir.run(["conflicts", "bad.bsa", "good.bsa"]).success();
}

#[test]
fn many_large_files_are_compared_to_their_last_byte() {
    let dir = TestDir::new();
    for layer in ["one", "two"] {
        fs::create_dir(dir.path(layer)).unwrap();
        for nth in 0..40 {
            let mut bytes = vec![nth; 3 << 20];
            // Every other file differs, in its last byte only.
            bytes[(3 << 20) - 1] = if layer == "two" && nth % 2 == 1 { 0xFF } else { 0 };
            fs::write(dir.path(format!("{layer}/{nth:02}.dds")), bytes).unwrap();
        }
    }
    let printed = dir.run(["conflicts", "--compare", "--json", "one", "two"]).success();
    let equal: Vec<bool> = json_lines(&printed)[..40].iter().map(|it| it["equal"] == json!([true])).collect();
    let expected: Vec<bool> = (0..40).map(|nth| nth % 2 == 0).collect();
    assert_eq!(equal, expected);
}

#[test]
fn a_nameless_file_conflicts_under_the_path_from_another_layer() {
    let dir = TestDir::new();
    let nameless = Ba2::general(1).file("Misc\\Example.txt", "nameless").file("Misc\\Alone.txt", "alone");
    dir.archive("nameless.ba2", &nameless.nameless().build());
    dir.archive("named.bsa", &Tes4::new(104).file("misc", "example.txt", "named").build());
    fs::create_dir_all(dir.path("loose/MISC")).unwrap();
    fs::write(dir.path("loose/MISC/EXAMPLE.txt"), "loose").unwrap();
    for (sources, winner) in [
        (["named.bsa", "nameless.ba2"], "nameless"),
        (["nameless.ba2", "named.bsa"], "named"),
        (["loose", "nameless.ba2"], "nameless"),
        (["nameless.ba2", "loose"], "loose"),
    ] {
        let lines = json_lines(&dir.run(["conflicts", "--json"].iter().chain(&sources)).success());
        let [conflict, layers @ ..] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(conflict["path"].as_str().unwrap().to_lowercase(), "misc/example.txt");
        assert_eq!(conflict["winner"]["layer"], json!(dir.path(sources[1])));
        let hidden = json!([{"layer": dir.path(sources[0]), "why": "", "fate": "loses", "code": "hidden"}]);
        assert_eq!(conflict["hidden"], hidden);
        let files: u64 = layers.iter().map(|layer| layer["files"].as_u64().unwrap()).sum();
        assert_eq!((layers.len(), files), (2, 3));
        // A mount has the same winner, and still opens the file that is listed by its hash.
        let mount = dir.mount(sources);
        assert_eq!(mount.read("misc/Example.txt"), winner.as_bytes());
        assert_eq!(mount.read("misc/alone.txt"), b"alone");
        mount.umount(&dir);
    }
}
