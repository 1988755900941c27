//! Bars as SVG, drawn by plotters and coloured by the style sheet.
//!
//! The colours here are marks for the style sheet, which knows light from dark: it replaces each
//! `fill` by that of the theme. An SVG opened by itself still shows them.

use plotters::coord::ranged1d::SegmentValue;
use plotters::prelude::{
    ChartBuilder, IntoDrawingArea, IntoSegmentedCoord, RGBColor, Rectangle, SVGBackend,
};
use plotters::style::{Color, IntoFont, ShapeStyle};

use super::figures;
use super::frame::Failed;

/// Series that have a colour of their own; `style.css` names the same ones.
pub(super) const SERIES_MAX: usize = 6;
const COLOURS: [RGBColor; SERIES_MAX] = [
    RGBColor(0x3b, 0x5b, 0xdb),
    RGBColor(0x0c, 0x85, 0x99),
    RGBColor(0xe6, 0x77, 0x00),
    RGBColor(0xae, 0x3e, 0xc9),
    RGBColor(0x2b, 0x8a, 0x3e),
    RGBColor(0x86, 0x8e, 0x96),
];
const INK: RGBColor = RGBColor(0x10, 0x10, 0x10);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

/// Horizontal lines that are aimed at.
const LINES: u64 = 4;
/// The share of its place that a bar takes.
const BAR_SHARE: i32 = 62;

/// A bar of parts on top of each other, one for each series.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) parts: Vec<u64>,
}

/// Where a chart is shown, which decides its size and the size of its letters.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Beside other things, on a desk.
    Wide,
    /// On a phone.
    Narrow,
}

impl Place {
    const fn size(self) -> (u32, u32) {
        match self {
            Place::Wide => (880, 300),
            Place::Narrow => (340, 240),
        }
    }
}

/// Draws bars side by side.
pub(super) fn draw(bars: &[Bar], place: Place) -> Result<String, Failed> {
    let mut svg = String::new();
    draw_on(SVGBackend::with_string(&mut svg, place.size()), bars)
        .map_err(|error| Failed::of(&error))?;
    Ok(svg)
}

fn draw_on(backend: SVGBackend<'_>, bars: &[Bar]) -> Result<(), Box<dyn std::error::Error>> {
    let (width, _) = backend_size(&backend);
    let greatest = bars.iter().map(|bar| bar.parts.iter().sum()).max();
    let (step, top) = scale(greatest.unwrap_or(0));
    let area = backend.into_drawing_area();
    let longest = figures::grouped(top).len() as u32;
    let mut chart = ChartBuilder::on(&area)
        .margin_top(8)
        .margin_right(4)
        .x_label_area_size(28)
        .y_label_area_size(14 + 7 * longest)
        .build_cartesian_2d((0..bars.len()).into_segmented(), 0..top)?;
    let letters = ("system-ui, sans-serif", 14).into_font().color(&INK);
    let label_of = |place: &SegmentValue<usize>| match place {
        SegmentValue::CenterOf(place) => bars
            .get(*place)
            .map_or(String::new(), |bar| bar.label.clone()),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(ShapeStyle::from(GRID.mix(0.0)).stroke_width(0))
        .max_light_lines(0)
        .axis_style(GRID)
        .x_labels(bars.len())
        .x_label_formatter(&label_of)
        .y_labels(usize::try_from(top / step).unwrap_or(1) + 1)
        .y_label_formatter(&|value| figures::grouped(*value))
        .label_style(letters)
        .draw()?;
    let gap = gap_of(width, bars.len());
    for (number, bar) in bars.iter().enumerate() {
        let mut bottom = 0;
        for (series, &part) in bar.parts.iter().enumerate().filter(|(_, part)| **part > 0) {
            let corners = [
                (SegmentValue::Exact(number), bottom),
                (SegmentValue::Exact(number + 1), bottom + part),
            ];
            let colour = COLOURS[series.min(SERIES_MAX - 1)];
            let mut rectangle = Rectangle::new(corners, colour.filled());
            rectangle.set_margin(0, 0, gap, gap);
            chart.draw_series(std::iter::once(rectangle))?;
            bottom += part;
        }
    }
    area.present()?;
    Ok(())
}

fn backend_size(backend: &SVGBackend<'_>) -> (u32, u32) {
    use plotters::backend::DrawingBackend;
    backend.get_size()
}

/// Pixels on each side of a bar.
fn gap_of(width: u32, bars: usize) -> u32 {
    let place = width.saturating_sub(60) / u32::try_from(bars.max(1)).unwrap_or(u32::MAX);
    place * (100 - BAR_SHARE.unsigned_abs()) / 200
}

/// A round distance between lines, and the greatest value shown: a multiple of it.
fn scale(greatest: u64) -> (u64, u64) {
    let least = greatest.div_ceil(LINES).max(1);
    let power = 10_u64.pow(least.ilog10());
    let factors = [1, 2, 5, 10];
    let steps = factors.map(|factor| power.saturating_mul(factor));
    let step = steps
        .into_iter()
        .find(|&step| step >= least)
        .unwrap_or(least);
    (step, greatest.div_ceil(step).max(1).saturating_mul(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round_and_hold_the_greatest() {
        for (greatest, expected) in [
            (0, (1, 1)),
            (3, (1, 3)),
            (100, (50, 100)),
            (1234, (500, 1500)),
            (8001, (5000, 10_000)),
        ] {
            assert_eq!(scale(greatest), expected, "{greatest}");
        }
        let (step, top) = scale(u64::MAX / 2);
        assert!(top >= u64::MAX / 2 && step > 0);
    }

    #[test]
    fn every_part_is_drawn_and_nothing_is_styled_inline() {
        let bars = [
            Bar {
                label: "Oct".into(),
                parts: vec![5, 0, 7],
            },
            Bar {
                label: "Nov".into(),
                parts: vec![1, 2, 3],
            },
        ];
        for place in [Place::Wide, Place::Narrow] {
            let svg = draw(&bars, place).expect("a chart");
            let bars = svg.matches("<rect").count();
            assert_eq!(bars, 5, "{svg}");
            assert!(svg.contains("Oct") && svg.contains("Nov"));
            assert!(!svg.contains("style="), "the policy of pages forbids it");
        }
    }
}
