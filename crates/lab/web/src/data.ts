// The user's own latencies: pasted or dropped, made a law here, and sent nowhere.

import { announce, h } from "./dom.ts";
import type { FileFound, LawFound } from "./face.ts";
import { type Model, Problem } from "./model.ts";
import type { Store } from "./state.ts";
import { count, duration } from "./text.ts";

const UNITS = ["ns", "us", "ms", "s", "min", "h"];

/** So many bytes of a file are read at most. */
const MOST_BYTES = 64 << 20;

/** From so many bytes on it takes a while, so it is said before. */
const LONG = 1 << 20;

/** A law of more different latencies than these leaves some out. */
const MOST_KEPT = 1_000;

/** Why there is no link or command. */
export const NOT_CARRIED =
  "Links and commands can’t carry these latencies: they are too few or too alike for percentiles of them, or not here any more.";

/** The percentiles that a text states, as a law: `p50=0.8s,p95=1.5s`. What only begins so is left to the model to refuse. */
function percentiles(text: string): string | null {
  const one = /(?:p([\d.]+)|([\d.]+)[ \t]*%)[ \t]*[:=]?[ \t]*([\d.]+[ \t]*(?:[nuµμm]?s|m|min|h)?)(?![a-z\d])[\s,;]*/iy;
  const found: string[] = [];
  const trimmed = text.trim();
  let match: RegExpExecArray | null;
  while (one.lastIndex < trimmed.length && (match = one.exec(trimmed)))
    found.push(`p${match[1] ?? match[2]}=${match[3]?.replace(/\s/g, "")}`);
  if (one.lastIndex > 0 && one.lastIndex >= trimmed.length) return found.join(",");
  return /^(p?[\d.]+[ \t]*%?[ \t]*[:=]|p[\d.]+[ \t]+[\d.])/i.test(trimmed) ? trimmed : null;
}

