//! `conflicts --html` and `diff --html`: what is on a page, how it is escaped, and what it replaces.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::mounted::{TestDir, run};
use crate::support::{Tes3, dds};

/// A texture of one colour, which is given as BC1 stores it.
fn texture(colour: u16, side: u16) -> Vec<u8> {
    let blocks = usize::from(side / 4) * usize::from(side / 4);
    let [low, high] = colour.to_le_bytes();
    let block = [low, high, low, high, 0, 0, 0, 0];
    [dds::header(dds::BC1, side, side, 1, false), block.repeat(blocks)].concat()
}

fn write(dir: &TestDir, path: &str, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(dir.path(path).parent().unwrap()).unwrap();
    fs::write(dir.path(path), bytes).unwrap();
}

/// Three mods. `sword.dds` is in all of them, other files are in two.
fn mods() -> TestDir {
    let dir = TestDir::new();
    write(&dir, "Low/textures/sword.dds", texture(0xF800, 64));
    write(&dir, "Middle/textures/sword.dds", texture(0x07E0, 64));
    write(&dir, "High/textures/sword.dds", texture(0xF800, 64));
    write(&dir, "Low/textures/shield.dds", texture(0x001F, 64));
    write(&dir, "High/textures/shield.dds", texture(0x07E0, 64));
    write(&dir, "Low/meshes/sword.nif", "mesh");
    write(&dir, "Middle/meshes/sword.nif", "another mesh");
    dir
}

/// The page that a command writes.
fn page(dir: &TestDir, arguments: &[&str]) -> String {
    dir.run(arguments.iter().copied().chain(["--html", "page.html"]));
    fs::read_to_string(dir.path("page.html")).unwrap()
}

/// The text of a page between a beginning and the next end.
fn parts<'p>(page: &'p str, begin: &str, end: &str) -> Vec<&'p str> {
    page.split(begin).skip(1).map(|rest| rest.split(end).next().unwrap()).collect()
}

/// The numbers of the pictures, in the order of the page.
fn pictures(page: &str) -> Vec<&str> {
    parts(page, "<i class=\"p", "\"")
}

/// The names of the files, in the order of the page. Each is a link to its line.
fn names_of(page: &str) -> Vec<String> {
    parts(page, "<a href=\"#f", "</bdi>")
        .iter()
        .map(|link| link.split_once("<bdi>").unwrap().1.to_owned())
        .collect()
}

const LAYERS: [&str; 4] = ["conflicts", "Low", "Middle", "High"];

#[test]
fn a_page_shows_pairs_of_layers_with_most_files_first() {
    let dir = mods();
    let printed = dir.run(LAYERS.iter().chain(&["--html", "page.html"])).success();
    assert!(printed.starts_with("wrote page.html: 4 files, 3 pictures ("), "{printed}");
    let page = fs::read_to_string(dir.path("page.html")).unwrap();
    assert_eq!(
        parts(&page, "<h3>", "</h3>"),
        [
            "<bdi>High</bdi> hides <bdi>Low</bdi>",
            "<bdi>Middle</bdi> hides <bdi>Low</bdi>",
            "<bdi>High</bdi> hides <bdi>Middle</bdi>"
        ]
    );
    let numbers: Vec<Vec<&str>> =
        parts(&page, "<th scope=\"row\">", "</tr>").iter().map(|row| parts(row, "<td>", "</td>")).collect();
    assert_eq!(numbers, [["3", "0", "3"], ["2", "1", "1"], ["2", "2", "0"]]);
    assert_eq!(
        parts(&page, "<dd><bdi>", "</bdi>"),
        ["1: Low", "4 hidden files in 3 pairs", "1 of 4 hidden files"]
    );
    let order = ["<dl>", "id=\"pair-1\"", "id=\"pair-3\"", "id=\"f4\"", "id=\"order\""];
    let places: Vec<usize> = order.iter().map(|part| page.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("<small>wins 12 B; hidden 4 B</small>"), "{page}");
    assert!(page.contains("aria-label=\"wins: sword.dds\""), "{page}");
    assert!(page.contains("64 × 64 BC1, "), "{page}");
}

#[test]
fn a_picture_that_several_textures_have_is_stored_once() {
    let page = page(&mods(), &LAYERS);
    // Red, green and blue.
    assert_eq!(page.matches("url(data:image/png;base64,").count(), 3);
    // Equal files need no pictures.
    assert_eq!(pictures(&page).len(), 4);
}

