// What is compared: the strategies at hand, and what is pinned.

import { DEFAULTS, type Kind, type State, strategy, words } from "../state.ts";
import { fromHash } from "../url.ts";
import type { Line } from "./view.ts";

/** The strategies in their order; the one in words only while it is looked at. */
export function lines(state: State): Line[] {
  const kinds: Kind[] = ["all", "first", "hedge", "race"];
  if (state.kind === "own") kinds.push("own");
  // The deadline is everyone's, so no name needs it.
  const free = { ...state, deadline: "" };
  const found = kinds.map((kind): Line => ({
    name: strategy(free, kind),
    hue: kind,
    kind,
    words: words(state, kind),
    current: kind === state.kind,
  }));
  if (state.pin) found.push(pinned(state));
  return found;
}

/** What is pinned, called by what it differs in. */
function pinned(state: State): Line {
  const pin = fromHash(state.pin);
  const differs = [
    pin.n === state.n ? "" : `n ${pin.n}`,
    pin.law === state.law ? "" : pin.law === DEFAULTS.law ? "default law" : pin.law,
    pin.required === state.required ? "" : `required ${pin.required ?? "by its plan"}`,
    pin.atLeast === state.atLeast ? "" : `at least ${pin.atLeast ?? "by its plan"}`,
    pin.rhoJob === state.rhoJob && pin.rhoBranch === state.rhoBranch ? "" : `shared by a job ${pin.rhoJob}, by a branch ${pin.rhoBranch}`,
  ];
  const named = pin.deadline === state.deadline ? { ...pin, deadline: "" } : pin;
  const name = [`A: ${strategy(named)}`, ...differs.filter(Boolean)].join(", ");
  return { name, hue: "pinned", kind: null, words: words(pin), current: false };
}