export class Data {
  readonly #store: Store;
  readonly #model: Model;
  readonly #commit: () => void;
  readonly #paste = h("textarea", {
    id: "paste",
    rows: 4,
    spellcheck: "false",
    placeholder: "p50=0.8s, p95=1.5s, p99=2.4s\nor numbers: 0.41 0.39 1.2 …\nor a table with a header",
  });
  readonly #found = h("div", { id: "data-found" });
  /** Of measured laws by their names; `null` where there are too few latencies for any. */
  readonly #percentiles = new Map<string, string | null>();

  constructor(host: HTMLElement, store: Store, model: Model, commit: () => void) {
    this.#store = store;
    this.#model = model;
    this.#commit = commit;
    const file = h("input", { type: "file", id: "file", accept: ".csv,.tsv,.txt,.log,text/plain,text/csv" });
    const use = h("button", { type: "button", class: "primary", id: "use-paste" }, "Use these");
    use.addEventListener("click", () => this.#text(this.#paste.value));
    file.addEventListener("change", () => file.files?.[0] && void this.#file(file.files[0]));
    const drop = h(
      "div",
      { class: "drop", id: "drop" },
      h("label", { for: "paste" }, "Percentiles, numbers, or a table"),
      this.#paste,
      h("div", { class: "buttons" }, use, h("label", { class: "pick" }, "or a file: ", file)),
    );
    drop.addEventListener("dragover", (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      const dropped = event.dataTransfer?.files[0];
      if (dropped) void this.#file(dropped);
    });
    host.append(
      h(
        "p",
        { class: "prose" },
        "Three percentiles are enough; a law is fitted through them. Numbers and tables become the law that they are: every figure and picture of this page then uses it. Nothing leaves the page.",
      ),
      drop,
      this.#found,
    );
  }

  /** What stands for measured latencies where they can’t be sent along: percentiles of them, or `null` where there are none. */
  portable(law: string): string | null {
    return law.startsWith("samples:") ? (this.#percentiles.get(law) ?? null) : law;
  }

  #text(text: string): void {
    const law = percentiles(text);
    if (law === null) return this.#bytes(new TextEncoder().encode(text));
    const { problems } = this.#model.check({ n: 1, latency: law, strategies: ["all"] });
    if (problems.length) return this.#say(problems.map(({ message }) => message).join("\n"), true);
    this.#use(law);
    this.#say(`A law through ${law}.`);
  }

  async #file(file: File): Promise<void> {
    if (file.size > MOST_BYTES)
      return this.#say(
        `${file.name} has ${count(file.size, "byte", "bytes")}, expected at most ${count(MOST_BYTES, "byte", "bytes")}.`,
        true,
      );
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (bytes.length > LONG) {
      this.#say("Reading …");
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    }
    this.#bytes(bytes);
  }

  #bytes(bytes: Uint8Array): void {
    const found = this.#model.read(bytes);
    if (found instanceof Problem) return this.#say(found.text, true);
    this.#choose(found);
  }

  /** Asks which column, and in which unit. */
  #choose(found: FileFound): void {
    const column = h("select", { id: "column" });
    found.columns.forEach(({ name, numbers }, i) =>
      column.append(
        h("option", { value: i }, `${name || `column ${i + 1}`} (${count(numbers, "number", "numbers")})`),
      ),
    );
    column.value = String(found.likeliest);
    const unit = h("select", { id: "column-unit" }, ...UNITS.map((name) => h("option", { value: name }, name)));
    const guess = (): void => {
      unit.value = found.columns[Number(column.value)]?.unit ?? unit.value;
    };
    unit.value = "s";
    guess();
    const told = h("div");
    const keep = (): void => this.#keep(Number(column.value), unit.value, told);
    column.addEventListener("change", () => {
      guess();
      keep();
    });
    unit.addEventListener("change", keep);
    this.#found.replaceChildren(
      h("div", { class: "pair" }, h("label", {}, "Column ", column), h("label", {}, "Unit of bare numbers ", unit)),
      told,
    );
    keep();
  }

  #keep(column: number, unit: string, told: HTMLElement): void {
    const law = this.#model.keep(column, unit);
    if (law instanceof Problem) {
      announce(law.text, 200);
      return told.replaceChildren(h("p", { class: "error" }, law.text));
    }
    this.#percentiles.set(law.latency, law.percentiles);
    if (this.#store.now.law === law.latency) this.#store.again();
    this.#use(law.latency);
    told.replaceChildren(...this.#described(law));
    announce(told.textContent ?? "", 200);
  }

  #described(law: LawFound): HTMLElement[] {
    const parts = [
      h(
        "p",
        { id: "data-law" },
        `${count(law.count, "latency", "latencies")}, from ${duration(law.least_s)} to ${duration(law.most_s)}. Every view uses ${law.different > MOST_KEPT ? "so many of them that no share is off by more than 2 % of itself" : "them as they are"}.`,
      ),
    ];
    if (law.refused)
      parts.push(
        h(
          "p",
          { class: "note" },
          `${count(law.refused, "cell was", "cells were")} left out: ${law.refusals.join("; ")}${law.refused > law.refusals.length ? " …" : ""}`,
        ),
      );
    const { percentiles } = law;
    if (percentiles) {
      const fit = h("button", { type: "button", id: "use-fit" }, "Use a law through their percentiles");
      fit.addEventListener("click", () => this.#use(percentiles));
      parts.push(
        h("p", {}, fit, " ", h("code", {}, percentiles)),
        h("p", { class: "note" }, "Links and commands carry these percentiles, not the latencies."),
      );
    } else parts.push(h("p", { class: "note" }, NOT_CARRIED));
    return parts;
  }

  #use(law: string): void {
    this.#store.set({ law });
    this.#commit();
  }

  #say(text: string, wrong = false): void {
    announce(text, 200);
    this.#found.replaceChildren(h("p", { class: wrong ? "error" : "" }, text));
  }
}