#[test]
fn equal_files_and_textures_of_equal_pixels_are_marked() {
    let dir = TestDir::new();
    write(&dir, "a/equal.dds", texture(0xF800, 8));
    write(&dir, "b/equal.dds", texture(0xF800, 8));
    // The second colour of each block is not used.
    let mut other = texture(0xF800, 8);
    other[128 + 2] = 1;
    write(&dir, "a/pixels.dds", texture(0xF800, 8));
    write(&dir, "b/pixels.dds", other);
    write(&dir, "a/red.dds", texture(0xF800, 8));
    write(&dir, "b/red.dds", texture(0x07E0, 8));
    let compared = page(&dir, &["conflicts", "a", "b"]);
    assert_eq!(parts(&compared, "<mark>", "</mark>"), ["equal", "equal pixels", "colours"]);
    assert!(!page(&dir, &["conflicts", "a", "b", "--no-compare"]).contains("<mark>"));
}

#[test]
fn what_differs_is_said_in_the_words_of_modders() {
    let dir = TestDir::new();
    let bc3 = |alpha: u8, mips: u8| {
        let blocks = [[alpha, alpha, 0, 0, 0, 0, 0, 0], [0, 0xF8, 0, 0xF8, 0, 0, 0, 0]].concat();
        let count: usize = (0..mips).map(|mip| (64 >> mip) / 4).map(|side: usize| side * side).sum();
        [dds::header(dds::BC3, 64, 64, mips, false), blocks.repeat(count)].concat()
    };
    let mut other_header = texture(0xF800, 64);
    // A reserved field, in which programs write their names.
    other_header[40] = 1;
    let pairs = [
        ("alpha.dds", bc3(0x80, 1), bc3(0xFF, 1), "alpha only"),
        ("format.dds", texture(0xF800, 64), bc3(0xFF, 1), "format BC1 and BC3"),
        ("header.dds", texture(0xF800, 64), other_header, "header only"),
        ("mesh.nif", b"one".to_vec(), b"two".to_vec(), "other bytes"),
        ("mips.dds", bc3(0xFF, 3), bc3(0xFF, 1), "mips: 3 and 1"),
        ("size.dds", texture(0xF800, 64), texture(0xF800, 32), "size 64 and 32"),
    ];
    for (name, wins, hidden, _) in &pairs {
        write(&dir, &format!("low/{name}"), hidden);
        write(&dir, &format!("high/{name}"), wins);
    }
    let page = page(&dir, &["conflicts", "low", "high"]);
    assert_eq!(names_of(&page), pairs.each_ref().map(|pair| pair.0));
    let marks = parts(&page, "<mark>", "</mark>");
    assert_eq!(marks.iter().filter(|mark| **mark == "equal pixels").count(), 2);
    let first: Vec<&str> = marks.into_iter().filter(|mark| *mark != "equal pixels").collect();
    assert_eq!(first, pairs.each_ref().map(|pair| pair.3));
    // The colours of both are one picture, and alpha is another one.
    let alpha = &page[page.find("id=\"f1\"").unwrap()..page.find("id=\"f2\"").unwrap()];
    assert_eq!(parts(alpha, "<figcaption><b>", "</b>"), ["wins", "hidden", "alpha"]);
    let shown = pictures(alpha);
    assert!(shown[0] == shown[1] && shown[0] != shown[2], "{alpha}");
    let swapped = dir.run(["diff", "low", "high", "--html", "diff.html"]);
    assert_eq!(swapped.code, 1);
    let page = fs::read_to_string(dir.path("diff.html")).unwrap();
    assert_eq!(parts(&page, "<mark>", "</mark>")[0], "alpha only");
}

#[test]
fn files_are_filtered_by_state_kind_and_side_without_a_script() {
    let dir = mods();
    let all = page(&dir, &LAYERS);
    for part in ["id=\"show-d\"", "id=\"show-e\"", "id=\"show-t\"", "id=\"show-m\""] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(!all.contains("id=\"show-w\"") && !all.contains("id=\"show-c\""), "{all}");
    let rule = ":root:has(#show-d:checked):has(#show-t:checked) :is(li,.pair,.pair details):not(.dt)";
    assert!(all.contains(rule), "{all}");
    // A pair and a folder have the letters of all of their files.
    assert_eq!(parts(&all, "<details class=\"pair ", "\""), ["d dt e et t", "d dm m", "d dt t"]);
    let of_middle = page(&dir, &[&LAYERS[..], &["--of", "Middle"]].concat());
    assert_eq!(parts(&of_middle, "<details class=\"pair ", "\""), ["d dm m w", "d dt t l"]);
    assert!(of_middle.contains("id=\"show-w\"") && of_middle.contains("id=\"show-l\""), "{of_middle}");
}

