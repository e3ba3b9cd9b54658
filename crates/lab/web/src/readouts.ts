// The figures of the plan that is looked at, and of those beside it.

import { h, replace } from "./dom.ts";
import type { Predicted, Simulated } from "./face.ts";
import type { Hue } from "./look.ts";
import { Problem } from "./model.ts";
import type { Kind } from "./state.ts";
import { change, count, duration, percent, range, whole } from "./text.ts";
import { BATCH, type Progress } from "./trials.ts";

/** A strategy with what is predicted of it. */
export interface Row {
  readonly hue: Hue;
  readonly name: string;
  /** What choosing the row looks at, if it can be chosen. */
  readonly kind: Kind | null;
  /** `null` while it is not asked for. */
  readonly predicted: Predicted | Problem | null;
  readonly current: boolean;
}

const QUANTILES = ["p50", "p90", "p99", "p99.9"] as const;

/** A figure with its exact value beside what is shown. */
function figure(id: string, value: number | null | undefined, shown: string): HTMLElement {
  return h("data", { id, value: value ?? "" }, shown);
}

export class Readouts {
  readonly #host: HTMLElement;
  readonly #choose: (kind: Kind) => void;
  readonly #simulated = h("div", { class: "simulated", id: "simulated" });
  readonly #exact = h("div");

  constructor(host: HTMLElement, choose: (kind: Kind) => void) {
    this.#host = host;
    this.#choose = choose;
    this.#host.append(this.#exact, this.#simulated);
  }

  /** The exact figures. */
  show(rows: readonly Row[]): void {
    const current = rows.find((row) => row.current);
    if (!current?.predicted) return;
    const { predicted } = current;
    const parts: Node[] = [];
    if (predicted instanceof Problem) parts.push(h("p", { class: "refused" }, predicted.text));
    else parts.push(headline(current, predicted), chips(predicted), ...earlier(predicted));
    parts.push(this.#comparison(rows));
    replace(this.#exact, ...parts);
  }

  /** What runs say, and how far that may be from the exact figures. */
  simulate(progress: Progress): void {
    const { all, last, asked, busy, why } = progress;
    if (!all) {
      this.#simulated.replaceChildren(h("p", { class: "note" }, busy ? "Playing runs …" : why));
      return;
    }
    const head = h(
      "tr",
      {},
      h("th", { scope: "col" }, "Simulated"),
      ...QUANTILES.map((name) => h("th", { scope: "col" }, name)),
      ...["mean", "complete", "extra requests"].map((name) => h("th", { scope: "col" }, name)),
    );
    const body = h("tbody", {}, simulatedRow(all, count(all.jobs, "run", "runs"), "simulated"));
    if (last) body.append(simulatedRow(last, `the last ${whole(BATCH)}`, "batch"));
    const bar = h("progress", { max: asked, value: all.jobs, "aria-label": "Runs played" });
    bar.hidden = !busy;
    replace(
      this.#simulated,
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Simulated figures" },
        h("table", {}, h("thead", {}, head), body),
      ),
      bar,
    );
  }

  #comparison(rows: readonly Row[]): HTMLElement {
    const isGood = (predicted: Row["predicted"]): predicted is Predicted =>
      predicted !== null && !(predicted instanceof Problem);
    const verdicts = rows.some(({ predicted }) => isGood(predicted) && predicted.complete !== 1);
    const names = [
      "Strategy",
      ...QUANTILES,
      "mean",
      ...(verdicts ? ["complete", "partial", "failed"] : []),
      "extra requests",
      "extra busy",
    ];
    const body = h("tbody");
    for (const row of rows) {
      const line = h("tr", { class: row.current ? "current" : "", "data-strategy": row.name }, this.#name(row));
      const { predicted } = row;
      if (isGood(predicted)) line.append(...cells(predicted, verdicts));
      else
        line.append(
          h("td", { colspan: names.length - 1, class: "refused" }, predicted?.brief ?? "…"),
        );
      body.append(line);
    }
    const head = h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)));
    const table = h(
      "table",
      { class: "compare" },
      h("caption", { class: "hidden" }, "Strategies side by side, exact"),
      h("thead", {}, head),
      body,
    );
    return h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Strategies side by side" },
      table,
    );
  }

  #name(row: Row): HTMLElement {
    const swatch = h("i", { class: `swatch ${row.hue}` });
    const { kind } = row;
    if (kind === null) return h("th", { scope: "row" }, swatch, row.name);
    const button = h(
      "button",
      { type: "button", class: "plain", "data-key": kind, "aria-pressed": row.current ? "true" : "false" },
      swatch,
      row.name,
    );
    button.addEventListener("click", () => this.#choose(kind));
    return h("th", { scope: "row" }, button);
  }
}

