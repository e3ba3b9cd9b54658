// The model as the page asks it: words in, figures out, each asked once.

import type { Check, FileFound, Job, Lanes, LawFound, Picture, Played, Predicted, Prediction } from "./face.ts";
import { type Exact, Lab, type Runner } from "./glue.ts";
import type { Words } from "./state.ts";

/** A plan file, which says all that words would. */
export interface Story {
  readonly file: { readonly name: string; readonly text: string };
  readonly seed?: number;
}

/** What the model says of words that it cannot take. */
export class Problem {
  readonly text: string;

  constructor(cause: unknown) {
    this.text = (cause instanceof Error ? cause.message : String(cause)).replace(/^error: /, "");
  }

  /** What is wrong first, without where. */
  get brief(): string {
    return this.text.split("\n")[0]?.replace(/^\w+:\d+:\d+: /, "") ?? "";
  }
}

/** Answers that are kept, so that `Back` and neighbouring views cost nothing. */
const MOST_KEPT = 2_000;

/** Laws that are kept to be read off. */
const MOST_LAWS = 24;

export class Model {
  readonly #lab = new Lab();
  readonly #kept = new Map<string, unknown>();
  readonly #laws = new Map<string, Exact>();

  /** What is wrong with words, and what they mean. */
  check(words: Words): Check {
    const answer = this.#once("check", words, (text) => JSON.parse(this.#lab.check(text)) as Check);
    if (!(answer instanceof Problem)) return answer;
    return { problems: [{ field: "latency", column: null, message: answer.text }], law: null, plans: [] };
  }

  /** The figures of the first strategy. */
  predict(words: Words): Predicted | Problem {
    const all = this.predictions(words);
    return all instanceof Problem ? all : (all[0] ?? new Problem("nothing was predicted"));
  }

  /** The figures of all strategies and of all values of a sweep. */
  predictions(words: Words | Story): readonly Predicted[] | Problem {
    return this.#once("predict", words, (text) => (JSON.parse(this.#lab.predict(text)) as Prediction).strategies);
  }

  /** Times by which all but these shares of the jobs have returned. */
  times(words: Words, waiting: Float64Array): Float64Array | Problem {
    return this.#once(`times ${waiting.join()}`, words, () =>
      this.#read(words, (exact) => exact.times(0, waiting)),
    );
  }

  /** Where 95 % of the times of so many runs lie: two ends for each share. */
  band(words: Words, runs: number, waiting: Float64Array): Float64Array | Problem {
    return this.#read(words, (exact) => exact.band(0, runs, waiting));
  }

  /** What the command would draw; `null` when there are no figures. */
  picture(words: Words, view: string): Picture | null | Problem {
    return this.#once(`plot ${view}`, words, (text) => JSON.parse(this.#lab.plot(text, view)) as Picture | null);
  }

  /** Runs of a plan from a job on; the caller frees them. */
  runner(words: Words | Story, first = 0): Runner | Problem {
    try {
      return this.#lab.runner(JSON.stringify(words), first);
    } catch (cause) {
      return new Problem(cause);
    }
  }

  /** Reads a file and says what it holds. */
  read(bytes: Uint8Array): FileFound | Problem {
    try {
      return JSON.parse(this.#lab.read(bytes)) as FileFound;
    } catch (cause) {
      return new Problem(cause);
    }
  }

  /** Makes a law of a column of what was read last, which what was answered before may have missed. */
  keep(column: number, unit: string): LawFound | Problem {
    this.#kept.clear();
    for (const exact of this.#laws.values()) exact.free();
    this.#laws.clear();
    try {
      return JSON.parse(this.#lab.keep(column, unit)) as LawFound;
    } catch (cause) {
      return new Problem(cause);
    }
  }

  #read<T>(words: Words, read: (exact: Exact) => T): T | Problem {
    const text = JSON.stringify(words);
    let exact = this.#laws.get(text);
    if (!exact) {
      try {
        exact = this.#lab.exact(text);
      } catch (cause) {
        return new Problem(cause);
      }
      for (const [oldest, law] of this.#laws) {
        if (this.#laws.size < MOST_LAWS) break;
        law.free();
        this.#laws.delete(oldest);
      }
      this.#laws.set(text, exact);
    }
    return read(exact);
  }

  #once<T>(what: string, words: Words | Story, ask: (text: string) => T): T | Problem {
    const text = JSON.stringify(words);
    const key = `${what} ${text}`;
    if (this.#kept.has(key)) return this.#kept.get(key) as T | Problem;
    let answer: T | Problem;
    try {
      answer = ask(text);
    } catch (cause) {
      answer = new Problem(cause);
    }
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    this.#kept.set(key, answer);
    return answer;
  }
}

/** What runs say. */
export const report = (runner: Runner): Played | null => JSON.parse(runner.report() ?? "null") as Played | null;

/**
 * Plays runs, or a piece of a block of them where they matter to each other; how many there are then, or what is wrong when they
 * take longer than time counts.
 */
export function play(runner: Runner, jobs: number): number | Problem {
  try {
    return runner.run(jobs);
  } catch (cause) {
    return new Problem(cause);
  }
}

/** One job of a runner, and how long its first attempts would take; `null` when it takes longer than time counts. */
export function jobOf(runner: Runner, job: number, plan = 0): Job | null {
  try {
    const lanes = JSON.parse(runner.lanes(plan, job)) as Lanes | null;
    return lanes && { lanes, luck: runner.luck(plan, job) };
  } catch {
    return null;
  }
}
