// Opened at a gateway: its plans, what was predicted of them, and what was measured since it started.

import { h, replace } from "./dom.ts";
import type { Predicted } from "./face.ts";
import type { Runner } from "./glue.ts";
import { type Work, whenIdle } from "./idle.ts";
import { type Model, Problem, type Story } from "./model.ts";
import { count, duration, percent } from "./text.ts";
import { Jobs } from "./views/jobs.ts";

/** What a gateway says of itself; `null` where none is behind the page. */
interface Served {
  readonly file: Story["file"];
  /** How long it has been measuring, in seconds. */
  readonly since_s: number;
  readonly plans: readonly Measured[];
}

interface Measured {
  readonly name: string;
  readonly jobs: number;
  readonly quantiles_s: Readonly<Record<string, number | null>>;
  readonly complete: number | null;
  readonly partial: number | null;
  readonly failed: number | null;
}

const EVERY_MS = 5_000;
const QUANTILES = ["p50", "p90", "p99", "p99.9"];

/** Shows in `host` what is served, again and again, if the page comes from a gateway. */
export async function served(host: HTMLElement, model: Model): Promise<void> {
  if (!location.protocol.startsWith("http")) return;
  const ask = async (): Promise<Served | null> => {
    const answer = await fetch("served.json");
    return answer.ok ? ((await answer.json()) as Served | null) : null;
  };
  const first = await ask().catch(() => null);
  if (!first) return;
  const silent = h("p", { class: "error", role: "status" });
  const figures = h("div", { id: "served-figures" });
  const lanes = new ServedJobs(model);
  host.append(figures, silent, lanes.element);
  host.hidden = false;
  const show = (now: Served): void => {
    tabulate(figures, model, now);
    lanes.show(now.file);
  };
  show(first);
  let last = new Date();
  setInterval(() => {
    if (document.visibilityState !== "visible") return;
    ask()
      .catch(() => null)
      .then((next) => {
        if (next) {
          show(next);
          last = new Date();
        }
        const text = next ? "" : `No answer since ${last.toLocaleTimeString("en-GB")}: what is shown is of then.`;
        if (silent.textContent !== text) silent.textContent = text;
      });
  }, EVERY_MS);
}

/** A job of each plan of the file, as it is served now. */
class ServedJobs {
  readonly element = h("div");
  readonly #model: Model;
  #text: string | null = null;
  #runner: Runner | null = null;
  #work: Work | null = null;

  constructor(model: Model) {
    this.#model = model;
  }

  /** Nothing of plans that can't be played, as without a law. */
  show(file: Story["file"]): void {
    if (file.text === this.#text) return;
    this.#text = file.text;
    this.#work?.cancel();
    this.element.replaceChildren();
    this.#runner?.free();
    const runner = this.#model.runner({ file });
    this.#runner = runner instanceof Problem ? null : runner;
    if (!this.#runner) return;
    const jobs = new Jobs(this.#runner, {
      noun: "Job",
      under: "under each plan",
      title: (plan) => plan,
      hue: () => "own",
    });
    this.element.append(jobs.element);
    this.#work = whenIdle(jobs.lay());
  }
}

function tabulate(host: HTMLElement, model: Model, { file, since_s, plans }: Served): void {
  const predictions = model.predictions({ file });
  const predicted = new Map<string, Predicted>(
    predictions instanceof Problem ? [] : predictions.map((plan) => [plan.name, plan]),
  );
  const rows = plans.flatMap((plan) => {
    const exact = predicted.get(plan.name);
    const cells = (of: Omit<Measured, "name" | "jobs">): string[] => [
      ...QUANTILES.map((name) => duration(of.quantiles_s[name])),
      percent(of.complete),
      percent(of.partial),
      percent(of.failed),
    ];
    const row = (name: string, texts: readonly string[]): HTMLElement =>
      h("tr", {}, h("th", { scope: "row" }, name), ...texts.map((text) => h("td", {}, text)));
    const measured = plan.jobs ? cells(plan) : [];
    return [
      ...(exact ? [row(`${plan.name}, predicted`, cells(exact))] : []),
      row(`${plan.name}, measured over ${count(plan.jobs, "job", "jobs")}`, measured),
    ];
  });
  const head = ["Plan", ...QUANTILES, "complete", "partial", "failed"].map((name) =>
    h("th", { scope: "col" }, name),
  );
  replace(
    host,
    h("h2", { class: "quiet" }, "Served from ", h("span", { class: "as-is" }, file.name), `, for ${duration(since_s)}`),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Predicted and measured" },
      h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows)),
    ),
  );
}
