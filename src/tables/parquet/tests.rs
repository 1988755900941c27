//! Parquet: nested columns, decimals, damage, and what a page may claim.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, GzipLevel, Repetition, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type;
use tempfile::NamedTempFile;

use super::*;
use crate::ErrorKind;

const SCHEMA: &str = "message signals {
    required binary slug (utf8);
    optional group funding { optional int64 amount (decimal(18,2)); }
}";

/// A file of two rows: the second without an amount.
fn written() -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).expect("a schema"));
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    let mut column = group.next_column().expect("a column").expect("the first");
    let slugs = [ByteArray::from("a"), ByteArray::from("b")];
    column
        .typed::<ByteArrayType>()
        .write_batch(&slugs, None, None)
        .expect("texts");
    column.close().expect("a column");
    let mut column = group.next_column().expect("a column").expect("the second");
    column
        .typed::<Int64Type>()
        .write_batch(&[-120_050], Some(&[2, 0]), None)
        .expect("amounts");
    column.close().expect("a column");
    group.close().expect("a group");
    writer.close().expect("a file");
    bytes
}

/// A cell of a column that [`typed_columns`] writes.
#[derive(Clone, Debug)]
pub(crate) enum TypedValue {
    Text(String),
    Double(f64),
    /// Days since 1970.
    Day(i64),
}

/// A file of columns, each of the type of its first value.
pub(crate) fn typed_columns(columns: &[(&str, Vec<Option<TypedValue>>)]) -> NamedTempFile {
    let fields = columns.iter().map(|(name, values)| {
        let (physical, logical) = match values.iter().flatten().next() {
            Some(TypedValue::Double(_)) => (PhysicalType::DOUBLE, None),
            Some(TypedValue::Day(_)) => (PhysicalType::INT32, Some(LogicalType::Date)),
            Some(TypedValue::Text(_)) | None => {
                (PhysicalType::BYTE_ARRAY, Some(LogicalType::String))
            }
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        Arc::new(field.build().expect("a column"))
    });
    let schema = Type::group_type_builder("table").with_fields(fields.collect());
    let schema = Arc::new(schema.build().expect("a schema"));
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    for (_, values) in columns {
        let levels: Vec<i16> = values
            .iter()
            .map(|value| i16::from(value.is_some()))
            .collect();
        let mut column = group.next_column().expect("a column").expect("each");
        write_values(&mut column, values, &levels);
        column.close().expect("a column");
    }
    group.close().expect("a group");
    writer.close().expect("a file");
    file(&bytes)
}

fn write_values(
    column: &mut SerializedColumnWriter<'_>,
    values: &[Option<TypedValue>],
    levels: &[i16],
) {
    let (mut texts, mut doubles, mut days) = (Vec::new(), Vec::new(), Vec::new());
    for value in values.iter().flatten() {
        match value {
            TypedValue::Text(text) => texts.push(ByteArray::from(&**text)),
            TypedValue::Double(number) => doubles.push(*number),
            TypedValue::Day(day) => days.push(i32::try_from(*day).expect("a day")),
        }
    }
    let levels = Some(levels);
    let written = if !doubles.is_empty() {
        let column = column.typed::<DoubleType>();
        column.write_batch(&doubles, levels, None)
    } else if !days.is_empty() {
        column.typed::<Int32Type>().write_batch(&days, levels, None)
    } else {
        let column = column.typed::<ByteArrayType>();
        column.write_batch(&texts, levels, None)
    };
    written.expect("values");
}

fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(bytes).expect("it can be written");
    file
}

fn read(bytes: &[u8]) -> Result<(Vec<String>, Vec<String>)> {
    let file = file(bytes);
    let mut table = ParquetTable::open(file.path())?;
    let mut rows = RowBatch::default();
    while table.next_row(&mut rows)? {}
    let shown = rows.iter().map(|(_, row)| {
        let cells = row.map(|cells| {
            cells
                .iter()
                .map(|cell| cell.shown())
                .collect::<Vec<String>>()
                .join("|")
        });
        cells.unwrap_or_else(ToString::to_string)
    });
    Ok((table.header().to_vec(), shown.collect()))
}

#[test]
fn columns_of_structs_have_their_names_and_decimals_every_digit() {
    let (header, rows) = read(&written()).expect("a table");
    assert_eq!(header, ["slug", "funding.amount"]);
    assert_eq!(rows, ["\"a\"|-1200.50", "\"b\"|an empty cell"]);
}

#[test]
fn a_file_that_is_cut_short_is_an_error() {
    let bytes = written();
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length}");
    }
}

