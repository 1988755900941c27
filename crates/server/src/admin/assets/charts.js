// Charts of the series on a page, from the figures that their tables have. Without it, the tables say the same.
"use strict";

// Columns of data-plotted: seconds since 1970, requests, answers of 2xx, 4xx and 5xx, median and 99th percentile in seconds, units.
const CHARTS = [
  {
    title: "Requests",
    lines: [["Answered (2xx)", 2, "--good"], ["Refused (4xx)", 3, "--money"], ["Failed (5xx)", 4, "--bad"]],
    shown: (value) => value.toLocaleString("en"),
  },
  {
    title: "Time to the first byte of an answer (2xx), ms",
    lines: [["Median", 5, "--figure"], ["99th percentile", 6, "--line-strong"]],
    // No success, no time: a gap.
    read: (seconds) => (seconds > 0 ? seconds * 1000 : null),
    shown: (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 }),
  },
  {
    title: "Units charged",
    lines: [["Units", 7, "--figure"]],
    shown: (value) => value.toLocaleString("en"),
  },
];
const HEIGHT = 190;

// The rows of the first table of a section, oldest first.
function figuresOf(section) {
  const rows = section.querySelector("table").querySelectorAll("[data-plotted]");
  return [...rows].reverse().map((row) => row.dataset.plotted.split(",").map(Number));
}

function options(chart, width, unit) {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [axis, { ...axis, size: 64, values: (_, values) => values.map(chart.shown) }],
    series: [
      { label: unit, value: (_, at) => (at === null ? "–" : new Date(at * 1000).toISOString().slice(0, 16).replace("T", " ")) },
      ...chart.lines.map(([label, , name]) => ({
        label,
        stroke: colour(name),
        width: 2,
        value: (_, value) => (value === null ? "–" : chart.shown(value)),
      })),
    ],
  };
}

function draw(section) {
  const place = section.querySelector("[data-plots]");
  const table = section.querySelector("table");
  if (!place || !table) return;
  const figures = figuresOf(section);
  const unit = section.dataset.series;
  place.replaceChildren();
  for (const chart of CHARTS) {
    const read = chart.read ?? ((value) => value);
    const columns = chart.lines.map(([, column]) => figures.map((row) => read(row[column])));
    if (columns.every((column) => column.every((value) => !value))) continue;
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = chart.title;
    const drawing = document.createElement("div");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", `Chart by ${unit}: ${chart.title}. The table below has its figures.`);
    figure.append(caption, drawing);
    place.append(figure);
    const data = [figures.map(([at]) => at), ...columns];
    const plot = new uPlot(options(chart, drawing.clientWidth, unit), data, drawing);
    new ResizeObserver(() => {
      if (drawing.clientWidth > 0 && drawing.clientWidth !== plot.width) plot.setSize({ width: drawing.clientWidth, height: HEIGHT });
    }).observe(drawing);
  }
  place.hidden = place.children.length === 0;
}

function drawAll() {
  for (const section of document.querySelectorAll("[data-series]")) {
    // Shown first, so that its width is known.
    const place = section.querySelector("[data-plots]");
    if (place) place.hidden = false;
    draw(section);
  }
}

drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
