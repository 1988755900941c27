//! Bar charts as SVG, drawn by plotters and coloured by the style sheet.
//!
//! The style sheet replaces each `fill` by the colour of the light or dark theme. An SVG opened on its own
//! shows the colours given here.

use plotters::coord::Shift;
use plotters::prelude::{
    DrawingArea, IntoDrawingArea, PathElement, RGBColor, Rectangle, SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, IntoFont, ShapeStyle, TextStyle};

use super::figures;
use super::layout::Failed;

/// Series with a colour of their own; `style.css` defines the same ones.
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
const QUOTA: RGBColor = RGBColor(0xb4, 0x23, 0x18);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

/// Preferred number of grid intervals.
const LINES: u64 = 4;
/// Width of a bar, in percent of its slot.
const BAR_SHARE: u64 = 62;
/// Pixels of a line of text, and of a digit.
const LETTER_HEIGHT: i32 = 14;
const DIGIT_WIDTH: i32 = 8;
/// Pixels above the highest grid line, and below the lowest one for the labels.
const ABOVE: i32 = 10;
const BELOW: i32 = 26;

/// A stacked bar with one part per series.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) parts: Vec<u64>,
}

/// The size of a chart; text has the same size in both.
#[derive(Clone, Copy)]
pub(super) enum ChartSize {
    /// For desktop screens.
    Wide,
    /// For phones.
    Narrow,
}

impl ChartSize {
    const fn size(self) -> (u32, u32) {
        match self {
            ChartSize::Wide => (960, 280),
            ChartSize::Narrow => (350, 230),
        }
    }
}

/// Draws bars side by side, with a horizontal line at a quota.
pub(super) fn draw(bars: &[Bar], size: ChartSize, quota: Option<u64>) -> Result<String, Failed> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, size.size()).into_drawing_area();
    Drawing::new(area, bars, quota)
        .draw(bars, quota)
        .map_err(|error| Failed::of(&error))?;
    Ok(svg)
}

type Area<'s> = DrawingArea<SVGBackend<'s>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The geometry of a chart, in pixels.
struct Drawing<'s> {
    area: Area<'s>,
    left: i32,
    width: i32,
    bottom: i32,
    height: i32,
    /// The grid interval, and the largest value of the axis.
    step: u64,
    top: u64,
}

impl<'s> Drawing<'s> {
    fn new(area: Area<'s>, bars: &[Bar], quota: Option<u64>) -> Drawing<'s> {
        let totals = bars.iter().map(|bar| bar.parts.iter().sum());
        let (step, top) = scale(totals.chain(quota).max().unwrap_or(0));
        let (width, height) = area.dim_in_pixel();
        let (width, height) = (width.cast_signed(), height.cast_signed());
        let digits = figures::grouped(top).len();
        let left = DIGIT_WIDTH * (i32::try_from(digits).unwrap_or(0) + 1);
        Drawing {
            area,
            left,
            width: width - left,
            bottom: height - BELOW,
            height: height - ABOVE - BELOW,
            step,
            top,
        }
    }

    fn draw(&self, bars: &[Bar], quota: Option<u64>) -> Drawn {
        for value in (0..=self.top / self.step).map(|line| line * self.step) {
            self.draw_line(value)?;
        }
        for (number, bar) in bars.iter().enumerate() {
            self.draw_bar(bar, number as u64, bars.len() as u64)?;
        }
        if let Some(quota) = quota {
            let height = self.height_of(quota);
            let ends = vec![(self.left, height), (self.left + self.width, height)];
            let line = PathElement::new(ends, ShapeStyle::from(QUOTA).stroke_width(2));
            self.area.draw(&line)?;
        }
        self.area.present()?;
        Ok(())
    }

    fn draw_line(&self, value: u64) -> Drawn {
        let height = self.height_of(value);
        let ends = vec![(self.left, height), (self.left + self.width, height)];
        let label_end = (self.left - DIGIT_WIDTH, height);
        let line = PathElement::new(ends, ShapeStyle::from(GRID).stroke_width(1));
        self.area.draw(&line)?;
        let style = letters(HPos::Right, VPos::Center);
        self.area
            .draw(&Text::new(figures::grouped(value), label_end, style))?;
        Ok(())
    }

    fn draw_bar(&self, bar: &Bar, number: u64, bars: u64) -> Drawn {
        // In hundredths of a slot, so that rounding errors do not add up over many bars.
        let side = |hundredths: u64| {
            let part = hundredths as f64 / (bars * 100) as f64;
            self.left + (part * f64::from(self.width)) as i32
        };
        let gap = (100 - BAR_SHARE) / 2;
        let (from, to) = (number * 100 + gap, number * 100 + gap + BAR_SHARE);
        let mut below = 0;
        for (series, &part) in bar.parts.iter().enumerate().filter(|(_, part)| **part > 0) {
            let corners = [
                (side(from), self.height_of(below + part)),
                (side(to), self.height_of(below)),
            ];
            let colour = COLOURS[series.min(SERIES_MAX - 1)];
            self.area.draw(&Rectangle::new(corners, colour.filled()))?;
            below += part;
        }
        let middle = (side(number * 100 + 50), self.bottom + LETTER_HEIGHT / 2);
        let style = letters(HPos::Center, VPos::Top);
        self.area
            .draw(&Text::new(bar.label.clone(), middle, style))?;
        Ok(())
    }

    fn height_of(&self, value: u64) -> i32 {
        let part = value as f64 / self.top as f64;
        self.bottom - (part * f64::from(self.height)).round() as i32
    }
}

fn letters<'f>(horizontal: HPos, vertical: VPos) -> TextStyle<'f> {
    let font: FontDesc<'f> = ("sans-serif", f64::from(LETTER_HEIGHT)).into_font();
    font.color(&INK).pos(Pos::new(horizontal, vertical))
}

/// A round grid interval, and the largest value of the axis, a multiple of the interval.
fn scale(max: u64) -> (u64, u64) {
    let min = max.div_ceil(LINES).max(1);
    let power = 10_u64.pow(min.ilog10());
    let factors = [1, 2, 5, 10];
    let steps = factors.map(|factor| power.saturating_mul(factor));
    let step = steps.into_iter().find(|&step| step >= min).unwrap_or(min);
    (step, max.div_ceil(step).max(1).saturating_mul(step))
}

#[cfg(test)]
mod tests;