/// A file of one column, `slug`, with these texts.
fn texts(texts: &[&str], properties: WriterProperties) -> Vec<u8> {
    let schema = parse_message_type("message m { required binary slug (utf8); }");
    let schema = Arc::new(schema.expect("a schema"));
    let mut bytes = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    let mut column = group.next_column().expect("a column").expect("the first");
    let texts: Vec<ByteArray> = texts.iter().map(|text| ByteArray::from(*text)).collect();
    column
        .typed::<ByteArrayType>()
        .write_batch(&texts, None, None)
        .expect("texts");
    column.close().expect("a column");
    group.close().expect("a group");
    writer.close().expect("a file");
    bytes
}

fn plain_pages(compression: Compression) -> WriterProperties {
    WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(compression)
        .build()
}

fn check(bytes: &[u8], held_bytes_max: u64) -> Result<()> {
    let file = file(bytes);
    let reader = opened(file.reopen().expect("a file")).expect("a reader");
    pages::check_pages(file.as_file(), &reader, held_bytes_max)
}

/// A whole number with a sign, as the protocol and lengths have it.
fn varint(number: u32) -> Vec<u8> {
    plain_varint(number << 1)
}

/// A number without sign.
fn plain_varint(mut rest: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while rest > 0x7F {
        bytes.push((rest & 0x7F) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

/// The file with a number of its first page's header replaced by another one of the same length.
fn with_number(mut bytes: Vec<u8>, number: u32, replaced: u32) -> Vec<u8> {
    let (number, replaced) = (varint(number), varint(replaced));
    assert_eq!(number.len(), replaced.len());
    let at = bytes
        .windows(number.len())
        .position(|window| window == number)
        .expect("the number");
    assert!(at < 32, "it is in the header");
    bytes.splice(at..at + replaced.len(), replaced);
    bytes
}

#[test]
fn pages_are_bounded_together() {
    let text = "a".repeat(100_000);
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let bytes = texts(&[&text], plain_pages(compression));
        assert!(check(&bytes, 100_004).is_ok(), "{compression}");
        let refused = check(&bytes, 100_003).expect_err("too large");
        assert!(
            refused.to_string().contains("more than 100003 bytes"),
            "{refused}"
        );
        assert_eq!(read(&bytes).expect("a table").1.len(), 1, "{compression}");
    }
}

#[test]
fn a_page_of_another_length_than_its_header_says_is_damage() {
    let text = "a".repeat(100_000);
    for compression in [
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let bytes = texts(&[&text], plain_pages(compression));
        for said in [20_000, 1_000_000] {
            let bytes = with_number(bytes.clone(), 100_004, said);
            let refused = read(&bytes).expect_err("another length");
            let reason = "not as long as its header says";
            assert!(refused.to_string().contains(reason), "{refused}");
        }
    }
}

#[test]
fn a_dictionary_has_no_more_values_than_bytes() {
    let values: Vec<String> = (100..300).map(|number| number.to_string()).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let bytes = texts(&values, WriterProperties::builder().build());
    assert_eq!(read(&bytes).expect("a table").1.len(), 200);
    let bytes = with_number(bytes, 200, 8_000);
    let refused = read(&bytes).expect_err("implausible");
    assert!(refused.to_string().contains("implausible"), "{refused}");
}

const LENGTH_ENCODINGS: [Encoding; 2] = [
    Encoding::DELTA_BYTE_ARRAY,
    Encoding::DELTA_LENGTH_BYTE_ARRAY,
];

fn with_lengths(encoding: Encoding) -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(encoding)
}

#[test]
fn texts_with_separate_lengths_are_read() {
    let long: Vec<String> = (0..3_000)
        .map(|number| format!("{}{number}", "company-".repeat(number % 7)))
        .collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    for encoding in LENGTH_ENCODINGS {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
                for values in [&["a"][..], &["a", "ab", "", "abc"][..], &long[..]] {
                    let properties = with_lengths(encoding)
                        .set_compression(compression)
                        .set_writer_version(version)
                        .set_data_page_row_count_limit(700)
                        .set_write_batch_size(100);
                    let (_, rows) = read(&texts(values, properties.build())).expect("a table");
                    let expected = values.iter().filter(|text| !text.is_empty());
                    let expected: Vec<String> =
                        expected.map(|text| format!("\"{text}\"")).collect();
                    let rows = rows.into_iter().filter(|row| row != "\"\"");
                    assert_eq!(rows.collect::<Vec<_>>(), expected, "{encoding} {version:?}");
                }
            }
        }
    }
}

