// When jobs return: exact curves, runs beside them, and where runs are expected.

import { Figure } from "../chart/figure.ts";
import type { Column } from "../chart/draw.ts";
import { type Axis, roundUp } from "../chart/scale.ts";
import { h } from "../dom.ts";
import { Problem } from "../model.ts";
import { count, duration, returned, tick } from "../text.ts";
import { SURVIVALS } from "./levels.ts";
import type { Line, Scene, View } from "./view.ts";

/** Runs say little about a level that fewer of them than this lie beyond. */
const LEAST_BEYOND = 1;

/** Levels whose band is found in one piece of work. */
const AT_A_TIME = 8;

export class Tail implements View {
  readonly figure = new Figure({ name: "returned", title: "Share of jobs that have returned", height: 340 });
  readonly #nines: HTMLInputElement;
  #scene: Scene | null = null;

  constructor() {
    this.#nines = h("input", { type: "checkbox", id: "nines" });
    this.#nines.checked = true;
    this.#nines.addEventListener("change", () => {
      const piece = this.#scene && this.draw(this.#scene);
      while (piece && !piece());
    });
    this.figure.element
      .querySelector("figcaption")
      ?.append(h("label", { class: "pick" }, this.#nines, " axis of nines"));
  }

  draw(scene: Scene): () => boolean {
    this.#scene = scene;
    const { model, trials, lines, current } = scene;
    const columns: Column[] = [];
    let furthest = 0;
    let why = "";
    const curve = (line: Line): void => {
      const times = model.times(line.words, SURVIVALS);
      if (times instanceof Problem) {
        if (line.current) why = times.brief;
        return;
      }
      const values = [...times];
      furthest = Math.max(
        furthest,
        ...values.filter((value, i) => Number.isFinite(value) && (SURVIVALS[i] ?? 0) >= 1e-3),
      );
      columns.push({
        name: line.name,
        hue: line.hue,
        kind: "line",
        values,
        weight: line.current ? "bold" : "thin",
      });
    };
    const left = [...lines];
    const band: number[] = [];
    let runs = 0;
    let found: Float64Array | null = null;
    return () => {
      const line = left.shift();
      if (line) {
        curve(line);
        return false;
      }
      if (columns.length === 0) {
        this.figure.none(why);
        return true;
      }
      if (band.length === 0) {
        // The runs that there are now; more may come while their band is found.
        runs = trials.runs;
        found = trials.times(SURVIVALS);
      }
      if (found && band.length < 2 * SURVIVALS.length) {
        const at = band.length / 2;
        const some = model.band(current.words, runs, SURVIVALS.subarray(at, at + AT_A_TIME));
        band.push(...(some instanceof Problem ? new Array<number>(2 * AT_A_TIME).fill(NaN) : some));
        return false;
      }
      this.#show(scene, columns, furthest, runs, found, band);
      return true;
    };
  }

  #show(
    { lines, current }: Scene,
    columns: Column[],
    furthest: number,
    runs: number,
    found: Float64Array | null,
    band: readonly number[],
  ): void {
    if (found && runs > 0) {
      const told = (i: number): boolean => (SURVIVALS[i] ?? 0) * runs >= LEAST_BEYOND;
      const ends = (end: 0 | 1): number[] => [...SURVIVALS].map((_, i) => (told(i) ? (band[2 * i + end] ?? NaN) : NaN));
      if (!band.every(Number.isNaN)) {
        columns.push({
          name: `where 95 % of ${count(runs, "run", "runs")} are expected`,
          hue: current.hue,
          kind: "band",
          values: ends(0),
          high: ends(1),
        });
      }
      columns.push({
        name: count(runs, "run", "runs"),
        hue: current.hue,
        kind: "dots",
        values: [...found].map((time, i) => (told(i) ? time : NaN)),
      });
    }
    const nines = this.#nines.checked;
    const share: Axis = {
      kind: nines ? "nines" : "share",
      label: "returned",
      from: 1,
      to: nines ? 1e-4 : 0,
      tick: returned,
    };
    const shown = nines ? furthest * 1.15 : furthest * 0.75;
    const time: Axis = { kind: "linear", label: "time", from: 0, to: roundUp(shown), tick, format: duration, unit: "s" };
    this.figure.show(
      {
        title: "Share of jobs that have returned, by time",
        says: `Curves of ${lines.map((line) => line.name).join(", ")}; runs of ${current.name} as dots.`,
        grid: [...SURVIVALS],
        gridAxis: share,
        valueAxis: time,
        turned: true,
        columns,
      },
      nines
        ? "Each line up is one nine more: a tenth of the jobs before are still to come. Curves are exact, dots are runs."
        : "Curves are exact, dots are runs.",
    );
  }
}
