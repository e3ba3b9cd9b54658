// One small chart: columns of numbers over a common grid, drawn as lines, dots and bands between two axes.

import { fresh, s } from "../dom.ts";
import { type Hue, dash } from "../look.ts";
import { type Axis, place, ticks } from "./scale.ts";

export interface Column {
  readonly name: string;
  readonly hue: Hue;
  readonly kind: "line" | "dots" | "band";
  /** One value for each of the grid; of a band the lower end. What is not finite is not drawn. */
  readonly values: readonly number[];
  /** The upper end of a band. */
  readonly high?: readonly number[];
  /** What a table shows in place of the values, of a band that is stacked on others. */
  readonly shown?: readonly number[];
  /** Drawn with this dash instead of the hue's. */
  readonly dash?: string;
  readonly weight?: "thin" | "bold";
  /** Drawn across values that are not there. */
  readonly joined?: boolean;
  /** Its name stands at its last value too. */
  readonly named?: boolean;
  /** Filled with this pattern. */
  readonly pattern?: "diagonal" | "cross" | "dots";
}

export interface Mark {
  readonly at: number;
  readonly on: "grid" | "value";
  readonly label: string;
}

export interface Chart {
  readonly title: string;
  /** What can be seen, in a sentence. */
  readonly says: string;
  readonly grid: readonly number[];
  readonly gridAxis: Axis;
  readonly valueAxis: Axis;
  /** The grid goes up, not across. */
  readonly turned?: boolean;
  readonly columns: readonly Column[];
  readonly marks?: readonly Mark[];
}

/** Where a chart's inner edge lies, and its points. */
export interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const LETTER = 6.6;

/** A name that takes so many letters at most: how it begins and ends says most. */
export const short = (name: string, most: number): string =>
  name.length > most ? `${name.slice(0, Math.max(1, Math.floor(most) - 5))}…${name.slice(-4)}` : name;

/** The chart as a picture of this size, in pixels. */
export function draw(chart: Chart, width: number, height: number): { svg: SVGSVGElement; frame: Frame } {
  const across = chart.turned ? chart.valueAxis : chart.gridAxis;
  const up = chart.turned ? chart.gridAxis : chart.valueAxis;
  const upTicks = ticks(up, Math.max(3, Math.floor(height / 38)));
  const widest = Math.max(...upTicks.map((value) => up.tick(value).length), 2);
  const frame: Frame = { left: 12 + widest * LETTER, right: width - 22, top: 26, bottom: height - 38 };
  const id = fresh("chart");
  const svg = s("svg", {
    class: "chart",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-labelledby": `${id}-t ${id}-d`,
  });
  svg.append(s("title", { id: `${id}-t` }, chart.title), s("desc", { id: `${id}-d` }, chart.says), defs(id, frame));
  svg.append(axes(across, up, upTicks, frame));
  const inner = s("g", { "clip-path": `url(#${id}-clip)` });
  const order = { band: 0, line: 1, dots: 2 };
  for (const column of [...chart.columns].sort((a, b) => order[a.kind] - order[b.kind]))
    inner.append(drawn(chart, column, frame, id));
  svg.append(inner, ...names(chart, frame), ...marks(chart, frame));
  return { svg, frame };
}

/** Where value and grid meet, in pixels. */
export function point(chart: Chart, frame: Frame, grid: number, value: number): [number, number] {
  const [across, up] = chart.turned
    ? [place(chart.valueAxis, value), place(chart.gridAxis, grid)]
    : [place(chart.gridAxis, grid), place(chart.valueAxis, value)];
  return [frame.left + across * (frame.right - frame.left), frame.bottom - up * (frame.bottom - frame.top)];
}

function defs(id: string, frame: Frame): SVGElement {
  const pattern = (name: string, size: number, d: string): SVGElement =>
    s(
      "pattern",
      { id: `${id}-${name}`, width: size, height: size, patternUnits: "userSpaceOnUse" },
      s("path", { d, class: "hatch" }),
    );
  const { left, right, top, bottom } = frame;
  return s(
    "defs",
    {},
    s(
      "clipPath",
      { id: `${id}-clip` },
      s("rect", { x: left - 1, y: top - 4, width: right - left + 5, height: bottom - top + 5 }),
    ),
    pattern("diagonal", 7, "M-1 8L8 -1M-1 1L1 -1M6 8L8 6"),
    pattern("cross", 6, "M0 0L6 6M6 0L0 6"),
    pattern("dots", 6, "M2 3h1.4"),
  );
}

