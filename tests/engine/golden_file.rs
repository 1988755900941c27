//! Files below `data/golden`: what is printed or answered, as it was reviewed.

use std::path::Path;

/// Compares with a golden file, or writes it.
pub(crate) fn compare_with_golden(name: &str, text: &str) {
    // The packages of the workspace share the folder.
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = package.ancestors().map(|root| root.join("data/golden"));
    let folder = folders.find(|folder| folder.is_dir()).expect("the folder");
    let path = folder.join(name);
    if std::env::var_os("SIGNALDEX_BLESS").is_some() {
        std::fs::write(&path, text).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file can be read");
    for (number, (found, expected)) in text.lines().zip(golden.lines()).enumerate() {
        assert_eq!(found, expected, "{name}, line {}", number + 1);
    }
    assert_eq!(
        text.lines().count(),
        golden.lines().count(),
        "{name}: the number of lines"
    );
}
