// The state as an address and as command lines, and back.

import { DEFAULTS, MOST_WORKERS, type Kind, type State, type Store } from "./state.ts";

/** Characters that an address may hold as they are, so that it reads like the command line. */
const PLAIN = /%(3A|2C|3D|2B|2F)/g;
const quote = (text: string): string => encodeURIComponent(text).replace(PLAIN, decodeURIComponent);

const NUMBERS = [
  ["n", "n", 1, MOST_WORKERS],
  ["k", "k", 1, MOST_WORKERS],
  ["r", "r", 2, 16],
  ["required", "required", 0, MOST_WORKERS],
  ["at-least", "atLeast", 0, MOST_WORKERS],
  ["rho-job", "rhoJob", 0, 1],
  ["rho-branch", "rhoBranch", 0, 1],
  ["seed", "seed", 0, Number.MAX_SAFE_INTEGER],
  ["job", "job", 0, 1e9],
] as const;

const TEXTS = [
  ["latency", "law"],
  ["after", "after"],
  ["deadline", "deadline"],
  ["own", "own"],
  ["pin", "pin"],
] as const;

/** The part of the address after `#`: what differs from the defaults. */
export function toHash(state: State): string {
  const parts = [`strategy=${state.kind}`];
  for (const [key, field] of TEXTS)
    if (state[field] !== DEFAULTS[field]) parts.push(`${key}=${quote(state[field])}`);
  for (const [key, field] of NUMBERS)
    if (state[field] !== DEFAULTS[field]) parts.push(`${key}=${state[field] ?? ""}`);
  return parts.length === 1 && state.kind === DEFAULTS.kind ? "" : parts.join("&");
}

/** A number in an address that is not taken: where, what it is, and its bounds. */
export type Refusal = readonly [id: string, text: string, low: number, high: number];

/** The state that an address means. What it does not state, or states beyond its bounds, is the default; the latter goes to `refused`. */
export function fromHash(hash: string, refused: Refusal[] = []): State {
  const stated = new Map<string, string>();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at > 0) stated.set(part.slice(0, at), unquote(part.slice(at + 1)));
  }
  const state: { -readonly [F in keyof State]: State[F] } = { ...DEFAULTS };
  for (const [key, field] of TEXTS) state[field] = stated.get(key)?.slice(0, 2_000) ?? DEFAULTS[field];
  for (const [key, field, low, high] of NUMBERS) {
    const text = stated.get(key);
    const value = Number(text);
    const fits = text !== undefined && text !== "" && value >= low && value <= high;
    if (fits) state[field] = key.startsWith("rho") ? value : Math.trunc(value);
    else if (text && key !== "job") refused.push([key, text, low, high]);
  }
  return { ...state, ...fromStrategy(stated.get("strategy") ?? "all") };
}

function unquote(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a strategy in words, or by the name of its kind, sets. */
function fromStrategy(text: string): Partial<State> {
  if (["all", "first", "hedge", "race", "own"].includes(text)) return { kind: text as Kind };
  const clauses = text.split("+");
  const deadline = clauses.find((clause) => clause.startsWith("deadline:"))?.slice("deadline:".length);
  const rest = clauses.filter((clause) => !clause.startsWith("deadline:"));
  const [word = "", argument = ""] = (rest[0] ?? "").split(":");
  const limit = deadline ? { deadline } : {};
  const whole = Number(argument);
  if (rest.length === 1 || (rest.length === 0 && deadline)) {
    if (word === "all" || word === "") return { kind: "all", ...limit };
    if (word === "first" && whole >= 1) return { kind: "first", k: whole, ...limit };
    if (word === "hedge" && argument) return { kind: "hedge", after: argument, ...limit };
    if (word === "race" && whole >= 2) return { kind: "race", r: whole, ...limit };
  }
  return { kind: "own", own: text };
}

/** Steps of a control that follow each other this soon are one change. */
const STEPS_MS = 1_000;

/** Keeps address and state together; `Back` goes to what was looked at before. */
export class Address {
  readonly #store: Store;
  /** What the present entry is of, and since when. */
  #by = "";
  #at = 0;

  /** `refuse` is told what an address says in vain. */
  constructor(store: Store, refuse: (refused: readonly Refusal[]) => void) {
    this.#store = store;
    addEventListener("popstate", () => {
      this.#by = "";
      if (!isState(location.hash)) return;
      const refused: Refusal[] = [];
      store.set(fromHash(location.hash, refused));
      refuse(refused);
    });
  }

  /** Puts the state into the address: as a new entry, or in place of the present one, as the next step of the same control. */
  keep(how: "push" | "replace" = "push", by = ""): void {
    const follows = by !== "" && by === this.#by && performance.now() - this.#at < STEPS_MS;
    this.#by = by;
    this.#at = performance.now();
    const hash = toHash(this.#store.now);
    const url = hash ? `#${hash}` : location.pathname + location.search;
    if (`#${hash}` === location.hash || (hash === "" && !isState(location.hash))) return;
    if (how === "push" && !follows) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  }
}

/** Whether a hash states something; the others name a section of the page. */
export const isState = (hash: string): boolean => hash === "" || hash === "#" || hash.includes("=");