#[test]
fn options_that_narrow_the_output_narrow_the_page() {
    let dir = mods();
    let names = |more: &[&str]| {
        let page = page(&dir, &[&LAYERS[..], more].concat());
        names_of(&page)
    };
    assert_eq!(names(&[]).len(), 4);
    assert_eq!(names(&["textures/shield.dds"]), ["shield.dds"]);
    assert_eq!(names(&["--glob", "*.nif"]), ["sword.nif"]);
    assert_eq!(names(&["--of", "Middle"]), ["sword.nif", "sword.dds"]);
}

#[test]
fn a_page_of_differences_shows_where_pixels_differ() {
    let dir = TestDir::new();
    write(&dir, "a/changed.dds", texture(0xF800, 16));
    write(&dir, "b/changed.dds", [texture(0x07E0, 16), vec![0]].concat());
    write(&dir, "a/larger.dds", texture(0xF800, 16));
    write(&dir, "b/larger.dds", texture(0xF800, 32));
    write(&dir, "a/gone.txt", "1");
    write(&dir, "b/new/added.txt", "12");
    let finished = dir.run(["diff", "a", "b", "--html", "page.html"]);
    assert_eq!((finished.code, finished.err.as_str()), (1, ""));
    let page = fs::read_to_string(dir.path("page.html")).unwrap();
    let titles = ["<bdi>Changed</bdi>", "<bdi>Added</bdi>", "<bdi>Removed</bdi>"];
    assert_eq!(parts(&page, "<h3>", "</h3>"), titles);
    assert_eq!(parts(&page, "<figcaption><b>", "</b>"), ["before", "after", "difference", "before", "after"]);
    assert!(page.contains("1 added, 1 removed, 2 changed, 0 equal"), "{page}");
    assert!(
        page.contains("<small>before 1 B</small>") && page.contains("<small>after 2 B</small>"),
        "{page}"
    );
}

#[test]
fn a_difference_that_only_the_largest_mip_has_is_not_shown_as_black() {
    let dir = TestDir::new();
    // Two mips: the smaller one is always the same.
    let mipped = |colour: u16| {
        let large = [&colour.to_le_bytes()[..], &colour.to_le_bytes(), &[0; 4]].concat().repeat(1024 / 4 * 2);
        let small = [0; 8].repeat(512 / 4);
        [&dds::header(dds::BC1, 1024, 8, 2, false)[..], &large, &small].concat()
    };
    for (name, before, after) in [("red.dds", 0, 0xF800), ("blue.dds", 0, 0x001F)] {
        write(&dir, &format!("a/{name}"), mipped(before));
        write(&dir, &format!("b/{name}"), mipped(after));
    }
    assert_eq!(dir.run(["diff", "--compare", "a", "b", "--html", "page.html"]).code, 1);
    let page = fs::read_to_string(dir.path("page.html")).unwrap();
    // What both have in common, and a red and a blue difference.
    assert_eq!(page.matches("background-image:url(").count(), 3);
}

#[test]
fn files_that_are_alone_in_their_folder_share_one_list() {
    let dir = TestDir::new();
    for layer in ["low", "high"] {
        for file in ["a/one.nif", "b/two.nif", "b/three.nif", "c/four.nif", "five.nif"] {
            write(&dir, &format!("{layer}/{file}"), "mesh");
        }
    }
    let page = page(&dir, &["conflicts", "low", "high"]);
    assert_eq!(names_of(&page), ["five.nif", "one.nif", "four.nif", "three.nif", "two.nif"]);
    assert!(page.contains("<a href=\"#f2\"><small>a/</small><bdi>one.nif</bdi></a>"), "{page}");
    assert_eq!(parts(&page, "<h4>", "</h4>"), ["<bdi>b</bdi>"]);
    assert_eq!(page.matches("<ul>").count(), 2);
    assert_eq!(page.matches(" <mark>equal</mark> <small>both 4 B</small></li>").count(), 5);
}

