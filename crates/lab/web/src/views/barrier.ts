// What waiting for all costs, in seven pictures that follow the law of one call.

import { Figure } from "../chart/figure.ts";
import { Problem } from "../model.ts";
import type { Words } from "../state.ts";
import { chart } from "./picture.ts";
import type { Scene, View } from "./view.ts";

interface Spec {
  readonly name: string;
  readonly title: string;
  readonly note: string;
  readonly view: string;
  /** What its one curve is called, if not by its plan. */
  readonly call?: string;
  /** What it is drawn of, given the law of one call. */
  readonly of: (latency: string) => Words;
}

const one = (latency: string): Words => ({ n: 1, latency, strategies: ["all"] });
const along =
  (sweep: string, ...strategies: string[]) =>
  (latency: string): Words => ({ n: null, latency, strategies, sweep });

const SPECS: readonly Spec[] = [
  {
    name: "density",
    title: "One call",
    note: "How likely each time is. A normal of the same mean and deviation, where there is one, is dashed; what it has below zero can’t be. Where mode, median and mean lie apart there is no one typical latency.",
    view: "pdf",
    call: "one call",
    of: one,
  },
  {
    name: "share",
    title: "What has come back, by when",
    note: "How much is back by each time. The share of a law with a long tail nears 100 % later than that of the normal. What a barrier waits for is the last bit.",
    view: "cdf",
    call: "one call",
    of: one,
  },
  {
    name: "slowest",
    title: "The slowest of n",
    note: "If one call is back with probability F, all of n independent ones are with Fⁿ: more of them are never back earlier, though no call became slower.",
    view: "cdf",
    of: along("n=1..1000:4", "all"),
  },
  {
    name: "growth",
    title: "How it grows with n",
    note: "The slowest of more is later: without end where the law has none, else up to its last answer. The bands hold 68 % and 95 % of the jobs. Asymptotes, where there are any, are scaling laws: close in shape, not in value.",
    view: "times",
    of: along("n=1..1000:25", "all"),
  },
  {
    name: "fractions",
    title: "Not waiting for all",
    note: "Without the last 5 % the wait settles at the call’s own p95, without the slower half at its median. But 95 % of n, rounded up, is all of n below n = 20: the first tooth.",
    view: "times",
    of: along("n=1..1000:60", "all", "share:95%", "share:50%"),
  },
  {
    name: "copies",
    title: "Asking twice",
    note: "Two calls at once cost twice the requests, and a call is late only if both are: for log-normal ones √(2 ln n) becomes √(ln n). A copy after p95 gets part of that for at most a twentieth more.",
    view: "times",
    of: along("n=1..1000:25", "all", "hedge:p95", "race:2"),
  },
  {
    name: "spread",
    title: "What sigma does to a hundred calls",
    note: "For many branches less spread is worth more than speed: 0.1 off sigma shortens the job by more than calls that are a tenth faster do.",
    view: "times",
    of: (latency) => ({ n: 100, latency, strategies: ["all"], sweep: "sigma=0.1..1.2:23" }),
  },
];

export const barrier: readonly View[] = SPECS.map((spec) => {
  const figure = new Figure({ name: spec.name, title: spec.title, note: spec.note, height: 260 });
  const draw = ({ model, state }: Scene): (() => boolean) => {
    return () => {
      const found = model.picture(spec.of(state.law), spec.view);
      const panel = found instanceof Problem ? undefined : found?.panels[0];
      if (panel && !(found instanceof Problem) && found)
        figure.show(chart(panel, spec.title, found.description, spec.call));
      else figure.none(found instanceof Problem ? found.brief : "There is nothing to draw.");
      return true;
    };
  };
  return { figure, draw };
});
