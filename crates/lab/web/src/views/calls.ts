// A pipeline of five calls of a model for each document: one after the other, all at once, and under a plan.

import { h } from "../dom.ts";
import { type Runner, ingestion } from "../glue.ts";
import type { Played, Simulated } from "../face.ts";
import type { Piece } from "../idle.ts";
import { type Model, Problem, play, report } from "../model.ts";
import { change, count, duration, percent } from "../text.ts";
import type { Hue } from "../look.ts";
import { Jobs } from "./jobs.ts";

const HUES: Readonly<Record<string, Hue>> = { sequential: "own", concurrent: "all", bounded: "hedge" };
const SAYS: Readonly<Record<string, string>> = {
  sequential: "One after the other",
  concurrent: "All at once",
  bounded: "Under a plan",
};

/** Instants of a piece of work, of which a handful are a document. */
const PIECE = 5_000;

export class Calls {
  readonly #figures = h("div");
  #runner: Runner | null = null;
  #documents: Jobs | null = null;

  constructor(host: HTMLElement, model: Model) {
    host.append(
      h(
        "p",
        { class: "prose" },
        "Five calls fill in one document. One after the other, their times add up, and sums are calm. All at once, the document is as late as its slowest call, and five calls in one instant can drain the account’s rate: a call that is turned away comes back 13 s later. Under a plan a gate holds calls back, a deadline ends the wait, and three of the five fields are required. Each row is played by the machine that runs plans, against the same simulated account.",
      ),
      this.#figures,
    );
    const runner = model.runner({ file: { name: "ingestion.toml", text: ingestion() }, seed: 7 });
    if (runner instanceof Problem) {
      this.#figures.append(h("p", { class: "refused" }, runner.text));
      return;
    }
    this.#runner = runner;
    this.#documents = new Jobs(runner, {
      noun: "Document",
      under: "under each of the three",
      title: (plan) => SAYS[plan] ?? plan,
      hue: (plan) => HUES[plan] ?? "all",
    });
    host.append(this.#documents.element);
  }

  /** What is left to do, in pieces. */
  draw(): Piece {
    let played: number | Problem = 0;
    let lay: Piece | null = null;
    return () => {
      if (!this.#runner || played instanceof Problem) return true;
      if (played === 0) {
        played = play(this.#runner, PIECE);
        if (typeof played === "number" && played > 0) this.#tabulate();
        return false;
      }
      lay ??= this.#documents?.lay() ?? null;
      return lay === null || lay();
    };
  }

  #tabulate(): void {
    const played: Played | null = this.#runner ? report(this.#runner) : null;
    if (!played) return;
    const { plans } = played;
    type Figure = (plan: Simulated) => number | null | undefined;
    const row = (
      id: string,
      name: string,
      figure: Figure,
      format: (value: number | null | undefined) => string,
    ): HTMLElement => {
      const cell = (plan: Simulated): HTMLElement =>
        h("td", {}, h("data", { id: `calls-${id}-${plan.name}`, value: figure(plan) ?? "" }, format(figure(plan))));
      return h("tr", {}, h("th", { scope: "row" }, name), ...plans.map(cell));
    };
    const head = h("tr", {}, h("td"), ...plans.map(({ name }) => h("th", { scope: "col" }, SAYS[name] ?? name)));
    const body = h(
      "tbody",
      {},
      row("p50", "p50", (plan) => plan.quantiles_s["p50"], duration),
      row("p99", "p99", (plan) => plan.quantiles_s["p99"], duration),
      row("complete", "complete", (plan) => plan.complete, percent),
      row("partial", "partial", (plan) => plan.partial, percent),
      row("failed", "failed", (plan) => plan.failed, percent),
      row("requests", "extra requests", (plan) => plan.extra_requests, change),
      row("rejected", "documents that met 429", (plan) => plan.rejected_429_jobs, percent),
    );
    const caption = h("caption", {}, `${count(plans[0]?.jobs ?? 0, "document", "documents")} each, simulated`);
    this.#figures.replaceChildren(
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Three ways to make five calls" },
        h("table", { id: "calls-table" }, caption, h("thead", {}, head), body),
      ),
    );
  }
}