#[test]
fn what_has_no_room_is_one_sentence() {
    let dir = TestDir::new();
    let archive = (0..20_001).fold(Tes3::new(), |archive, file| archive.file(format!("{file}.txt"), b""));
    let archive = archive.build();
    for layer in ["low.bsa", "high.bsa"] {
        dir.archive(layer, &archive);
    }
    let page = page(&dir, &["conflicts", "low.bsa", "high.bsa", "--no-compare"]);
    let note = "The page has no room for 1 file; to narrow it, name a folder, a pattern such as \
                &#39;*sword*&#39;, or --of LAYER.";
    assert_eq!(parts(&page, "role=\"note\">", "</p>"), [note]);
}

#[test]
fn a_page_without_room_for_all_files_names_each_pair_and_layer() {
    let dir = TestDir::new();
    let names: Vec<String> = (0..40).map(|layer| format!("layer {layer:02}.bsa")).collect();
    for (number, name) in names.iter().enumerate() {
        // Each file is in two layers, so that each pair has files; the last pairs have few.
        let files = (0..40).filter(|other| *other != number);
        let archive = files.fold(Tes3::new(), |archive, other| {
            let (low, high) = (number.min(other), number.max(other));
            let many = if low == 0 { 600 } else { 2 };
            (0..many).fold(archive, |archive, file| {
                archive.file(format!("{}\\{low:02}-{high:02}-{file}.txt", "long/".repeat(20)), b"")
            })
        });
        dir.archive(name, &archive.build());
    }
    let arguments = ["conflicts"].into_iter().chain(names.iter().map(String::as_str));
    let page = page(&dir, &arguments.chain(["--no-compare"]).collect::<Vec<_>>());
    let all = 40 * 39 / 2;
    assert_eq!(parts(&page, "<h3>", "</h3>").len(), all);
    assert_eq!(page.matches("<div class=\"files\">").count(), all);
    assert!(page.contains("Load order") && page.contains(" more files not on this page</p>"), "{page}");
    let sections: Vec<&str> = page.split("<div class=\"files\">").skip(1).collect();
    assert!(sections.iter().all(|section| section.contains("<li ")), "a pair has no file");
}

/// The colours of a page's style: those in light, and those in dark.
fn palettes(page: &str) -> [HashMap<String, [f64; 3]>; 2] {
    let style = parts(page, "<style>", "</style>")[0];
    let (light, dark) = style.split_once("prefers-color-scheme: dark").unwrap();
    let dark = dark.split_once("}\n}").unwrap().0;
    let colours = |text: &str| -> HashMap<String, [f64; 3]> {
        let colour = |part: &&str| {
            let (name, rest) = part.split_once(": #").unwrap();
            let digits: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
            let twice = |digit: char| [digit; 2].iter().collect::<String>();
            let digits = if digits.len() == 3 { digits.chars().map(twice).collect() } else { digits };
            let value = u32::from_str_radix(&digits, 16).unwrap();
            (name.to_owned(), [16, 8, 0].map(|shift| f64::from(value >> shift & 255) / 255.))
        };
        text.split("--").skip(1).filter(|part| part.contains(": #")).map(|part| colour(&part)).collect()
    };
    let light = colours(light);
    let mut all = light.clone();
    all.extend(colours(dark));
    [light, all]
}

/// The contrast of two colours, as WCAG defines it.
fn contrast(one: [f64; 3], two: [f64; 3]) -> f64 {
    let luminance = |colour: [f64; 3]| {
        let linear = |it: f64| if it <= 0.04045 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) };
        let [r, g, b] = colour.map(linear);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (one, two) = (luminance(one), luminance(two));
    (one.max(two) + 0.05) / (one.min(two) + 0.05)
}

#[test]
fn texts_stand_out_from_what_is_behind_them_in_light_and_dark() {
    assert_eq!(contrast([1.; 3], [0.; 3]).round(), 21.);
    let page = page(&mods(), &LAYERS);
    for palette in palettes(&page) {
        let of = |name: &str| palette[name];
        assert_eq!(palette.len(), 9, "{palette:?}");
        for (text, backs, least) in [
            ("text", &["back", "card", "mark"][..], 4.5),
            ("soft", &["back", "card", "mark"], 4.5),
            ("wins", &["back", "card"], 4.5),
            ("hidden", &["back", "card"], 4.5),
            ("focus", &["back", "card"], 3.),
        ] {
            for back in backs {
                let found = contrast(of(text), of(back));
                assert!(found >= least, "{text} on {back}: {found:.2}");
            }
        }
    }
}

