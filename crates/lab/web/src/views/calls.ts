// A pipeline of five calls of a model for each document: one after the other, all at once, and under a plan.

import { h } from "../dom.ts";
import { type Runner, ingestion } from "../glue.ts";
import { csv, table } from "../fates.ts";
import { key, picture, spanOf } from "../lanes.ts";
import type { Job, Played, Simulated } from "../face.ts";
import { type Piece, type Work, whenIdle } from "../idle.ts";
import { type Model, Problem, jobOf, play, report } from "../model.ts";
import { change, count, duration, percent } from "../text.ts";
import { files } from "../chart/twin.ts";
import type { Hue } from "../look.ts";

const HUES: Readonly<Record<string, Hue>> = { sequential: "own", concurrent: "all", bounded: "hedge" };
const SAYS: Readonly<Record<string, string>> = {
  sequential: "One after the other",
  concurrent: "All at once",
  bounded: "Under a plan",
};

/** Documents whose lanes can be shown: those before them are played for it. */
const DOCUMENTS = 1_000;

/** Instants of a piece of work, of which a handful are a document. */
const PIECE = 5_000;

export class Calls {
  readonly #figures = h("div");
  readonly #lanes = h("div", { class: "calls" });
  readonly #document = h("input", { type: "number", id: "document", min: 1, max: DOCUMENTS, step: 1, value: 1 });
  #runner: Runner | null = null;
  #work: Work | null = null;

  constructor(host: HTMLElement, model: Model) {
    host.append(
      h(
        "p",
        { class: "prose" },
        "Five calls fill in one document. One after the other, their times add up, and sums are calm. All at once, the document is as late as its slowest call, and five calls in one instant can drain the account’s rate: a call that is turned away comes back 13 s later. Under a plan a gate holds calls back, a deadline ends the wait, and three of the five fields are required. Each row is played by the machine that runs plans, against the same simulated account.",
      ),
      this.#figures,
      h("p", { class: "which" }, h("label", {}, "Document ", this.#document), " under each of the three"),
      this.#lanes,
    );
    const runner = model.runner({ file: { name: "ingestion.toml", text: ingestion() }, seed: 7 });
    this.#runner = runner instanceof Problem ? null : runner;
    if (runner instanceof Problem) this.#figures.append(h("p", { class: "refused" }, runner.text));
    this.#document.addEventListener("change", () => {
      this.#work?.cancel();
      this.#work = whenIdle(this.#lay());
    });
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
      lay ??= this.#lay();
      return lay();
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

  /** Lays out the lanes of the document that is asked for: its job is found under one plan after the other, then drawn. */
  #lay(): Piece {
    const runner = this.#runner;
    const index = Math.max(1, Math.min(DOCUMENTS, Math.trunc(Number(this.#document.value)) || 1)) - 1;
    this.#document.value = String(index + 1);
    const names = runner?.names() ?? [];
    const found: { name: string; job: Job }[] = [];
    const drawn: HTMLElement[] = [];
    let plan = 0;
    return () => {
      const name = names[plan];
      if (runner && name !== undefined) {
        const job = jobOf(runner, index, plan++);
        // What a call would take uncut says little here: a call that is turned away comes back later.
        if (job) found.push({ name, job: { lanes: job.lanes, luck: new Float64Array() } });
        return false;
      }
      const next = found[drawn.length];
      if (next) {
        drawn.push(this.#figure(next.name, next.job, Math.max(...found.map(({ job }) => spanOf(job)))));
        return false;
      }
      this.#lanes.replaceChildren(...drawn);
      return true;
    };
  }

  #figure(name: string, job: Job, span: number): HTMLElement {
    const width = Math.max(280, Math.floor(this.#lanes.clientWidth));
    const { svg } = picture(job, { hue: HUES[name] ?? "all", span, width, named: true });
    const twin = h(
      "details",
      { class: "twin" },
      h("summary", {}, "Table"),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table: ${name}` }, table(job)),
    );
    const saves = files(
      `document-${name}`,
      () => svg,
      () => csv(job),
    );
    return h(
      "figure",
      { id: `figure-document-${name}` },
      h("figcaption", {}, h("h3", {}, SAYS[name] ?? name)),
      key(job),
      h("div", { class: "plot" }, svg),
      h("div", { class: "foot" }, twin, h("div", { class: "saves" }, ...saves)),
    );
  }
}