#[test]
fn texts_that_repeat_a_long_one_are_bounded() {
    let text = "a".repeat(10_000);
    let repeated = vec![&*text; 2_000];
    let bytes = texts(&repeated, with_lengths(Encoding::DELTA_BYTE_ARRAY).build());
    assert!(bytes.len() < 200_000, "{}", bytes.len());
    // A thousand of them are held at once, and as many of the page before.
    let held = 2 * 1_024 * 10_000;
    let refused = check(&bytes, held).expect_err("too large");
    assert!(
        refused.to_string().contains("bytes in one row group"),
        "{refused}"
    );
    assert!(check(&bytes, held + 40_000).is_ok());
    assert_eq!(read(&bytes).expect("a table").1.len(), 2_000);
}

#[test]
fn lengths_of_another_page_are_damage() {
    // One length: a block of 128 in 4 miniblocks, as many texts as the page has, and the first length.
    let page = |count: u32, first: u32, texts: &str| {
        let numbers = [&[0x80, 0x01, 4][..], &plain_varint(count), &varint(first)];
        [&numbers.concat()[..], texts.as_bytes()].concat()
    };
    let held = |page: &[u8], encoding, values| lengths::held_bytes(page, encoding, values, 1 << 30);
    for encoding in LENGTH_ENCODINGS {
        let page_of = |count, first, texts: &str| match encoding {
            Encoding::DELTA_BYTE_ARRAY => [page(count, 0, ""), page(count, first, texts)].concat(),
            _ => page(count, first, texts),
        };
        assert!(held(&page_of(1, 3, "abc"), encoding, 1).is_ok());
        assert!(held(&page_of(0, 0, ""), encoding, 0).is_ok());
        let wrong = [
            (page_of(1, 4, "abc"), 1),
            (page_of(2, 3, "abc"), 2),
            (page_of(1, 3, "abc"), 0),
            (page_of(u32::MAX, 0, ""), 1),
            (page_of(1, u32::MAX >> 1, "abc"), 1),
        ];
        for (page, values) in wrong {
            assert!(held(&page, encoding, values).is_err(), "{page:?}");
        }
        for length in 0..page_of(1, 3, "abc").len() {
            assert!(
                held(&page_of(1, 3, "abc")[..length], encoding, 1).is_err(),
                "{length}"
            );
        }
        // More lengths than may be held are not counted.
        let many = page_of(u32::MAX, 0, "");
        assert!(held(&many, encoding, u32::MAX).expect("a size") > 1 << 30);
    }
    // The first text has no beginning to share, and as many beginnings as ends are there.
    let (shared, end) = (page(1, 1, ""), page(1, 1, "a"));
    assert!(
        held(
            &[shared, end.clone()].concat(),
            Encoding::DELTA_BYTE_ARRAY,
            1
        )
        .is_err()
    );
    assert!(
        held(
            &[page(0, 0, ""), end].concat(),
            Encoding::DELTA_BYTE_ARRAY,
            1
        )
        .is_err()
    );
}

/// A file of nothing but a footer, whose schema has as many groups in one another.
fn nested(groups: u8) -> Vec<u8> {
    // Field 1 is the version, 2 the schema; of its elements field 4 is the name, and 5 the number of children.
    let mut footer = vec![0x15, 0x02, 0x19, 0xFC, groups];
    for _ in 0..groups {
        footer.extend([0x48, 0x01, b'a', 0x15, 0x02, 0x00]);
    }
    footer.push(0x00);
    let length = u32::try_from(footer.len()).expect("a short footer");
    [b"PAR1", &*footer, &length.to_le_bytes(), b"PAR1"].concat()
}

#[test]
fn a_schema_has_a_few_levels() {
    let refused = |groups| read(&nested(groups)).expect_err("no table").to_string();
    assert!(!refused(16).contains("structs"), "{}", refused(16));
    assert!(
        refused(17).contains("more than 16 structs"),
        "{}",
        refused(17)
    );
}

#[test]
fn damage_anywhere_is_an_error_or_another_value() {
    let values = ["one", "two", "twofold"];
    let files = [
        texts(&values, plain_pages(Compression::SNAPPY)),
        texts(&values, with_lengths(Encoding::DELTA_BYTE_ARRAY).build()),
        texts(
            &values,
            with_lengths(Encoding::DELTA_LENGTH_BYTE_ARRAY).build(),
        ),
    ];
    for bytes in files {
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[index] ^= 1 << bit;
                if let Err(error) = read(&damaged) {
                    let expected = [ErrorKind::Corrupt, ErrorKind::Invalid];
                    assert!(expected.contains(&error.kind()), "byte {index}: {error}");
                }
            }
        }
    }
}
