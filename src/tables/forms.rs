//! What a file is, by its first bytes.

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileForm {
    /// JSON lines, CSV, or a text of another encoding.
    Text,
    Workbook,
    Parquet,
    /// What it is, and the way out.
    Refused(&'static str),
}

const OLD_WORKBOOK: &str = "is an .xls workbook of before 2007; save it as .xlsx or CSV";
const NUMBERS: &str = "is a document of Apple Numbers; export it as .xlsx or CSV";
const OPEN_DOCUMENT: &str = "is an OpenDocument file; save it as .xlsx or CSV";
const ARCHIVE: &str = "is a zip archive and no .xlsx workbook; unpack it first";
const HTML: &str =
    "is HTML, whatever its name says; open it in a spreadsheet and save it as .xlsx or CSV";
const XML: &str =
    "is XML, whatever its name says; open it in a spreadsheet and save it as .xlsx or CSV";
const PDF: &str = "is a PDF; export the table from the program that made it, as .xlsx or CSV";

impl FileForm {
    /// The form of a file that begins with these bytes.
    pub(super) fn of(beginning: &[u8]) -> FileForm {
        let text = beginning.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(beginning);
        let text = text.trim_ascii_start();
        let is_tag = |tag: &str| {
            let start = text.get(..tag.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
        };
        if beginning.starts_with(b"PK\x03\x04") {
            FileForm::of_archive(beginning)
        } else if beginning.starts_with(b"PAR1") {
            FileForm::Parquet
        } else if beginning.starts_with(b"\xD0\xCF\x11\xE0") {
            FileForm::Refused(OLD_WORKBOOK)
        } else if text.starts_with(b"%PDF") {
            FileForm::Refused(PDF)
        } else if ["<!doctype html", "<html", "<table", "<head", "<meta"]
            .into_iter()
            .any(is_tag)
        {
            FileForm::Refused(HTML)
        } else if is_tag("<?xml") {
            FileForm::Refused(XML)
        } else {
            FileForm::Text
        }
    }

    /// The form of a zip archive, by the names of its first files.
    fn of_archive(beginning: &[u8]) -> FileForm {
        let has = |name: &str| {
            beginning
                .windows(name.len())
                .any(|bytes| bytes == name.as_bytes())
        };
        if has("opendocument") {
            FileForm::Refused(OPEN_DOCUMENT)
        } else if has("Index/") || has(".iwa") {
            FileForm::Refused(NUMBERS)
        } else if has("[Content_Types].xml") || has("xl/") || has("_rels/") || has("docProps/") {
            FileForm::Workbook
        } else {
            FileForm::Refused(ARCHIVE)
        }
    }
}
