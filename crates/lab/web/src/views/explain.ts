// What would help most, and what is easily misread: computed for the plan at hand.

import { h } from "../dom.ts";
import type { Explained } from "../face.ts";
import { Problem } from "../model.ts";
import { duration, percent } from "../text.ts";
import type { Scene } from "./view.ts";

export class Explain {
  readonly #host = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "What would help most" });
  readonly #traps = h("ul", { class: "traps" });
  readonly element = h(
    "figure",
    { id: "figure-explain" },
    h("figcaption", {}, h("h3", {}, "What would help most")),
    this.#host,
    this.#traps,
  );

  draw({ model, current }: Scene): () => boolean {
    return () => {
      const predicted = model.predict({ ...current.words, explain: true });
      const explained = predicted instanceof Problem ? undefined : predicted.explained;
      if (!explained) {
        this.#host.replaceChildren(
          h("p", { class: "note" }, predicted instanceof Problem ? predicted.text : "Nothing was found."),
        );
        this.#traps.replaceChildren();
        return true;
      }
      const row = (change: string, p99: number | null, complete: number, price: string): HTMLElement =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, change),
          ...[duration(p99), percent(complete), price].map((text) => h("td", {}, text)),
        );
      const rows = [
        row("as it is", explained.p99_s, explained.complete, ""),
        ...explained.levers.map((lever) => row(lever.change, lever.p99_s, lever.complete, lever.price)),
      ];
      const head = ["One change", "p99", "complete", "at the price of"].map((text) =>
        h("th", { scope: "col" }, text),
      );
      this.#host.replaceChildren(
        h("table", { class: "levers" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows)),
        ...rest(explained).map((text) => h("p", { class: "note" }, text)),
      );
      this.#traps.replaceChildren(...explained.traps.map(({ text }) => h("li", {}, text)));
      return true;
    };
  }
}

/** What the table leaves out. */
function rest({ levers, levers_beyond_reach, reach_s }: Explained): string[] {
  if (levers_beyond_reach > 0) {
    const left = `leaves a p99 beyond ${duration(reach_s)}`;
    return [levers.length > 0 ? `What else was tried ${left}, out of reach.` : `Nothing in reach helps: what was tried ${left}.`];
  }
  return levers.length > 0 ? [] : ["Nothing that was tried helps."];
}
