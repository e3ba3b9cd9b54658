// Runs of the plan that is looked at, played while the page is idle.

import type { Simulated } from "./face.ts";
import type { Runner } from "./glue.ts";
import { type Work, whenIdle } from "./idle.ts";
import { type Model, Problem, play, report } from "./model.ts";
import type { Words } from "./state.ts";

/** What a press of the button adds. */
export const BATCH = 1_000;

/** How long the runs of one piece of work should take, in milliseconds, and how many they are at most. */
const PIECE_MS = 5;
const MOST_AT_ONCE = 20_000;

/** Runs of the first piece, when nothing is known of their pace. */
const FIRST_PACE = 50;

export interface Progress {
  /** All runs so far. */
  readonly all: Simulated | null;
  /** Those of the last batch, where there were several. */
  readonly last: Simulated | null;
  /** How many are asked for, with those that are there. */
  readonly asked: number;
  readonly busy: boolean;
  /** Why there are none; empty where that is not so. */
  readonly why: string;
}

export class Trials {
  readonly #model: Model;
  readonly #told: (progress: Progress) => void;
  #words: Words | null = null;
  #runs: Runner | null = null;
  #all: Simulated | null = null;
  #last: Simulated | null = null;
  #done = 0;
  #asked = 0;
  #pace = FIRST_PACE;
  /** Runs in a millisecond. */
  #rate = 0;
  #why = "";
  #work: Work | null = null;

  /** `told` is called whenever there is news. */
  constructor(model: Model, told: (progress: Progress) => void) {
    this.#model = model;
    this.#told = told;
  }

  /** How many runs there are. */
  get runs(): number {
    return this.#done;
  }

  /** Why there can’t be any; empty where that is not so. */
  get why(): string {
    return this.#why;
  }

  /** Other words: all starts anew, with one batch. */
  begin(words: Words): void {
    this.#work?.cancel();
    this.#work = null;
    this.#runs?.free();
    this.#words = words;
    this.#done = 0;
    this.#asked = 0;
    this.#rate = 0;
    this.#pace = FIRST_PACE;
    this.#all = this.#last = null;
    const runs = this.#model.runner(words);
    this.#runs = runs instanceof Problem ? null : runs;
    this.#why = runs instanceof Problem ? runs.brief : "";
    if (this.#runs) this.more(BATCH);
    else this.#tell();
  }

  /** Plays so many runs more. */
  more(jobs: number): void {
    if (!this.#runs) return;
    this.#asked += jobs;
    if (this.#work === null) this.#start();
    this.#tell();
  }

  /** Leaves it at the runs that are there. */
  stop(): void {
    this.#work?.cancel();
    this.#work = null;
    this.#asked = this.#done;
    this.#read();
  }

  /** Times by which all but these shares of the runs have returned. */
  times(waiting: Float64Array): Float64Array | null {
    return this.#runs && this.#done > 0 ? this.#runs.times(0, waiting) : null;
  }

  #start(): void {
    let told = performance.now();
    let busy = 0;
    const piece = (): boolean => {
      const jobs = Math.min(this.#pace, this.#asked - this.#done);
      const before = performance.now();
      const done = this.#runs ? play(this.#runs, jobs) : this.#done;
      if (!this.#runs || done instanceof Problem) {
        this.#asked = this.#done;
        return true;
      }
      const took = Math.max(0.05, performance.now() - before);
      busy += took;
      // By the best rate so far: adding to many runs costs as much for a small piece as for a large one.
      this.#rate = Math.max(this.#rate, jobs / took);
      this.#pace = Math.max(1, Math.min(MOST_AT_ONCE, Math.round(this.#rate * PIECE_MS)));
      this.#done = done;
      if (performance.now() - told > 400 && this.#done < this.#asked) {
        told = performance.now();
        this.#read();
      }
      return this.#done >= this.#asked;
    };
    this.#work = whenIdle(piece, () => {
      performance.measure("runs", { start: 0, duration: busy });
      this.#batch();
    });
  }

  /** The last thousand by themselves, if there were others before. */
  #batch(): void {
    const runs = this.#words && this.#done > BATCH ? this.#model.runner(this.#words, this.#done - BATCH) : null;
    if (!runs || runs instanceof Problem) return this.#finish();
    let played = 0;
    const piece = (): boolean => {
      const done = play(runs, Math.min(this.#pace, BATCH - played));
      played = typeof done === "number" ? done : BATCH;
      return played >= BATCH;
    };
    this.#work = whenIdle(piece, () => {
      this.#last = report(runs)?.plans[0] ?? null;
      runs.free();
      this.#finish();
    });
  }

  #finish(): void {
    this.#work = null;
    if (this.#asked > this.#done) this.#start();
    this.#read();
  }

  #read(): void {
    this.#all = this.#runs && this.#done > 0 ? (report(this.#runs)?.plans[0] ?? null) : null;
    this.#tell();
  }

  #tell(): void {
    this.#told({ all: this.#all, last: this.#last, asked: this.#asked, busy: this.#work !== null, why: this.#why });
  }
}
