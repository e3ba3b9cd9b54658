// What the page asks of the model, and how it gets it. Every figure on the page comes through here.

import type { Words } from "./state.ts";

/** A prediction, as `fantail predict --format json` prints it. */
export interface Prediction {
  readonly schema: string;
  readonly strategies: readonly Predicted[];
}

export interface Predicted {
  readonly name: string;
  readonly plan: { readonly n: number; readonly k: number; readonly at_least: number; readonly required: number; readonly deadline_s: number | null; readonly branches: readonly { readonly copies_after_s: readonly number[] }[] };
  readonly quantiles_s: Readonly<Record<string, number | null>>;
  readonly mean_s: number | null;
  readonly sd_s: number | null;
  readonly complete: number | null;
  readonly partial: number | null;
  readonly failed: number | null;
  readonly never: number | null;
  readonly extra_requests: number | null;
  readonly extra_busy: number | null;
  readonly sends_copy: number | null;
  readonly slowest_percent: number;
  readonly fit_error?: number | null;
  readonly method: string | null;
  readonly assumes: readonly string[];
  readonly not_included: readonly string[];
  readonly why_null: Readonly<Record<string, string>>;
}

/** A plan of a simulation, as `fantail simulate --format json` prints it. */
export interface Simulated {
  readonly jobs: number;
  readonly quantiles_s: Readonly<Record<string, number | null>>;
  readonly intervals: { readonly quantiles_s: Readonly<Record<string, readonly [number | null, number | null] | null>> } & Readonly<Record<string, readonly [number | null, number | null] | null | object>>;
  readonly mean_s: number | null;
  readonly complete: number | null;
  readonly partial: number | null;
  readonly failed: number | null;
  readonly extra_requests: number | null;
}

/** One value of a sweep. */
export interface Swept {
  readonly at: number;
  readonly quantiles_s: Readonly<Record<string, number | null>>;
  readonly mean_s: number | null;
  readonly complete: number | null;
  readonly partial: number | null;
  readonly failed: number | null;
  readonly extra_requests: number | null;
  readonly central_68_s: readonly [number | null, number | null];
  readonly central_95_s: readonly [number | null, number | null];
  readonly asymptote_s?: number | null;
  readonly gumbel_s?: number | null;
}

/** One job, step by step. */
export interface Trace {
  readonly job: number;
  readonly elapsed_s: number;
  readonly verdict: "complete" | "partial" | "failed";
  readonly deadline_s: number | null;
  readonly hedge_s: number | null;
  readonly branches: readonly Lane[];
}

export type Outcome = "answered" | "failed" | "missed" | "not started" | "unneeded" | "cancelled";

export interface Lane {
  readonly required: boolean;
  readonly outcome: Outcome;
  readonly attempts: readonly Attempt[];
}

export interface Attempt {
  readonly role: "primary" | "copy" | "failover";
  readonly asked_s: number;
  readonly started_s: number | null;
  readonly ended_s: number;
  readonly end: "answered" | "failed" | "dropped" | "refused";
  /** When it would have answered if nobody had dropped it; `null` where that is not known. */
  readonly would_s: number | null;
}

/** A law of one call. */
export interface Law {
  readonly latency: string;
  readonly median_s: number;
  readonly mean_s: number | null;
  readonly sd_s: number | null;
  readonly mode_s: number | null;
  readonly p99_s: number;
  readonly fit_error: number | null;
}

/** Runs of one plan, which add up. */
export interface Runs {
  run(jobs: number): void;
  readout(): string;
  quantiles(survivals: Float64Array): Float64Array;
  free(): void;
}
