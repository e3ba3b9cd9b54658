// The form: native controls that show the state and change it.

import { byId } from "./dom.ts";
import type { Check, Law } from "./face.ts";
import type { Model } from "./model.ts";
import {
  DEFAULTS,
  type Kind,
  LANES,
  MOST_WORKERS,
  type State,
  type Store,
  lognormal,
  strategy,
  words,
} from "./state.ts";
import { duration, percent } from "./text.ts";
import type { Refusal } from "./url.ts";

/** Where the slider of workers can stand: each up to the lanes, then further and further apart. */
const STOPS = [
  ...Array.from({ length: LANES }, (_, i) => i + 1),
  20,
  24,
  32,
  48,
  64,
  100,
  128,
  200,
  256,
  500,
  1_000,
];

/** What a control changes, or what was expected of its text: nothing to speak of where that is empty. */
type Change = (text: string, now: State) => Partial<State> | string;

export class Controls {
  readonly #store: Store;
  readonly #model: Model;
  readonly #commit: (by?: string) => void;
  /** What controls do not take, by the place where it is said. */
  readonly #refused = new Map<Element, string>();
  /** The control whose text is being changed. */
  #typed: Element | null = null;

  /** `commit` is called when a change is done, not while a slider is still being drawn. */
  constructor(store: Store, model: Model, commit: (by?: string) => void) {
    this.#store = store;
    this.#model = model;
    this.#commit = commit;
    byId<HTMLFormElement>("controls").addEventListener("submit", (event) => event.preventDefault());
    for (const radio of this.#kinds())
      radio.addEventListener("change", () => this.#set({ kind: radio.value as Kind }));
    this.#strategies();
    this.#branches();
    this.#latency();
    this.#held();
    byId("defaults").addEventListener("click", () => this.#set({ ...DEFAULTS, pin: store.now.pin }));
    store.follow((state) => {
      this.#refused.clear();
      this.show(state);
    });
    this.show(store.now);
  }

  /** Says beside its controls what an address states in vain. */
  refuse(refused: readonly Refusal[]): void {
    for (const [id, text, low, high] of refused) this.#refuse(byId<HTMLInputElement>(id), text, within(low, high));
    this.#judge(this.#store.now);
  }

  /** Writes the state into every control that nobody is typing in. */
  show(state: State): void {
    for (const radio of this.#kinds()) radio.checked = radio.value === state.kind;
    const law = lognormal(state.law);
    const texts: Readonly<Record<string, string | number>> = {
      k: Math.min(state.k, state.n),
      after: state.after,
      r: state.r,
      own: state.own,
      n: state.n,
      "n-slide": STOPS.findIndex((stop) => stop >= state.n),
      law: state.law,
      deadline: state.deadline,
      required: state.required === null ? "" : Math.min(state.required, state.n),
      "at-least": state.atLeast === null ? "" : Math.min(state.atLeast, state.n),
      "rho-job": state.rhoJob,
      "rho-branch": state.rhoBranch,
      seed: state.seed,
      ...(law && { sigma: law.sigma, "sigma-slide": law.sigma, median: law.median, unit: law.unit }),
    };
    // Under another law they keep what they had, and lead back from it.
    if (!law)
      for (const [id, value] of [
        ["sigma", 0.6],
        ["median", 1],
      ] as const)
        byId<HTMLInputElement>(id).value ||= String(value);
    for (const [id, text] of Object.entries(texts)) {
      const control = byId<HTMLInputElement>(id);
      if (control !== this.#typed) control.value = String(text);
    }
    byId("n-slide").setAttribute("aria-valuetext", `${state.n} workers`);
    byId("k-of").textContent = String(state.n);
    for (const id of ["k", "required", "at-least"]) byId<HTMLInputElement>(id).max = String(state.n);
    byId("sigma-slide")
      .closest("fieldset")
      ?.classList.toggle("other-law", law === null);
    this.#judge(state);
  }

  /** Changes sigma of a log-normal law. */
  sigma(by: number): void {
    const control = byId<HTMLInputElement>("sigma");
    const law = lognormal(this.#store.now.law);
    const next = Number(((law?.sigma ?? Number(control.value)) + by).toFixed(4));
    if (!(next > 0)) return;
    control.value = String(next);
    control.dispatchEvent(new Event("change"));
  }

  /** Says beside the controls what the model does not take. */
  #judge(state: State): void {
    const { problems, law, plans } = this.#model.check(words(state));
    const said = new Map<string, string[]>();
    for (const problem of problems) {
      const place = placeOf(state, problem);
      said.set(place, [...(said.get(place) ?? []), problem.message]);
    }
    for (const [id, name] of [
      ["law", "law"],
      ["strategy", "own"],
      ["deadline", "deadline"],
      ["rho", "rho-job"],
      ["n", "n"],
    ] as const) {
      const place = byId(`error-${id}`);
      const text = this.#refused.get(place) ?? (said.get(id) ?? []).join("\n");
      if (place.textContent !== text) place.textContent = text;
      if (text) byId(name).setAttribute("aria-invalid", "true");
      else byId(name).removeAttribute("aria-invalid");
    }
    byId("law-note").textContent = law ? described(law) : "";
    // What holds where nothing is stated.
    byId<HTMLInputElement>("required").placeholder = String(plans[0]?.required ?? "");
    byId<HTMLInputElement>("at-least").placeholder = String(plans[0]?.at_least ?? "");
  }

  #strategies(): void {
    this.#on("k", (text, { n }) => whole(text, 1, n, (k) => ({ k, kind: "first" })));
    this.#on("after", (text) => (text.trim() ? { after: text.trim(), kind: "hedge" } : ""));
    this.#on("r", (text) => whole(text, 2, 16, (r) => ({ r, kind: "race" })));
    this.#on("own", (text) => (text.trim() ? { own: text.trim(), kind: "own" } : ""));
  }

  #branches(): void {
    this.#on("n", (text) => whole(text, 1, MOST_WORKERS, (n) => ({ n })));
    const slide = byId<HTMLInputElement>("n-slide");
    slide.max = String(STOPS.length - 1);
    this.#on("n-slide", (text) => ({ n: STOPS[Number(text)] ?? DEFAULTS.n }));
    this.#on("seed", (text) => whole(text, 0, Number.MAX_SAFE_INTEGER, (seed) => ({ seed, job: 0 })));
  }

  #latency(): void {
    const composed = (): Partial<State> | string => {
      const [median, unit, sigma] = ["median", "unit", "sigma"].map((id) =>
        byId<HTMLInputElement>(id).value.trim(),
      );
      if (!median || !sigma) return "";
      return Number(median) > 0 && Number(sigma) > 0
        ? { law: `lognormal:median=${median}${unit},sigma=${sigma}` }
        : "more than 0";
    };
    this.#on("sigma-slide", (text) => {
      byId<HTMLInputElement>("sigma").value = text;
      return composed();
    });
    for (const id of ["sigma", "median", "unit"]) this.#on(id, composed);
    this.#on("law", (text) => (text.trim() ? { law: text.trim() } : ""));
  }

