//! Bars as SVG, drawn by plotters and coloured by the style sheet.
//!
//! The colours here are marks for the style sheet, which knows light from dark: it replaces each
//! `fill` by that of the theme. An SVG opened by itself still shows them.

use plotters::coord::Shift;
use plotters::prelude::{
    DrawingArea, IntoDrawingArea, PathElement, RGBColor, Rectangle, SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, IntoFont, ShapeStyle, TextStyle};

use super::figures;
use super::layout::Failed;

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
const QUOTA: RGBColor = RGBColor(0xb4, 0x23, 0x18);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

/// Distances between lines that are aimed at.
const LINES: u64 = 4;
/// The share of its slot that a bar takes, in percent.
const BAR_SHARE: u64 = 62;
/// Pixels from one line of letters to the next, and of a digit.
const LETTER_HEIGHT: i32 = 14;
const DIGIT_WIDTH: i32 = 8;
/// Pixels above the highest line, and below the lowest one for the labels.
const ABOVE: i32 = 10;
const BELOW: i32 = 26;

/// A bar of parts on top of each other, one for each series.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) parts: Vec<u64>,
}

/// Where a chart is shown, which decides its size; letters have the same size in both.
#[derive(Clone, Copy)]
pub(super) enum ChartSize {
    /// On a desk.
    Wide,
    /// On a phone.
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

/// Draws bars side by side, and a line across them at a quota.
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

/// Where in a drawing things stand, in pixels.
struct Drawing<'s> {
    area: Area<'s>,
    left: i32,
    width: i32,
    bottom: i32,
    height: i32,
    /// The distance between lines, and the highest value shown.
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
        // In hundredths of a bar's slot, so that rounding does not add up over many bars.
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

/// A round distance between lines, and the highest value shown: a multiple of it.
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
