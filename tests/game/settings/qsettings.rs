//! Settings that Qt writes: byte arrays, escapes and lists.

use bsafs::game::QSettings;

#[test]
fn byte_arrays_and_escapes_of_qt_are_decoded() {
    let settings = QSettings::parse(
        b"[General]\nselected_profile=@ByteArray(Gr\\xc3\\xb6\\xc3\\x9f\\x65 1)\n\
          gamePath=@ByteArray(Z:\\\\home\\\\u)\nplain=\"a \\\"b\\\"; c\"\nnone=@Invalid()\nat=@@x\n\
          [Settings]\nselected_profile=other\n",
    );
    assert_eq!(settings.get("General", "selected_profile").as_deref(), Some("Größe 1"));
    assert_eq!(settings.get("General", "gamePath").as_deref(), Some("Z:\\home\\u"));
    assert_eq!(settings.get("General", "plain").as_deref(), Some("a \"b\"; c"));
    assert_eq!(settings.get("General", "none"), None);
    assert_eq!(settings.get("General", "at").as_deref(), Some("@x"));
}

#[test]
fn a_list_is_split_at_commas_outside_quotes() {
    let settings = QSettings::parse(b"[Settings]\nskip=.mohidden, \".a,b\", .c\nempty=\n");
    let list = |key| settings.list("Settings", key).map(Iterator::collect::<Vec<_>>);
    assert_eq!(list("skip").unwrap(), [".mohidden", ".a,b", ".c"]);
    assert_eq!(list("empty").unwrap(), [""; 0]);
    assert_eq!(list("other"), None);
}
