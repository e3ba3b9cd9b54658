// One job under each plan of a file, as lanes: found under one plan after the other, then drawn, piece by piece.

import { csv, table } from "../fates.ts";
import { files } from "../chart/twin.ts";
import { h } from "../dom.ts";
import type { Job } from "../face.ts";
import type { Runner } from "../glue.ts";
import { type Piece, type Work, whenIdle } from "../idle.ts";
import { key, picture, spanOf } from "../lanes.ts";
import type { Hue } from "../look.ts";
import { jobOf } from "../model.ts";

/** How jobs are spoken of, and how their plans look. */
export interface Looks {
  /** What a job is called, `Document`. */
  readonly noun: string;
  /** What follows its number. */
  readonly under: string;
  readonly title: (plan: string) => string;
  readonly hue: (plan: string) => Hue;
}

/** Jobs that can be shown: where they matter to each other, those before one are played for it. */
const MOST = 1_000;

export class Jobs {
  readonly element: HTMLElement;
  readonly #runner: Runner;
  readonly #looks: Looks;
  readonly #id: string;
  readonly #number: HTMLInputElement;
  readonly #lanes = h("div", { class: "calls" });
  #work: Work | null = null;

  constructor(runner: Runner, looks: Looks) {
    this.#runner = runner;
    this.#looks = looks;
    this.#id = looks.noun.toLowerCase();
    this.#number = h("input", { type: "number", id: this.#id, min: 1, max: MOST, step: 1, value: 1 });
    this.#number.addEventListener("change", () => {
      this.#work?.cancel();
      this.#work = whenIdle(this.lay());
    });
    const which = h("p", { class: "which" }, h("label", {}, `${looks.noun} `, this.#number), ` ${looks.under}`);
    this.element = h("div", {}, which, this.#lanes);
  }

  /** Lays out the lanes of the job that is asked for. */
  lay(): Piece {
    const index = Math.max(1, Math.min(MOST, Math.trunc(Number(this.#number.value)) || 1)) - 1;
    this.#number.value = String(index + 1);
    const names = this.#runner.names();
    const found: { name: string; job: Job }[] = [];
    const drawn: HTMLElement[] = [];
    let plan = 0;
    return () => {
      const name = names[plan];
      if (name !== undefined) {
        const job = jobOf(this.#runner, index, plan++);
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
    const { svg } = picture(job, { hue: this.#looks.hue(name), span, width, named: true });
    const twin = h(
      "details",
      { class: "twin" },
      h("summary", {}, "Table"),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table: ${name}` }, table(job)),
    );
    const saves = files(
      `${this.#id}-${name}`,
      () => svg,
      () => csv(job),
    );
    return h(
      "figure",
      { id: `figure-${this.#id}-${name}` },
      h("figcaption", {}, h("h3", {}, this.#looks.title(name))),
      key(job),
      h("div", { class: "plot" }, svg),
      h("div", { class: "foot" }, twin, h("div", { class: "saves" }, ...saves)),
    );
  }
}
