// What copies cost: requests and busy time beyond those of the same plan without them.

import { h, s } from "../dom.ts";
import { short } from "../chart/draw.ts";
import { Problem } from "../model.ts";
import { change, percent } from "../text.ts";
import { files, quoted } from "../chart/twin.ts";
import type { Line, Scene } from "./view.ts";

interface Price {
  readonly line: Line;
  readonly requests: number | null;
  readonly busy: number | null;
  readonly copy: number | null;
}

/** How wide a letter of a bold name is, in pixels. */
const BOLD = 7.6;

/** Bars of two prices for each strategy. */
export class Prices {
  readonly element: HTMLElement;
  readonly #plot = h("div", { class: "plot" });
  readonly #twin = h("div", {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": "Table: What copies cost",
  });
  #prices: readonly Price[] = [];

  constructor() {
    const saves = files(
      "prices",
      () => this.#plot.querySelector("svg"),
      () => this.#csv(),
    );
    this.element = h(
      "figure",
      { id: "figure-prices" },
      h("figcaption", {}, h("h3", {}, "What copies cost")),
      this.#plot,
      h(
        "p",
        { class: "note" },
        "Busy time counts only what runs, and losers are stopped at once.",
      ),
      h(
        "div",
        { class: "foot" },
        h("details", { class: "twin" }, h("summary", {}, "Table"), this.#twin),
        h("div", { class: "saves" }, ...saves),
      ),
    );
    new ResizeObserver(() => this.#redraw()).observe(this.#plot);
  }

  draw({ model, lines }: Scene): () => boolean {
    const prices: Price[] = [];
    let i = 0;
    return () => {
      const line = lines[i++];
      const predicted = line && model.predict(line.words);
      if (line && predicted && !(predicted instanceof Problem))
        prices.push({ line, requests: predicted.extra_requests, busy: predicted.extra_busy, copy: predicted.sends_copy });
      if (i < lines.length) return false;
      this.#show(prices);
      return true;
    };
  }

  #show(prices: readonly Price[]): void {
    this.#prices = prices;
    this.element.classList.toggle("empty", this.#prices.length === 0);
    this.#redraw();
    const head = ["Strategy", "extra requests", "extra busy", "jobs that send a copy"];
    const rows = this.#prices.map(({ line, requests, busy, copy }) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, line.name),
        ...[change(requests), change(busy), percent(copy)].map((text) => h("td", {}, text)),
      ),
    );
    this.#twin.replaceChildren(
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, ...rows),
      ),
    );
  }

  #redraw(): void {
    const width = Math.floor(this.#plot.clientWidth);
    if (width === 0) return;
    if (this.#prices.length === 0) {
      this.#plot.replaceChildren(h("p", { class: "note" }, "There are no figures."));
      return;
    }
    const most = Math.max(
      0.1,
      ...this.#prices.flatMap(({ requests, busy }) => [requests ?? 0, busy ?? 0]).filter(Number.isFinite),
    );
    const row = 46;
    const height = this.#prices.length * row + 8;
    const says = this.#prices
      .map(({ line, requests, busy }) => `${line.name}: ${change(requests)} requests, ${change(busy)} busy time`)
      .join("; ");
    const svg = s("svg", {
      class: "chart",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `What copies cost. ${says}`,
    });
    const left = Math.min(16 + BOLD * Math.max(...this.#prices.map(({ line }) => line.name.length)), width * 0.45);
    const room = width - left - 130;
    this.#prices.forEach(({ line, requests, busy }, i) => {
      const y = 6 + i * row;
      svg.append(
        s(
          "text",
          { x: left - 10, y: y + 22, "text-anchor": "end", class: line.current ? "strong" : "" },
          short(line.name, (left - 12) / BOLD),
        ),
      );
      [
        ["requests", requests],
        ["busy", busy],
      ].forEach(([name, value], j) => {
        const share = Math.max(0, Math.min(1, (typeof value === "number" ? value : 0) / most));
        const top = y + 3 + j * 17;
        svg.append(
          s("rect", {
            x: left,
            y: top,
            width: Math.max(1.5, share * room),
            height: 13,
            rx: 2,
            class: `series bars h-${line.hue} ${name}`,
          }),
        );
        svg.append(
          s("text", { x: left + share * room + 8, y: top + 11 }, `${change(value as number | null)} ${name}`),
        );
      });
    });
    this.#plot.replaceChildren(svg);
  }

  #csv(): string {
    const lines = this.#prices.map(({ line, requests, busy, copy }) =>
      [quoted(line.name), requests ?? "", busy ?? "", copy ?? ""].join(","),
    );
    return `${["strategy,extra_requests,extra_busy,sends_copy", ...lines].join("\n")}\n`;
  }
}
