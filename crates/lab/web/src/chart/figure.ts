// A picture on the page: drawn to the width it has, read off with a slider, with its table and its files.

import { h, s } from "../dom.ts";
import { type Chart, type Frame, draw, point } from "./draw.ts";
import { csv, files, legend, table } from "./twin.ts";

export interface FigureText {
  /** Name of its files. */
  readonly name: string;
  readonly title: string;
  /** A sentence or two below it. */
  readonly note?: string;
  readonly height?: number;
}

export class Figure {
  readonly element: HTMLElement;
  readonly #height: number;
  readonly #plot = h("div", { class: "plot" });
  readonly #legend = h("div", { class: "legend-host" });
  readonly #note: HTMLElement;
  readonly #slider: HTMLInputElement;
  readonly #reading = h("p", { class: "reading" });
  readonly #twin = h("div", { class: "scroll", tabindex: 0, role: "region" });
  readonly #details: HTMLDetailsElement;
  #chart: Chart | null = null;
  #svg: SVGSVGElement | null = null;
  #frame: Frame | null = null;
  #width = 0;

  constructor(text: FigureText) {
    this.#height = text.height ?? 280;
    this.#note = h("p", { class: "note" }, text.note);
    this.#slider = h("input", {
      type: "range",
      min: 0,
      max: 0,
      step: 1,
      value: 0,
      class: "read",
      "aria-label": `Read off: ${text.title}`,
    });
    this.#details = h("details", { class: "twin" }, h("summary", {}, "Table"), this.#twin);
    this.#twin.setAttribute("aria-label", `Table: ${text.title}`);
    const saves = files(
      text.name,
      () => this.#svg,
      () => (this.#chart ? csv(this.#chart) : ""),
    );
    this.element = h(
      "figure",
      { id: `figure-${text.name}` },
      h("figcaption", {}, h("h3", {}, text.title)),
      this.#legend,
      this.#plot,
      this.#slider,
      this.#reading,
      this.#note,
      h("div", { class: "foot" }, this.#details, h("div", { class: "saves" }, ...saves)),
    );
    this.#plot.style.minHeight = `${this.#height}px`;
    this.#slider.addEventListener("input", () => this.#read());
    this.#plot.addEventListener("pointermove", (event) => this.#follow(event));
    this.#details.addEventListener("toggle", () => this.#tabulate());
    new ResizeObserver(() => this.#fit()).observe(this.#plot);
  }

  /** Shows another chart. */
  show(chart: Chart, note?: string): void {
    const before = this.#chart?.grid.length ?? 0;
    this.#chart = chart;
    this.element.classList.remove("empty");
    if (note !== undefined) this.#note.textContent = note;
    this.#slider.max = String(chart.grid.length - 1);
    if (before !== chart.grid.length) this.#slider.value = String(Math.floor((chart.grid.length - 1) / 2));
    this.#legend.replaceChildren(legend(chart));
    this.#redraw();
    this.#tabulate();
  }

  /** Says why there is nothing to show. */
  none(why: string): void {
    this.#chart = null;
    this.#svg = null;
    this.element.classList.add("empty");
    this.#plot.replaceChildren(h("p", { class: "note" }, why));
  }

  #fit(): void {
    const width = Math.floor(this.#plot.clientWidth);
    if (width === this.#width || width === 0) return;
    this.#width = width;
    this.#redraw();
  }

  #redraw(): void {
    const width = this.#width || Math.floor(this.#plot.clientWidth);
    if (!this.#chart || width === 0) return;
    const { svg, frame } = draw(this.#chart, width, this.#height);
    this.#svg = svg;
    this.#frame = frame;
    this.#plot.replaceChildren(svg);
    this.#read();
  }

  #tabulate(): void {
    if (this.#details.open && this.#chart) this.#twin.replaceChildren(table(this.#chart));
  }

  /** Reads off where the slider stands. */
  #read(): void {
    const chart = this.#chart;
    if (!chart || !this.#svg || !this.#frame) return;
    const i = Number(this.#slider.value);
    const at = chart.grid[i];
    if (at === undefined) return;
    const format = chart.valueAxis.format ?? chart.valueAxis.tick;
    const values = chart.columns.flatMap((column) => {
      const value = (column.shown ?? column.values)[i] ?? NaN;
      if (Number.isNaN(value) || (column.kind === "band" && !column.shown)) return [];
      return [`${column.name}\u00a0${format(value).replaceAll(" ", "\u00a0")}`];
    });
    const where = (chart.gridAxis.format ?? chart.gridAxis.tick)(at);
    const text = `${chart.gridAxis.label} ${where}: ${values.join(" · ") || "nothing"}`;
    this.#reading.textContent = text;
    this.#slider.setAttribute("aria-valuetext", text);
    this.#cross(chart, this.#frame, i, at);
  }

  #cross(chart: Chart, frame: Frame, i: number, at: number): void {
    this.#svg?.querySelector(".cursor")?.remove();
    const group = s("g", { class: "cursor", "aria-hidden": "true" });
    const [x, y] = point(chart, frame, at, chart.valueAxis.from);
    const line = chart.turned
      ? { x1: frame.left, x2: frame.right, y1: y, y2: y }
      : { x1: x, x2: x, y1: frame.top, y2: frame.bottom };
    group.append(s("line", line));
    for (const column of chart.columns) {
      if (column.kind !== "line") continue;
      const [cx, cy] = point(chart, frame, at, column.values[i] ?? NaN);
      const inside = cx >= frame.left && cx <= frame.right + 1 && cy >= frame.top - 1 && cy <= frame.bottom;
      if (inside) group.append(s("circle", { cx, cy, r: 3.5, class: `h-${column.hue}` }));
    }
    this.#svg?.append(group);
  }

  /** Moves the slider to the value of the grid that is nearest to the pointer. */
  #follow(event: PointerEvent): void {
    const chart = this.#chart;
    const frame = this.#frame;
    if (!chart || !frame || event.pointerType === "touch") return;
    const box = this.#plot.getBoundingClientRect();
    const pointer = chart.turned ? event.clientY - box.top : event.clientX - box.left;
    let nearest = 0;
    let least = Infinity;
    chart.grid.forEach((at, i) => {
      const distance = Math.abs(point(chart, frame, at, chart.valueAxis.from)[chart.turned ? 1 : 0] - pointer);
      if (distance < least) [least, nearest] = [distance, i];
    });
    this.#slider.value = String(nearest);
    this.#read();
  }
}
