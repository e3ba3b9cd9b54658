// Three experiments: guess first, then look. Each is a link into the page.

import { h } from "./dom.ts";
import { type Model, Problem } from "./model.ts";
import { DEFAULTS, type State, words } from "./state.ts";
import { duration, percent } from "./text.ts";
import { toHash } from "./url.ts";

interface Experiment {
  readonly title: string;
  readonly text: string;
  readonly question: (figure: Figures) => string;
  readonly unit: string;
  readonly from: Partial<State>;
  readonly to: Partial<State>;
  /** The answer, in the question's unit, and what there is to see beside it. */
  readonly answer: (figure: Figures) => { readonly value: number; readonly shown: string; readonly told: string };
}

type Figures = (of: Partial<State>, name: "p50" | "p99" | "slowest" | "requests" | "hedge") => number;

const EXPERIMENTS: readonly Experiment[] = [
  {
    title: "More workers, no slower call",
    text: "Wait for all, and go from one worker to sixteen. Every call is as quick as before.",
    question: (figure) =>
      `One worker’s job has a median of ${duration(figure({ n: 1, kind: "all" }, "p50"))}. And sixteen workers’?`,
    unit: "s",
    from: { n: 1, kind: "all" },
    to: { n: 16, kind: "all" },
    answer: (figure) => {
      const p50 = figure({ n: 16, kind: "all" }, "p50");
      const slowest = percent(figure({ n: 16, kind: "all" }, "slowest"));
      return {
        value: p50,
        shown: duration(p50),
        told: `The median of a job is now that of the slowest of sixteen. ${slowest} of the jobs, one in seven, wait for a call from the slowest 1 %.`,
      };
    },
  },
  {
    title: "Five answers of eight",
    text: "Do without the last three answers. They are dropped the moment the fifth is in.",
    question: (figure) =>
      `The p99 of waiting for all eight is ${duration(figure({ n: 8, kind: "all" }, "p99"))}. And of the first five?`,
    unit: "s",
    from: { n: 8, kind: "all" },
    to: { n: 8, kind: "first", k: 5 },
    answer: (figure) => {
      const [all, five] = [figure({ n: 8, kind: "all" }, "p99"), figure({ n: 8, kind: "first", k: 5 }, "p99")];
      return {
        value: five,
        shown: duration(five),
        told: `From ${duration(all)} to ${duration(five)}: a job is late only when four of eight calls are. It costs no request, but the answers of three branches.`,
      };
    },
  },
  {
    title: "A copy of what is late",
    text: "Send a second request for each call that is still out after its own p95. Then press Run ×1,000 a few times and watch the simulated p99.",
    question: (figure) =>
      `The p99 of waiting for all eight is ${duration(figure({ n: 8, kind: "all" }, "p99"))}. And with copies of the slowest twentieth?`,
    unit: "s",
    from: { n: 8, kind: "all" },
    to: { n: 8, kind: "hedge", after: "p95" },
    answer: (figure) => {
      const plan: Partial<State> = { n: 8, kind: "hedge", after: "p95" };
      const [all, hedged] = [figure({ n: 8, kind: "all" }, "p99"), figure(plan, "p99")];
      const told = `From ${duration(all)} to ${duration(hedged)}, for ${percent(figure(plan, "requests"))} more requests. The median stays at ${duration(figure(plan, "p50"))}, since it lies below the ${duration(figure(plan, "hedge"))} at which copies start. Of a thousand runs only ten decide their p99, so it wobbles from batch to batch.`;
      return { value: hedged, shown: duration(hedged), told };
    },
  },
];

/** Writes the experiments into `list`; `go` shows a state. */
export function tries(list: HTMLElement, model: Model, go: (state: State) => void): void {
  const figures: Figures = (of, name) => {
    const predicted = model.predict(words({ ...DEFAULTS, ...of }));
    if (predicted instanceof Problem) return NaN;
    if (name === "slowest") return predicted.slowest_percent;
    if (name === "requests") return predicted.extra_requests ?? NaN;
    if (name === "hedge") return predicted.plan.branches[0]?.copies_after_s[0] ?? NaN;
    return predicted.quantiles_s[name] ?? NaN;
  };
  list.replaceChildren(...EXPERIMENTS.map((experiment, i) => item(experiment, i, figures, go)));
}

function item(experiment: Experiment, i: number, figures: Figures, go: (state: State) => void): HTMLElement {
  const link = (patch: Partial<State>, text: string): HTMLAnchorElement => {
    const state = { ...DEFAULTS, ...patch };
    const anchor = h("a", { href: `#${toHash(state) || "strategy=all"}` }, text);
    anchor.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(state);
    });
    return anchor;
  };
  const guess = h("input", { type: "number", step: "any", min: 0, id: `guess-${i}`, inputmode: "decimal" });
  const answer = h("output", { class: "answer", for: `guess-${i}` });
  const form = h(
    "form",
    {},
    h("label", { for: `guess-${i}` }, experiment.question(figures)),
    h("span", { class: "nowrap" }, guess, ` ${experiment.unit} `, h("button", { type: "submit" }, "Reveal")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { value, shown, told } = experiment.answer(figures);
    const guessed =
      guess.value === "" ? "" : ` You said ${duration(Number(guess.value))}${near(Number(guess.value), value)}.`;
    answer.replaceChildren(h("strong", {}, h("data", { value }, shown)), `.${guessed} ${told}`);
    go({ ...DEFAULTS, ...experiment.to });
  });
  return h(
    "li",
    {},
    h("h3", {}, experiment.title),
    h("p", {}, experiment.text, " ", link(experiment.from, "Start"), " · ", link(experiment.to, "End")),
    form,
    answer,
  );
}

function near(guess: number, value: number): string {
  const ratio = guess / value;
  if (ratio > 0.95 && ratio < 1.05) return ", which is it";
  if (ratio > 0.8 && ratio < 1.25) return ", close";
  return ratio < 1 ? ", too low" : ", too high";
}
