// The deadline as a dial: how jobs end, against how long they may take.

import type { Column } from "../chart/draw.ts";
import { Figure } from "../chart/figure.ts";
import { type Axis, evenSteps, roundUp } from "../chart/scale.ts";
import { Problem } from "../model.ts";
import type { Words } from "../state.ts";
import { duration, percent, portion, tick } from "../text.ts";
import type { Scene, View } from "./view.ts";

const VALUES = 61;

const NOTE =
  "A job that lacks only optional branches at its deadline is partial. State how many are required, or the fewest that a result may hold, and see what that saves.";

export class Verdicts implements View {
  readonly figure = new Figure({
    name: "verdicts",
    title: "How jobs end, against their deadline",
  });

  draw(scene: Scene): () => boolean {
    let piece: (() => boolean) | null = null;
    return () => {
      if (piece) return piece();
      piece = this.#begin(scene);
      return piece === null;
    };
  }

  #begin(scene: Scene): (() => boolean) | null {
    const { model, current } = scene;
    const free: Words = { ...current.words, strategies: [withoutDeadline(current.words.strategies[0] ?? "all")] };
    const unbounded = model.predict(free);
    if (unbounded instanceof Problem) {
      this.figure.none(unbounded.brief);
      return null;
    }
    const end = roundUp(1.15 * Math.max(unbounded.quantiles_s["p99"] ?? 0, model.check(free).law?.p99_s ?? 0));
    const grid = evenSteps(0, end, VALUES)
      .map((at) => Number(at.toPrecision(6)))
      .slice(1);
    const [complete, partial, failed] = [0, 1, 2].map(() => grid.map(() => NaN)) as [number[], number[], number[]];
    const stated = model.predict(current.words);
    const deadline = stated instanceof Problem ? null : stated.plan.deadline_s;
    let refused = "";
    let i = 0;
    return () => {
      const words = { ...free, strategies: [`${free.strategies[0]}+deadline:${grid[i]}s`] };
      const predicted = model.predict(words);
      if (predicted instanceof Problem)
        refused = `None below ${duration(grid[i])}: ${predicted.brief}.`;
      else {
        complete[i] = predicted.complete ?? NaN;
        partial[i] = predicted.partial ?? NaN;
        failed[i] = predicted.failed ?? NaN;
      }
      if (++i < grid.length) return false;
      const lower = complete.map((value, j) => value + (partial[j] ?? NaN));
      const ones = grid.map((_, j) => lower[j]! + (failed[j] ?? NaN));
      const columns: Column[] = [
        { name: "failed", hue: "failed", kind: "band", values: lower, high: ones, shown: failed, pattern: "cross" },
        {
          name: "partial",
          hue: "partial",
          kind: "band",
          values: complete,
          high: lower,
          shown: partial,
          pattern: "diagonal",
        },
        {
          name: "complete",
          hue: "complete",
          kind: "band",
          values: grid.map(() => 0),
          high: complete,
          shown: complete,
        },
      ];
      const across: Axis = { kind: "linear", label: "deadline", from: 0, to: end, tick, format: duration, unit: "s" };
      const up: Axis = { kind: "linear", label: "share of jobs", from: 0, to: 1, tick: portion, format: percent };
      const marks =
        deadline === null ? [] : [{ at: deadline, on: "grid" as const, label: `deadline ${duration(deadline)}` }];
      this.figure.show(
        {
          title: "Shares of complete, partial and failed jobs against the deadline",
          says: `Of ${free.strategies[0]}.`,
          grid,
          gridAxis: across,
          valueAxis: up,
          columns,
          marks,
        },
        refused || NOTE,
      );
      return true;
    };
  }
}

const withoutDeadline = (strategy: string): string =>
  strategy
    .split("+")
    .filter((clause) => !clause.startsWith("deadline:"))
    .join("+") || "all";
