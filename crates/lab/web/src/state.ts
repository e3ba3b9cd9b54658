// What the page shows, in the words of the command line, and who wants to know when it changes.

export type Kind = "all" | "first" | "hedge" | "race" | "own";

export interface State {
  /** Branches of a job, 1 to 1,000. */
  readonly n: number;
  /** Law of one call, as after `--latency`. */
  readonly law: string;
  /** Which of the five strategies is looked at. */
  readonly kind: Kind;
  /** What each strategy has for itself; it stays while another is looked at. */
  readonly k: number;
  readonly after: string;
  readonly r: number;
  readonly own: string;
  /** A time, or nothing. */
  readonly deadline: string;
  /** As after `--required` and `--at-least`; `null` is what the plan states. */
  readonly required: number | null;
  readonly atLeast: number | null;
  /** Shares of the luck of a call, as in `--rho`. */
  readonly rhoJob: number;
  readonly rhoBranch: number;
  readonly seed: number;
  /** Number of the job whose lanes are shown. */
  readonly job: number;
  /** What is pinned as A: an address of its own, or nothing. */
  readonly pin: string;
}

export const DEFAULTS: State = {
  n: 8,
  law: "lognormal:median=1s,sigma=0.6",
  kind: "all",
  k: 5,
  after: "p95",
  r: 2,
  own: "first:5+hedge:p95",
  deadline: "",
  required: null,
  atLeast: null,
  rhoJob: 0,
  rhoBranch: 0,
  seed: 1,
  job: 0,
  pin: "",
};

export const MOST_WORKERS = 1_000;
export const LANES = 16;

/** The words of a strategy under the state's own deadline. */
export function strategy(state: State, kind: Kind = state.kind): string {
  const words = {
    all: "all",
    first: `first:${Math.min(state.k, state.n)}`,
    hedge: `hedge:${state.after}`,
    race: `race:${state.r}`,
    own: state.own,
  }[kind];
  return state.deadline && !words.includes("deadline:") ? `${words}+deadline:${state.deadline}` : words;
}

/** What the model is asked about, in the words of the command's flags. */
export interface Words {
  readonly n: number | null;
  readonly latency: string;
  readonly strategies: readonly string[];
  readonly required?: string;
  readonly at_least?: number;
  readonly rho?: string;
  readonly sweep?: string;
  readonly explain?: boolean;
  readonly seed?: number;
}

/** The words for one strategy of the state. */
export function words(state: State, kind: Kind = state.kind): Words {
  const shares = rho(state);
  return {
    n: state.n,
    latency: state.law,
    strategies: [strategy(state, kind)],
    ...(state.required !== null && { required: String(Math.min(state.required, state.n)) }),
    ...(state.atLeast !== null && { at_least: Math.min(state.atLeast, state.n) }),
    ...(shares !== null && { rho: shares }),
  };
}

/** The same for another number of branches. */
export function withBranches(words: Words, n: number): Words {
  const { required, at_least } = words;
  return {
    ...words,
    n,
    ...(required !== undefined && { required: String(Math.min(Number(required), n)) }),
    ...(at_least !== undefined && { at_least: Math.min(at_least, n) }),
  };
}

/** Shares as `--rho` takes them, or `null` where nothing is shared. */
export function rho(state: State): string | null {
  const shares = [
    state.rhoJob > 0 ? `job=${state.rhoJob}` : "",
    state.rhoBranch > 0 ? `branch=${state.rhoBranch}` : "",
  ];
  return shares.filter(Boolean).join(",") || null;
}

/** Median and sigma of a log-normal law as the sliders state it, or `null` for any other. */
export function lognormal(law: string): { median: number; unit: string; sigma: number } | null {
  const found = /^lognormal:median=([\d.e+-]+)(ns|us|µs|ms|s|min),sigma=([\d.]+)$/.exec(law.replaceAll(" ", ""));
  if (!found) return null;
  const [, median, unit, sigma] = found;
  return { median: Number(median), unit: unit === "µs" ? "us" : String(unit), sigma: Number(sigma) };
}

type Listener = (state: State, before: State) => void;

/** The one state, and those who follow it. */
export class Store {
  #state: State;
  readonly #listeners: Listener[] = [];

  constructor(state: State) {
    this.#state = state;
  }

  get now(): State {
    return this.#state;
  }

  /** Changes what `patch` names, and tells everyone if that is a change. */
  set(patch: Partial<State>): void {
    const before = this.#state;
    const after = { ...before, ...patch };
    if (Object.keys(after).every((key) => after[key as keyof State] === before[key as keyof State])) return;
    this.#state = after;
    this.#tell(before);
  }

  /** The same state may mean more than before: a law that it names is there now. */
  again(): void {
    this.#tell(this.#state);
  }

  /** Calls `listener` after every change. */
  follow(listener: Listener): void {
    this.#listeners.push(listener);
  }

  #tell(before: State): void {
    for (const listener of this.#listeners) listener(this.#state, before);
  }
}
