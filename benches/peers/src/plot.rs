//! Results as plots: one a task, a line a class, a point an engine, time on a logarithmic scale.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Result;
use crate::engines::Kind;
use crate::measure::{Results, Task};
use crate::report::{best, families};

/// The tasks that are drawn, with the ends of their files' names.
const TASKS: [(Task, &str); 5] = [
    (Task::Page, "page"),
    (Task::Middle, "page-middle"),
    (Task::PageMade, "page-made"),
    (Task::Count, "count"),
    (Task::Facets, "facets"),
];

/// Colours that people with any kind of colour vision can tell apart.
const COLOURS: [(&str, RGBColor); 6] = [
    ("signaldex", RGBColor(213, 94, 0)),
    ("tantivy", RGBColor(0, 114, 178)),
    ("Lucene", RGBColor(230, 159, 0)),
    ("SQLite", RGBColor(0, 158, 115)),
    ("roaring", RGBColor(204, 121, 167)),
    ("limit", RGBColor(90, 90, 90)),
];
const GREY: RGBColor = RGBColor(222, 222, 222);

const WIDTH: u32 = 960;
const LINE_HEIGHT: u32 = 26;
/// What the title and the axis take.
const FRAME_HEIGHT: u32 = 110;
const LABELS_WIDTH: u32 = 260;
const FONT: &str = "sans-serif";

/// Draws one plot a task.
pub fn draw(results: &Results, folder: &Path, name: &str) -> Result<()> {
    for (task, end) in TASKS {
        let path = folder.join(format!("{name}-{end}.svg"));
        draw_task(results, task, &path)?;
    }
    Ok(())
}

/// An engine's medians: the line of a class, and microseconds.
struct Series {
    name: &'static str,
    points: Vec<(f64, f64)>,
}

/// What is drawn on: microseconds on a logarithmic scale, and lines of classes.
type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<LogCoord<f64>, RangedCoordf64>>;

fn draw_task(results: &Results, task: Task, path: &Path) -> Result<()> {
    let classes: Vec<&str> = results
        .classes
        .iter()
        .filter(|class| class.tasks.contains_key(&task))
        .map(|class| class.class.as_str())
        .collect();
    let series = series(results, task);
    let lines = classes.len() as u32;
    let root = SVGBackend::new(path, (WIDTH, FRAME_HEIGHT + lines * LINE_HEIGHT));
    let root = root.into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!("{}, {}", task.title(), results.corpus);
    let mut chart = ChartBuilder::on(&root)
        .caption(title, (FONT, 18))
        .margin(12)
        .margin_right(40)
        .set_label_area_size(LabelAreaPosition::Left, LABELS_WIDTH)
        .set_label_area_size(LabelAreaPosition::Bottom, 46)
        .build_cartesian_2d(decades(&series).log_scale(), -0.6..f64::from(lines) - 0.4)?;
    draw_frame(&mut chart)?;
    draw_classes(&mut chart, &root, &classes)?;
    draw_points(&mut chart, &series)?;
    root.present()?;
    Ok(())
}

fn draw_frame(chart: &mut Chart<'_>) -> Result<()> {
    chart
        .configure_mesh()
        .disable_y_axis()
        .disable_y_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GREY)
        .x_label_formatter(&|microseconds| label(*microseconds))
        .x_desc("median, logarithmic scale")
        .label_style((FONT, 13))
        .draw()?;
    Ok(())
}

/// Names the lines and draws them.
fn draw_classes(
    chart: &mut Chart<'_>,
    root: &DrawingArea<SVGBackend<'_>, Shift>,
    classes: &[&str],
) -> Result<()> {
    let times = chart.plotting_area().get_x_range();
    for (line, class) in classes.iter().enumerate() {
        let height = height_of(line, classes.len());
        let ends = [(times.start, height), (times.end, height)];
        chart.draw_series(std::iter::once(PathElement::new(ends, GREY)))?;
        let (x, y) = chart.plotting_area().map_coordinate(&ends[0]);
        let before = Pos::new(HPos::Right, VPos::Center);
        let style = TextStyle::from((FONT, 13).into_font()).pos(before);
        root.draw(&Text::new((*class).to_owned(), (x - 8, y), style))?;
    }
    Ok(())
}

fn draw_points(chart: &mut Chart<'_>, series: &[Series]) -> Result<()> {
    for series in series {
        let colour = colour(series.name);
        let points = series.points.iter();
        let circle = |&point| Circle::new(point, 5, colour.mix(0.85).filled());
        chart
            .draw_series(points.map(circle))?
            .label(series.name)
            .legend(move |point| Circle::new(point, 5, colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .legend_area_size(12)
        .background_style(WHITE.mix(0.9))
        .border_style(GREY)
        .label_font((FONT, 13))
        .draw()?;
    Ok(())
}

/// Each engine's best way, and ours last, so that it is drawn on top.
fn series(results: &Results, task: Task) -> Vec<Series> {
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| kind.can(task))
        .collect();
    let peers = families(&kinds).into_iter();
    let names = peers.chain([Kind::Signaldex.family()]);
    let times: Vec<_> = results
        .classes
        .iter()
        .filter_map(|class| class.tasks.get(&task))
        .collect();
    let of_engine = |name| {
        let numbered = times.iter().enumerate();
        let points = numbered.filter_map(|(line, class_times)| {
            Some((best(class_times, name)?, height_of(line, times.len())))
        });
        Series {
            name,
            points: points.collect(),
        }
    };
    names.map(of_engine).collect()
}

fn colour(name: &str) -> RGBColor {
    let found = COLOURS.iter().find(|(engine, _)| *engine == name);
    found.map_or(BLACK, |(_, colour)| *colour)
}

/// Where a class's line is; the first one is at the top.
fn height_of(line: usize, lines: usize) -> f64 {
    (lines - 1 - line) as f64
}

/// Whole decades around all points.
fn decades(series: &[Series]) -> std::ops::Range<f64> {
    let times = || {
        series
            .iter()
            .flat_map(|series| &series.points)
            .map(|point| point.0)
    };
    let min = times().fold(f64::INFINITY, f64::min);
    let most = times().fold(0.0, f64::max);
    10_f64.powf(min.log10().floor())..10_f64.powf(most.log10().ceil())
}

fn label(microseconds: f64) -> String {
    match microseconds {
        time if time < 0.999 => format!("{:.0} ns", time * 1e3),
        time if time < 999.0 => format!("{time:.0} µs"),
        time => format!("{:.0} ms", time / 1e3),
    }
}
