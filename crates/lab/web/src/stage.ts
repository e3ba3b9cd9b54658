// The lanes on the page: which job is shown, and the clock that plays it.

import { announce, byId, h } from "./dom.ts";
import type { Job } from "./face.ts";
import type { Runner } from "./glue.ts";
import { csv, moments, sentence, table } from "./fates.ts";
import { type Picture, key, picture, spanOf } from "./lanes.ts";
import { type Model, Problem, jobOf } from "./model.ts";
import { type Phase, Playback } from "./playback.ts";
import type { Store } from "./state.ts";
import { files } from "./chart/twin.ts";
import type { Line } from "./views/view.ts";

export class Stage {
  readonly #store: Store;
  readonly #model: Model;
  readonly #keep: () => void;
  readonly #playback = new Playback((now, phase) => this.#show(now, phase));
  readonly #figure = h("figure", { id: "figure-job" });
  readonly #legend = h("div", { class: "legend-host" });
  readonly #plot = h("div", { class: "plot" });
  readonly #told = h("p", { class: "reading", id: "job-told" });
  readonly #twin = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table: One job" });
  readonly #details = h("details", { class: "twin" }, h("summary", {}, "Table"), this.#twin);
  #line: Line | null = null;
  #runner: Runner | null = null;
  /** What the runner plays, and what is shown of it. */
  #of = "";
  #shown = "";
  #job: Job | null = null;
  /** Why there is none. */
  #why = "";
  #picture: Picture | null = null;
  #width = 0;

  /** `keep` is called when another job is looked at. */
  constructor(host: HTMLElement, store: Store, model: Model, keep: () => void) {
    this.#store = store;
    this.#model = model;
    this.#keep = keep;
    const saves = files(
      "job",
      () => this.#picture?.svg ?? null,
      () => (this.#job ? csv(this.#job) : ""),
    );
    this.#figure.append(
      this.#legend,
      this.#plot,
      this.#told,
      h("div", { class: "foot" }, this.#details, h("div", { class: "saves" }, ...saves)),
    );
    host.append(this.#figure);
    this.#details.addEventListener("toggle", () => this.#tabulate());
    byId("run").addEventListener("click", () => this.run());
    byId("step").addEventListener("click", () => this.step());
    const speed = byId<HTMLSelectElement>("speed");
    speed.addEventListener("change", () => this.#playback.speed(Number(speed.value)));
    new ResizeObserver(() => {
      const width = Math.floor(this.#plot.clientWidth);
      if (width !== this.#width && width > 0) this.#draw();
    }).observe(this.#plot);
  }

  /** Shows the job of the state under a plan. */
  show(line: Line): void {
    const { seed, job } = this.#store.now;
    const of = JSON.stringify([line.words, seed]);
    const shown = JSON.stringify([of, line.hue, job]);
    if (shown === this.#shown && this.#runner) return;
    if (of !== this.#of || !this.#runner) {
      this.#runner?.free();
      const runner = this.#model.runner({ ...line.words, seed });
      this.#runner = runner instanceof Problem ? null : runner;
      this.#why = runner instanceof Problem ? runner.brief : "it takes longer than time counts";
    }
    // The same run under another plan is another one to play.
    this.#fresh = true;
    this.#line = line;
    this.#of = of;
    this.#shown = shown;
    this.#job = this.#runner && jobOf(this.#runner, job);
    this.#draw();
  }

  /** Runs, pauses, or goes on to the next job when this one is over. */
  run(): void {
    if (!this.#job) return;
    if (this.#playback.phase === "running") return this.#playback.pause();
    if (this.#playback.phase === "over") this.#next();
    this.#playback.run();
  }

  /** To the next moment at which something happens; from the end, to the start of the next job. */
  step(): void {
    if (!this.#job) return;
    if (this.#playback.phase === "over") this.#next();
    this.#playback.step();
  }

  /** Back to the first job. */
  reset(): void {
    this.#fresh = true;
    this.#store.set({ job: 0 });
    if (this.#line) this.show(this.#line);
    this.#keep();
  }

  /** Whether the job that is shown has not been played yet. */
  #fresh = true;

  #next(): void {
    if (!this.#fresh) {
      this.#store.set({ job: this.#store.now.job + 1 });
      if (this.#line) this.show(this.#line);
      this.#keep();
    }
    this.#fresh = false;
  }

  #draw(): void {
    const width = Math.floor(this.#plot.clientWidth);
    if (width === 0 || !this.#line) return;
    this.#width = width;
    this.#figure.classList.toggle("empty", !this.#job);
    for (const id of ["run", "step"]) byId<HTMLButtonElement>(id).disabled = !this.#job;
    if (!this.#job) {
      this.#plot.replaceChildren(h("p", { class: "note" }, `There is nothing to play: ${this.#why}`));
      this.#picture = null;
      return;
    }
    const span = spanOf(this.#job);
    this.#picture = picture(this.#job, { hue: this.#line.hue, span, width });
    this.#plot.replaceChildren(this.#picture.svg);
    this.#legend.replaceChildren(key(this.#job));
    this.#tabulate();
    this.#playback.load(this.#job.lanes.elapsed_s ?? span, span, moments(this.#job));
  }

  #tabulate(): void {
    if (this.#details.open && this.#job) this.#twin.replaceChildren(table(this.#job));
  }

  #show(now: number, phase: Phase): void {
    this.#picture?.reveal(now, phase === "over");
    const button = byId("run");
    const label = { running: "Pause", paused: "Go on", over: "Run" }[phase];
    if (button.textContent !== label) button.textContent = label;
    if (!this.#job) return;
    const text = phase === "over" ? sentence(this.#job.lanes) : `Run ${this.#job.lanes.job + 1} …`;
    if (this.#told.textContent === text) return;
    this.#told.textContent = text;
    if (!this.#fresh && phase === "over") announce(text);
  }
}