/// Checks what a screen reader needs: a language, a title, headings in order, and a name for each picture,
/// button and part that opens.
fn assert_accessible(page: &str) {
    assert!(page.contains("<html lang=\"en\">") && !parts(page, "<title>", "</title>")[0].is_empty());
    let headings: Vec<usize> = page
        .match_indices("<h")
        .filter_map(|(at, _)| page[at + 2..].split_once('>')?.0.parse().ok())
        .collect();
    assert_eq!(headings[0], 1);
    assert!(headings.windows(2).all(|two| two[1] <= two[0] + 1 && two[1] > 1), "{headings:?}");
    let named = parts(page, "aria-label=\"", "\"");
    assert_eq!((named.len(), page.matches("<img").count()), (page.matches("role=\"img\"").count(), 0));
    let text = |html: &str| {
        let texts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text).trim());
        texts.collect::<String>()
    };
    let named = named.into_iter().map(str::to_owned);
    let elements = [("<summary>", "</summary>"), ("<label>", "</label>"), ("<a ", "</a>")];
    let headings = [("<h1>", "</h1>"), ("<h2>", "</h2>"), ("<h3>", "</h3>"), ("<h4>", "</h4>")];
    for (begin, end) in elements.into_iter().chain(headings) {
        assert!(parts(page, begin, end).into_iter().all(|it| !text(it).is_empty()), "{begin}");
    }
    assert!(named.into_iter().all(|name| !name.trim().is_empty()));
    assert_eq!(page.matches("<input ").count(), page.matches("<label><input ").count());
    assert_eq!(page.matches("<fieldset>").count(), page.matches("<fieldset><legend>").count());
    assert_eq!(page.matches("<details").count(), page.matches("<summary>").count());
    let ids = parts(page, " id=\"", "\"");
    assert_eq!(ids.len(), ids.iter().collect::<HashSet<_>>().len());
}

#[test]
fn every_picture_button_and_part_has_a_name() {
    let dir = mods();
    write(&dir, "High/textures/alpha.txt", "");
    let shown = page(&dir, &LAYERS);
    assert!(pictures(&shown).len() > 3 && shown.contains("<fieldset>"));
    assert_accessible(&shown);
    let shown = page(&dir, &["diff", "Low", "High"]);
    assert!(pictures(&shown).len() == 3 && shown.contains("<fieldset>"));
    assert_accessible(&shown);
}

#[test]
fn a_texture_without_a_picture_says_why() {
    let dir = TestDir::new();
    write(&dir, "a/bad.dds", "text");
    write(&dir, "b/bad.dds", &texture(0xF800, 64)[..200]);
    let page = page(&dir, &["conflicts", "a", "b"]);
    assert_eq!(pictures(&page), [""; 0]);
    assert!(page.contains("no picture: not a texture"), "{page}");
    assert!(page.contains("64 × 64 BC1, 200 B, no picture: cut off"), "{page}");
}

#[test]
fn only_a_page_is_replaced() {
    let dir = mods();
    let write_to = |file: &str| dir.run(LAYERS.iter().chain(&["--html", file]));
    write_to("new.html").success();
    fs::set_permissions(dir.path("new.html"), PermissionsExt::from_mode(0o600)).unwrap();
    write_to("new.html").success();
    assert_eq!(fs::metadata(dir.path("new.html")).unwrap().permissions().mode() & 0o777, 0o600);
    // Without FILE, the first source is taken for it.
    write(&dir, "Mod.bsa", "archive");
    let refused = dir.run(["conflicts", "--html", "Mod.bsa", "Low", "High"]);
    assert_eq!((refused.code, refused.out.as_str()), (73, ""));
    assert!(refused.err.contains("only a page of bsafs is replaced"), "{}", refused.err);
    assert_eq!(fs::read(dir.path("Mod.bsa")).unwrap(), b"archive");
    assert_eq!(write_to("missing/page.html").code, 73);
    assert_eq!(dir.run(["conflicts", "--open", "Low", "High"]).code, 2);
}

