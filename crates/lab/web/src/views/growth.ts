// Return times against the number of branches.

import type { Column } from "../chart/draw.ts";
import { Figure } from "../chart/figure.ts";
import { type Axis, roundUp, wholeSteps } from "../chart/scale.ts";
import { Problem } from "../model.ts";
import { withBranches } from "../state.ts";
import { duration, tick, whole } from "../text.ts";
import type { Scene, View } from "./view.ts";

const BRANCHES = [...new Set([...wholeSteps(1, 1_000, 31), 8, 16, 100])].sort((a, b) => a - b);

export class Growth implements View {
  readonly figure = new Figure({
    name: "branches",
    title: "p50 and p99 against the number of branches",
    note: "No call gets slower. What changes is how many answers a job waits for, and of how many.",
  });

  draw(scene: Scene): () => boolean {
    const { model, state, current, lines } = scene;
    const beside = lines.filter((line) => line.current || line.hue === "all" || line.hue === "pinned");
    const found = beside.map((line) => ({ line, p50: BRANCHES.map(() => NaN), p99: BRANCHES.map(() => NaN) }));
    let why = "";
    let next = 0;
    return () => {
      const i = Math.floor(next / found.length);
      const { line, p50, p99 } = found[next++ % found.length]!;
      const predicted = model.predict(withBranches(line.words, BRANCHES[i] ?? 1));
      if (predicted instanceof Problem) why = predicted.brief;
      else {
        p50[i] = predicted.quantiles_s.p50 ?? NaN;
        p99[i] = predicted.quantiles_s.p99 ?? NaN;
      }
      if (next < found.length * BRANCHES.length) return false;
      if (why && found.every(({ p99 }) => p99.every(Number.isNaN))) {
        this.figure.none(why);
        return true;
      }
      const columns = found.flatMap(({ line, p50, p99 }): Column[] => {
        const weight = line.current ? "bold" : "thin";
        return [
          { name: `${line.name} p99`, hue: line.hue, kind: "line", values: p99, weight, dash: "", named: true },
          { name: `${line.name} p50`, hue: line.hue, kind: "line", values: p50, weight, dash: "3 3", named: true },
        ];
      });
      const most = Math.max(...found.flatMap(({ p99 }) => p99.filter(Number.isFinite)), 0);
      const across: Axis = { kind: "log", label: "branches", from: 1, to: 1_000, tick: whole };
      const up: Axis = { kind: "linear", label: "return time", from: 0, to: roundUp(most), tick, format: duration, unit: "s" };
      this.figure.show({
        title: "p50 and p99 of the return time against the number of branches",
        says: `${current.name}; the plan at hand has ${state.n} branches.`,
        grid: BRANCHES,
        gridAxis: across,
        valueAxis: up,
        columns,
        marks: [{ at: state.n, on: "grid", label: `n = ${whole(state.n)}` }],
      });
      return true;
    };
  }
}
