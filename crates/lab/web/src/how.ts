// What the page shows and how it finds it, with figures that the model gives.

import { h } from "./dom.ts";
import { type Model, Problem } from "./model.ts";
import { DEFAULTS, words } from "./state.ts";
import { change, duration, percent } from "./text.ts";

/** Writes the text into `host`. */
export function how(host: HTMLElement, model: Model): void {
  const chance = (n: number): HTMLElement => {
    const predicted = model.predict(words({ ...DEFAULTS, n }));
    const value = predicted instanceof Problem ? NaN : predicted.slowest_percent;
    return h("data", { id: `slowest-${n}`, value }, percent(value));
  };
  const hedged = model.predict(words({ ...DEFAULTS, kind: "hedge" }));
  const price = (of: "requests" | "busy"): HTMLElement => {
    const value = hedged instanceof Problem ? NaN : (hedged[`extra_${of}`] ?? NaN);
    return h("data", { id: `hedge-${of}`, value }, change(value));
  };
  const call = duration(model.check(words(DEFAULTS)).law?.p99_s);
  host.replaceChildren(
    h(
      "p",
      {},
      "A job asks N workers at once and goes on when enough of them have answered. Each worker’s time is a draw from one law; here, until you change it, a log-normal with a median of 1 s, whose sigma says how long its tail is. Who waits for all answers waits for the slowest, and the slowest of many draws comes from the tail.",
    ),
    h(
      "p",
      {},
      `How often? A call is slower than its own p99, ${call} here, one time in a hundred. That at least one of N calls is, has a chance of 1 − 0.99`,
      h("sup", {}, "N"),
      ": ",
      chance(8),
      " of the jobs with 8 workers, ",
      chance(16),
      " with 16, ",
      chance(100),
      " with 100. What is rare for a server is common for a request that needs many of them. The last is the example by which Jeffrey Dean and Luiz André Barroso made this known (The Tail at Scale, Communications of the ACM 56(2), 2013); copies and results without stragglers are among their remedies.",
    ),
    h(
      "p",
      {},
      h("strong", {}, "First k of N"),
      " is for jobs that can do without some answers: the rest is dropped as soon as the k-th is in. ",
      h("strong", {}, "A hedge"),
      " sends a copy of each call that has outlived a quantile of its law, and takes whichever answers first; at p95 that is ",
      price("requests"),
      " requests, and ",
      price("busy"),
      " busy time while losers stop at once. ",
      h("strong", {}, "A deadline"),
      " ends the wait; what is then missing makes the job partial, or failed if it was required.",
    ),
    h(
      "p",
      {},
      h("strong", {}, "Exact"),
      " figures are solved from the law of the whole job, not sampled. ",
      h("strong", {}, "Simulated"),
      " ones come from runs of the very machine that executes plans in production, over virtual time, played in small pieces while the page is idle; in parentheses, the 95 % confidence interval of each figure; as a band, where 95 % of so many runs are expected. The two share nothing but the plan, which is what makes their agreement worth something.",
    ),
    h(
      "p",
      {},
      "A run is known by seed and number: whatever the strategy, run 3 meets the same sixteen calls. So switching the strategy replays the same bad luck under another plan. What it does not show: here calls are as slow under load as without. Queues, gates and rates are what ",
      h("code", {}, "fantail simulate"),
      " is for.",
    ),
  );
}