/// Names that would end an element or an attribute, or show another name, with what is shown of them.
const HOSTILE: [(&str, &str); 6] = [
    ("<script>document.title='owned'<", "<script>document.title='owned'<"),
    ("\"><img src=x onerror=alert(1)>.dds", "\"><img src=x onerror=alert(1)>.dds"),
    ("' onfocus=alert(1) autofocus='.dds", "' onfocus=alert(1) autofocus='.dds"),
    ("--><!-- &lt;b&gt; &#60; ]]>.dds", "--><!-- &lt;b&gt; &#60; ]]>.dds"),
    ("exe\u{202e}sdd.dds", "exe%E2%80%AEsdd.dds"),
    ("line\nend\u{1b}[2J.dds", "line%0Aend%1B[2J.dds"),
];

/// A mod whose name has markup and a mark that turns the text around.
const HOSTILE_LAYER: &str = "<b onclick=x>\"'&\u{202e}";

/// Two mods with hostile names. The slashes of `</style>` and `</bdi>` are between folders.
fn hostile() -> TestDir {
    let dir = TestDir::new();
    for layer in ["a", HOSTILE_LAYER] {
        for (name, _) in HOSTILE {
            write(&dir, &format!("{layer}/{name}"), texture(0xF800, 8));
        }
        write(&dir, &format!("{layer}/<//style>/<//bdi><script>alert(2)</script>"), "text");
    }
    dir
}

/// The text that HTML escapes stand for.
fn unescaped(text: &str) -> String {
    // The ampersand comes last: an escape may follow it in the name.
    let escapes = [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    escapes.iter().fold(text.to_owned(), |text, (escape, character)| text.replace(escape, character))
}

#[test]
fn a_hostile_name_stays_in_its_element() {
    let page = page(&hostile(), &["conflicts", "a", HOSTILE_LAYER, "--no-compare"]);
    let names: Vec<String> = names_of(&page).iter().map(|name| unescaped(name)).collect();
    for (_, shown) in HOSTILE {
        assert!(names.iter().any(|name| name == shown), "{shown}: {names:?}");
    }
    let titles: Vec<String> = parts(&page, "<h3>", "</h3>").into_iter().map(unescaped).collect();
    assert_eq!(titles, ["<bdi><b onclick=x>\"'&\\u{202E}</bdi> hides <bdi>a</bdi>"]);
    for forbidden in ["<script", "<img", "<b ", "\u{202e}", "\u{1b}", "' onfocus", "onclick=x>", "--><!--"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert_eq!((page.matches("</style>").count(), page.matches("<style>").count()), (1, 1));
    let policy = parts(&page, "Content-Security-Policy\" content=\"", "\"");
    assert!(policy[0].starts_with("default-src 'none'; img-src data:; "), "{policy:?}");
}

/// Chromium, by the names that distributions give it.
fn browser() -> Option<&'static str> {
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_there)
}

/// What the browser makes of a page: its document, and what it logs.
fn loaded(browser: &str, dir: &TestDir, page: &Path) -> (String, String) {
    let mut command = Command::new(browser);
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"]);
    command.arg(format!("--user-data-dir={}", dir.path("profile").display()));
    command.args(["--dump-dom", &format!("file://{}", page.display())]);
    let finished = run(&mut command);
    (finished.out, finished.err)
}

#[test]
fn a_browser_shows_a_hostile_page_without_an_error() {
    let Some(browser) = browser() else {
        return eprintln!("SKIPPED: no chromium: the page was NOT opened in a browser");
    };
    let dir = hostile();
    let written = page(&dir, &["conflicts", "a", HOSTILE_LAYER]);
    let (document, log) = loaded(browser, &dir, &dir.path("page.html"));
    let said: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(said, [""; 0]);
    assert!(document.contains("<title>Conflicts: a, &lt;b onclick=x&gt;"), "{document}{log}");
    assert_eq!(document.matches("<li id=").count(), written.matches("<li id=").count());
    assert!(!document.contains("<script") && !document.contains("<img"), "{document}");
    // A page whose style is not the one of its policy is an error, so errors are seen.
    write(&dir, "broken.html", written.replacen("<style>", "<style> ", 1));
    let (_, log) = loaded(browser, &dir, &dir.path("broken.html"));
    assert!(
        log.lines().any(|line| line.contains("CONSOLE") && line.contains("Content Security Policy")),
        "{log}"
    );
}
