// What the model offers to the page: the shapes of its answers. Times are in seconds.

/** A prediction, as `fantail predict --format json` prints it. */
export interface Prediction {
  readonly strategies: readonly Predicted[];
}

export interface Predicted {
  readonly name: string;
  readonly at?: { readonly n?: number; readonly sigma?: number; readonly deadline_s?: number };
  readonly plan: {
    readonly n: number;
    readonly k: number;
    readonly at_least: number;
    readonly required: number;
    readonly deadline_s: number | null;
    readonly branches: readonly { readonly copies_after_s: readonly number[] }[];
  };
  readonly quantiles_s: Readonly<Record<string, number | null>>;
  readonly mean_s: number | null;
  readonly complete: number | null;
  readonly partial: number | null;
  readonly failed: number | null;
  readonly extra_requests: number | null;
  readonly extra_busy: number | null;
  readonly sends_copy: number | null;
  readonly slowest_percent: number;
  /** Why a copy falls due earlier than it was asked to. */
  readonly earlier_copy?: {
    readonly percentile: string;
    readonly wanted_s: number | null;
    readonly due_s: number;
    readonly min_useful_s: number;
  } | null;
  readonly method: string | null;
  readonly assumes: readonly string[];
  readonly not_included: readonly string[];
  readonly why_null: Readonly<Record<string, string>>;
  readonly explained?: Explained;
}

export interface Explained {
  readonly p99_s: number | null;
  readonly complete: number;
  readonly levers: readonly {
    readonly change: string;
    readonly p99_s: number | null;
    readonly complete: number;
    readonly price: string;
  }[];
  readonly levers_beyond_reach: number;
  readonly reach_s: number;
  readonly traps: readonly { readonly trap: string; readonly text: string }[];
}

/** Two ends, where there are any. */
export type Ends = readonly [number | null, number | null] | null;

/** Runs, as `fantail simulate --format json` prints them. */
export interface Played {
  readonly plans: readonly Simulated[];
}

export interface Simulated {
  readonly name: string;
  readonly jobs: number;
  readonly quantiles_s: Readonly<Record<string, number | null>>;
  readonly mean_s: number | null;
  readonly complete: number | null;
  readonly partial: number | null;
  readonly failed: number | null;
  readonly extra_requests: number | null;
  readonly rejected_429_jobs: number | null;
  /** Where the figures lie with 95 % confidence. */
  readonly intervals: {
    readonly quantiles_s: Readonly<Record<string, Ends>>;
    readonly mean_s: Ends;
    readonly complete: Ends;
    readonly extra_requests: Ends;
  };
}

/** One job, step by step. */
export interface Lanes {
  readonly job: number;
  readonly name: string;
  readonly verdict: "complete" | "partial" | "failed" | null;
  readonly elapsed_s: number | null;
  readonly deadline_s: number | null;
  readonly branches: readonly Lane[];
}

/** A job with the luck of its calls. */
export interface Job {
  readonly lanes: Lanes;
  /** How long the first attempt of each branch would take. */
  readonly luck: Float64Array;
}

export interface Lane {
  readonly name: string;
  readonly required: boolean;
  readonly outcome: "answered" | "failed" | "missed" | "not started" | "unneeded" | "cancelled" | null;
  readonly reason: string | null;
  /** When copies fall due. */
  readonly due_s: readonly number[];
  readonly attempts: readonly Attempt[];
}

export interface Attempt {
  /** 0 is the primary. */
  readonly number: number;
  readonly role: "primary" | "copy" | "failover";
  readonly spans: readonly {
    readonly doing: "waits" | "queues" | "runs";
    readonly from_s: number;
    readonly to_s: number | null;
  }[];
  readonly end: "won" | "answered" | "failed" | "timed out" | "turned away" | "refused" | "dropped" | null;
  readonly end_s: number | null;
}

/** What there is to say of words before anything is computed. */
export interface Check {
  readonly problems: readonly {
    readonly field: string;
    readonly column: number | null;
    readonly message: string;
  }[];
  readonly law: Law | null;
  readonly plans: readonly (PlanRead | null)[];
}

export interface Law {
  readonly text: string;
  readonly p50_s: number | null;
  readonly p95_s: number | null;
  readonly p99_s: number | null;
  readonly mean_s: number | null;
  readonly fit_error: number | null;
  readonly log_normal: readonly [median: number, sigma: number] | null;
}

export interface PlanRead {
  readonly k: number;
  readonly at_least: number;
  readonly required: number;
  readonly deadline_s: number | null;
  readonly copies_after_s: readonly number[];
}

/** A picture that the command would draw, as numbers. */
export interface Picture {
  readonly title: string;
  readonly subtitle: string;
  readonly description: string;
  readonly panels: readonly Panel[];
}

export interface Panel {
  readonly title: string;
  readonly x: PictureAxis;
  readonly y: PictureAxis;
  readonly bands: readonly {
    readonly name: string;
    readonly strength: number;
    readonly points: readonly (readonly [number, number | null, number | null])[];
  }[];
  readonly curves: readonly {
    readonly name: string;
    readonly tone: number;
    readonly reference: boolean;
    readonly points: readonly (readonly [number, number | null])[];
  }[];
  readonly marks: readonly { readonly name: string; readonly at: number }[];
}

export interface PictureAxis {
  readonly label: string;
  readonly scale: "linear" | "log" | "nines";
  readonly unit: "time" | "share" | "number" | "count";
  readonly from: number;
  readonly to: number;
}

/** What a file of latencies holds. */
export interface FileFound {
  readonly format: "list" | "table";
  readonly columns: readonly { readonly name: string; readonly numbers: number; readonly unit: string | null }[];
  readonly likeliest: number;
}

export interface LawFound {
  /** Names the latencies themselves, on this page only. */
  readonly latency: string;
  /** Percentiles of them, which the command takes too. */
  readonly percentiles: string | null;
  readonly count: number;
  readonly different: number;
  readonly refused: number;
  readonly refusals: readonly string[];
  readonly least_s: number;
  readonly most_s: number;
}