function axes(across: Axis, up: Axis, upTicks: readonly number[], frame: Frame): SVGElement {
  const { left, right, top, bottom } = frame;
  const group = s("g", { class: "axes" });
  for (const value of upTicks) {
    const y = bottom - place(up, value) * (bottom - top);
    if (y < top - 1 || y > bottom + 1) continue;
    group.append(s("line", { x1: left, x2: right, y1: y, y2: y, class: "grid" }));
    group.append(s("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, up.tick(value)));
  }
  const widest = Math.min(7, Math.max(across.tick(across.to).length, across.tick(across.from).length, 5));
  let edge = -Infinity;
  for (const value of ticks(across, Math.max(2, Math.floor((right - left) / (widest * LETTER + 18))))) {
    const x = left + place(across, value) * (right - left);
    if (x < left - 1 || x > right + 1) continue;
    group.append(s("line", { x1: x, x2: x, y1: bottom, y2: bottom + 4, class: "axis" }));
    const half = (across.tick(value).length * LETTER) / 2;
    if (x - half < edge + 4) continue;
    edge = x + half;
    group.append(s("text", { x, y: bottom + 17, "text-anchor": "middle" }, across.tick(value)));
  }
  group.append(s("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }));
  group.append(s("text", { x: right, y: bottom + 33, "text-anchor": "end", class: "label" }, across.label));
  group.append(s("text", { x: 2, y: 13, class: "label" }, up.label));
  return group;
}

function drawn(chart: Chart, column: Column, frame: Frame, id: string): SVGElement {
  const at = (i: number, values: readonly number[]): [number, number] =>
    point(chart, frame, chart.grid[i] ?? NaN, values[i] ?? NaN);
  const cls = `series ${column.kind} h-${column.hue} ${column.weight ?? ""}`;
  if (column.kind === "dots") {
    const group = s("g", { class: cls });
    chart.grid.forEach((_, i) => {
      const [x, y] = at(i, column.values);
      if (Number.isFinite(x + y)) group.append(s("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 2.6 }));
    });
    return group;
  }
  if (column.kind === "line") {
    const dashes = column.dash ?? dash(column.hue);
    return s("path", {
      class: cls,
      d: path(
        chart.grid.map((_, i) => at(i, column.values)).filter(([x, y]) => !column.joined || Number.isFinite(x + y)),
      ),
      "stroke-dasharray": dashes || undefined,
    });
  }
  const high = column.high ?? column.values;
  const there = chart.grid
    .map((_, i) => i)
    .filter((i) =>
      Number.isFinite(at(i, column.values)[0] + at(i, column.values)[1] + at(i, high)[0] + at(i, high)[1]),
    );
  const ring = [...there.map((i) => at(i, column.values)), ...there.reverse().map((i) => at(i, high))];
  const d = ring.length > 2 ? `${path(ring)}Z` : "";
  const group = s("g", { class: cls }, s("path", { d, class: "fill" }));
  if (column.pattern) group.append(s("path", { d, class: "over", fill: `url(#${id}-${column.pattern})` }));
  return group;
}

function path(points: readonly (readonly [number, number])[]): string {
  let d = "";
  let pen = "M";
  for (const [x, y] of points) {
    if (!Number.isFinite(x + y)) {
      pen = "M";
      continue;
    }
    const within = (value: number): string => Math.max(-1e4, Math.min(1e4, value)).toFixed(1);
    d += `${pen}${within(x)} ${within(y)}`;
    pen = "L";
  }
  return d;
}

/** The names at the right ends of the columns that want it, each on a line of its own. */
function names(chart: Chart, frame: Frame): SVGElement[] {
  const last = chart.grid.length - 1;
  const ends = chart.columns
    .filter((column) => column.named)
    .map((column) => ({
      column,
      y: point(chart, frame, chart.grid[last] ?? NaN, column.values[last] ?? NaN)[1] - 6,
    }))
    .filter(({ y }) => Number.isFinite(y))
    .sort((a, b) => b.y - a.y);
  let edge = Infinity;
  return ends.flatMap(({ column, y }) => {
    edge = Math.min(y, edge - 13);
    return edge < frame.top - 12
      ? []
      : s("text", { x: frame.right - 4, y: edge, "text-anchor": "end", class: `end h-${column.hue}` }, short(column.name, (frame.right - frame.left) / 2 / LETTER));
  });
}

function marks(chart: Chart, frame: Frame): SVGElement[] {
  const { left, right, top, bottom } = frame;
  const edges: number[] = [];
  const upright = (mark: Mark): boolean => (mark.on === "grid") !== (chart.turned ?? false);
  // Labels come last, so that no line runs through them.
  const lines = s("g", { class: "mark" });
  const labels = s("g", { class: "mark" });
  for (const mark of [...(chart.marks ?? [])].sort((a, b) => a.at - b.at)) {
    const share = place(mark.on === "grid" ? chart.gridAxis : chart.valueAxis, mark.at);
    if (!(share >= 0 && share <= 1)) continue;
    if (!upright(mark)) {
      const y = bottom - share * (bottom - top);
      lines.append(s("line", { x1: left, x2: right, y1: y, y2: y }));
      labels.append(s("text", { x: right - 2, y: y - 4, "text-anchor": "end" }, mark.label));
      continue;
    }
    const x = left + share * (right - left);
    const wide = mark.label.length * LETTER;
    const late = x + wide + 6 > right;
    // On the first line that is free there, so that labels of neighbours stay readable.
    const from = late ? x - wide : x;
    const free = edges.findIndex((edge) => edge < from);
    const row = free < 0 ? edges.length : free;
    edges[row] = late ? x : x + wide + 8;
    lines.append(s("line", { x1: x, x2: x, y1: top - 2, y2: bottom }));
    labels.append(
      s(
        "text",
        { x: late ? x - 4 : x + 4, y: top + 8 + 14 * row, "text-anchor": late ? "end" : "start" },
        mark.label,
      ),
    );
  }
  return [lines, labels];
}
