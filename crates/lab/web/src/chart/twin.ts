// What stands beside a picture: its legend, its table, and its files.

import { h, s, save } from "../dom.ts";
import { dash } from "../look.ts";
import type { Chart, Column } from "./draw.ts";
import type { Axis } from "./scale.ts";

/** Rows that a table shows; the CSV file has all. */
const MOST_ROWS = 28;

/** Name and look of each column. */
export function legend(chart: Chart): HTMLElement {
  const list = h("ul", { class: "legend", "aria-hidden": "true" });
  for (const column of chart.columns) list.append(h("li", {}, sample(column), column.name));
  return list;
}

function sample(column: Column): SVGElement {
  const svg = s("svg", {
    width: 28,
    height: 12,
    class: `chart series ${column.kind} h-${column.hue} ${column.weight ?? ""}`,
  });
  if (column.kind === "dots") for (const x of [5, 14, 23]) svg.append(s("circle", { cx: x, cy: 6, r: 2.6 }));
  else if (column.kind === "band") {
    svg.append(s("rect", { x: 1, y: 1, width: 26, height: 10, class: "fill" }));
    if (column.pattern) svg.append(s("path", { class: "hatch over", d: HATCHES[column.pattern] }));
  } else
    svg.append(s("path", { d: "M0 6H28", "stroke-dasharray": (column.dash ?? dash(column.hue)) || undefined }));
  return svg;
}

const HATCHES = {
  diagonal: "M2 11L12 1M9 11L19 1M16 11L26 1",
  cross: "M2 1L12 11M12 1L2 11M14 1L24 11M24 1L14 11",
  dots: "M5 6h1.4M11 6h1.4M17 6h1.4M23 6h1.4",
};

function cells(chart: Chart, i: number, format: (value: number) => string): string[] {
  return chart.columns.flatMap((column) => {
    const values = column.shown ?? column.values;
    const low = values[i] ?? NaN;
    const high = column.shown ? undefined : column.high;
    return high ? [format(low), format(high[i] ?? NaN)] : [format(low)];
  });
}

function headings(chart: Chart): string[] {
  return chart.columns.flatMap((column) =>
    column.high && !column.shown ? [`${column.name}, from`, `${column.name}, to`] : [column.name],
  );
}

/** The chart in numbers. */
export function table(chart: Chart): HTMLTableElement {
  const axis = chart.gridAxis;
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, axis.label),
    ...headings(chart).map((name) => h("th", { scope: "col" }, name)),
  );
  const body = h("tbody");
  const step = Math.max(1, Math.ceil(chart.grid.length / MOST_ROWS));
  const format = (value: number): string =>
    Number.isNaN(value) ? "–" : (chart.valueAxis.format ?? chart.valueAxis.tick)(value);
  chart.grid.forEach((at, i) => {
    if (i % step !== 0 && i !== chart.grid.length - 1) return;
    const row = h("tr", {}, h("th", { scope: "row" }, (axis.format ?? axis.tick)(at)));
    for (const text of cells(chart, i, format)) row.append(h("td", {}, text));
    body.append(row);
  });
  return h("table", {}, h("caption", { class: "hidden" }, chart.title), h("thead", {}, head), body);
}

/** A text as a cell of a file. */
export const quoted = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** The chart in full precision: one line for each of the grid. */
export function csv(chart: Chart): string {
  const head = (text: string, { unit }: Axis): string => quoted(unit ? `${text}_${unit}` : text);
  const exact = (value: number): string =>
    Number.isNaN(value) ? "" : Number.isFinite(value) ? String(value) : "inf";
  const { gridAxis, valueAxis } = chart;
  // Along a share the grid holds what is still to come.
  const share = gridAxis.kind === "share" || gridAxis.kind === "nines";
  const along = (at: number): number => (share ? Number((1 - at).toPrecision(12)) : at);
  const lines = [[head(gridAxis.label, gridAxis), ...headings(chart).map((text) => head(text, valueAxis))].join(",")];
  chart.grid.forEach((at, i) => lines.push([String(along(at)), ...cells(chart, i, exact)].join(",")));
  return `${lines.join("\n")}\n`;
}

/** What a picture's look is made of; all but the last go on to what is inside. */
const LOOK = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "paint-order",
  "font-family",
  "font-size",
  "font-style",
  "font-weight",
  "visibility",
  "opacity",
] as const;

/** The picture as a file that needs nothing else: what the page's style says is written into it, where it is said. */
export function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [
    [svg, ...svg.querySelectorAll("*")],
    [copy, ...copy.querySelectorAll("*")],
  ];
  from.forEach((element, i) => {
    const target = to[i];
    const style = getComputedStyle(element);
    const around = element === svg || !element.parentElement ? null : getComputedStyle(element.parentElement);
    for (const name of LOOK) {
      const value = style.getPropertyValue(name);
      const told = name === "opacity" ? value === "1" : around?.getPropertyValue(name) === value;
      if (!told && !target?.getAttribute(name)?.startsWith("url(")) target?.setAttribute(name, value);
    }
    target?.removeAttribute("class");
  });
  const paper = s("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor });
  copy.insertBefore(paper, copy.querySelector(":scope > :not(title, desc)"));
  return new XMLSerializer().serializeToString(copy);
}

/** The buttons that save a picture and its numbers. */
export function files(name: string, picture: () => SVGSVGElement | null, numbers: () => string): HTMLElement[] {
  const svg = h("button", { type: "button", class: "small" }, "SVG");
  svg.addEventListener("click", () => {
    const shown = picture();
    if (shown) save(`${name}.svg`, "image/svg+xml", standalone(shown));
  });
  const csv = h("button", { type: "button", class: "small" }, "CSV");
  csv.addEventListener("click", () => save(`${name}.csv`, "text/csv", numbers()));
  svg.setAttribute("aria-label", `Save as SVG: ${name}`);
  csv.setAttribute("aria-label", `Save as CSV: ${name}`);
  return [svg, csv];
}