function headline(row: Row, predicted: Predicted): HTMLElement {
  const list = h("dl", { class: `figures h-${row.hue}`, "aria-label": `Exact figures of ${row.name}` });
  const add = (term: string, value: HTMLElement): void =>
    list.append(h("div", {}, h("dt", {}, term), h("dd", {}, value)));
  for (const name of QUANTILES)
    add(
      name,
      figure(`exact-${name.replace(".", "")}`, predicted.quantiles_s[name], duration(predicted.quantiles_s[name])),
    );
  add("mean", figure("exact-mean", predicted.mean_s, duration(predicted.mean_s)));
  add("complete", figure("exact-complete", predicted.complete, percent(predicted.complete)));
  if (predicted.complete !== 1) {
    add("partial", figure("exact-partial", predicted.partial, percent(predicted.partial)));
    add("failed", figure("exact-failed", predicted.failed, percent(predicted.failed)));
  }
  add("extra requests", figure("exact-requests", predicted.extra_requests, change(predicted.extra_requests)));
  add("extra busy", figure("exact-busy", predicted.extra_busy, change(predicted.extra_busy)));
  add("jobs that send a copy", figure("exact-copy", predicted.sends_copy, percent(predicted.sends_copy)));
  add(
    "meets a slowest-1 % branch",
    figure("exact-slowest", predicted.slowest_percent, percent(predicted.slowest_percent)),
  );
  return list;
}

/** How the figures were found, and what they assume. */
function chips(predicted: Predicted): HTMLElement {
  const list = h("ul", { class: "chips", "aria-label": "Assumptions" });
  const method = predicted.method === "bounded" ? "bounded: correct to within a bound" : predicted.method;
  list.append(h("li", { class: "method" }, method ?? "not predicted"));
  for (const text of predicted.assumes) list.append(h("li", {}, `assumes ${text}`));
  for (const text of predicted.not_included) list.append(h("li", {}, `without ${text}`));
  return list;
}

/** That a copy falls due earlier than it was asked to, and why. */
function earlier({ earlier_copy }: Predicted): HTMLElement[] {
  if (!earlier_copy) return [];
  const { percentile, wanted_s, due_s, min_useful_s } = earlier_copy;
  const wanted = wanted_s === null ? percentile : `${percentile}, ${duration(wanted_s)}`;
  const text = `A copy is due after ${duration(due_s)}, not after ${wanted}: with less than ${duration(min_useful_s)} left before the deadline it would not be sent. That is its min_useful, the median of a call unless a plan file states another.`;
  return [h("p", { class: "note", id: "earlier-copy" }, text)];
}

function cells(predicted: Predicted, verdicts: boolean): HTMLElement[] {
  const found = QUANTILES.map((name) => duration(predicted.quantiles_s[name]));
  found.push(duration(predicted.mean_s));
  if (verdicts) found.push(percent(predicted.complete), percent(predicted.partial), percent(predicted.failed));
  found.push(change(predicted.extra_requests), change(predicted.extra_busy));
  return found.map((text) => h("td", {}, text));
}

function simulatedRow(simulated: Simulated, name: string, id: string): HTMLElement {
  const row = h("tr", {}, h("th", { scope: "row" }, name));
  const cell = (
    key: string,
    value: number | null | undefined,
    ends: readonly [number | null, number | null] | null | undefined,
    format: (value: number | null | undefined) => string,
  ): void => {
    const high = ends?.[1] ?? Infinity;
    const band = ends ? h("small", {}, ` (${range(format(ends[0]), format(high))})`) : null;
    row.append(h("td", {}, figure(`${id}-${key.replace(".", "")}`, value, format(value)), band));
  };
  const { intervals } = simulated;
  for (const name of QUANTILES) cell(name, simulated.quantiles_s[name], intervals.quantiles_s[name], duration);
  cell("mean", simulated.mean_s, intervals.mean_s, duration);
  cell("complete", simulated.complete, intervals.complete, (value) => percent(value === Infinity ? null : value));
  cell("requests", simulated.extra_requests, intervals.extra_requests, change);
  return row;
}