  #held(): void {
    this.#on("deadline", (text) => ({ deadline: text.trim() }));
    this.#on("required", (text, { n }) => optional(text, n, (required) => ({ required })));
    this.#on("at-least", (text, { n }) => optional(text, n, (atLeast) => ({ atLeast })));
    this.#on("rho-job", (text) => share(text, (rhoJob) => ({ rhoJob })));
    this.#on("rho-branch", (text) => share(text, (rhoBranch) => ({ rhoBranch })));
  }

  /** Changes the state as the control is used. Text is taken once it is finished, since half of a law is no law. */
  #on(id: string, change: Change): void {
    const control = byId<HTMLInputElement | HTMLSelectElement>(id);
    const take = (): boolean => {
      const patch = change(control.value, this.#store.now);
      this.#refused.clear();
      if (typeof patch === "string") {
        if (patch) this.#refuse(control, control.value, patch);
        this.#judge(this.#store.now);
        return false;
      }
      this.#store.set(patch);
      return true;
    };
    control.addEventListener("input", () => {
      if (["text", "number"].includes(control.type)) this.#typed = control;
      if (control.type !== "text") take();
    });
    control.addEventListener("change", () => {
      this.#typed = null;
      // What is not taken is not kept: the control goes back to what holds.
      if (!take()) control.value = "";
      this.show(this.#store.now);
      this.#commit(["range", "number"].includes(control.type) ? id : "");
    });
    control.addEventListener("blur", () => {
      if (this.#typed !== control) return;
      this.#typed = null;
      this.show(this.#store.now);
    });
  }

  #refuse(control: HTMLInputElement | HTMLSelectElement, text: string, expected: string): void {
    const place = control.closest("fieldset, details")?.querySelector(".error");
    const name = control.getAttribute("aria-label") ?? control.labels?.[0]?.textContent?.trim();
    if (place) this.#refused.set(place, `${name?.split(",")[0]}: got ${text}, expected ${expected}`);
  }

  #set(patch: Partial<State>): void {
    this.#store.set(patch);
    this.#refused.clear();
    this.#judge(this.#store.now);
    this.#commit();
  }

  #kinds(): HTMLInputElement[] {
    return [...document.querySelectorAll<HTMLInputElement>("input[name=kind]")];
  }
}

function whole(
  text: string,
  low: number,
  high: number,
  patch: (value: number) => Partial<State>,
): Partial<State> | string {
  const value = Number(text);
  if (text.trim() === "") return "";
  return Number.isInteger(value) && value >= low && value <= high ? patch(value) : within(low, high);
}

const within = (low: number, high: number): string =>
  `${high > 1 || low > 0 ? "a whole number from " : ""}${low} to ${high}`;

function optional(
  text: string,
  high: number,
  patch: (value: number | null) => Partial<State>,
): Partial<State> | string {
  return text.trim() === "" ? patch(null) : whole(text, 0, high, patch);
}

function share(text: string, patch: (value: number) => Partial<State>): Partial<State> | string {
  const value = Number(text);
  return value >= 0 && value <= 1 ? patch(value) : within(0, 1);
}

/** Below which controls a problem is told: those whose text it is about. */
function placeOf(state: State, { field, column, message }: Check["problems"][number]): string {
  if (field === "latency") return "law";
  if (field === "n" || field === "rho") return field;
  const own = strategy({ ...state, deadline: "" }).length;
  const beyond = column === null ? /required|at.least/.test(message) : column > own;
  return field === "required" || beyond ? "deadline" : "strategy";
}

/** What is less off than this is so by rounding alone. */
const EXACT = 1e-9;

function described(law: Law): string {
  const within = law.fit_error !== null && (law.fit_error < EXACT ? "exactly" : `within ${percent(law.fit_error)}`);
  const fit = within ? `; fitted ${within}` : "";
  return `One call: median ${duration(law.p50_s)}, mean ${duration(law.mean_s)}, p99 ${duration(law.p99_s)}${fit}.`;
}
