// What every view of the page has, and what it is told.

import type { Figure } from "../chart/figure.ts";
import type { Hue } from "../look.ts";
import type { Model } from "../model.ts";
import type { Kind, State, Words } from "../state.ts";
import type { Trials } from "../trials.ts";

/** A plan beside others, with how it looks. */
export interface Line {
  readonly name: string;
  readonly hue: Hue;
  readonly kind: Kind | null;
  readonly words: Words;
  readonly current: boolean;
}

/** All that a view may look at. */
export interface Scene {
  readonly state: State;
  readonly model: Model;
  /** What is compared, the one that is looked at among it. */
  readonly lines: readonly Line[];
  readonly current: Line;
  readonly trials: Trials;
}

/** A picture that follows the scene. */
export interface View {
  readonly figure: Figure;
  /** Begins to draw the scene; returns what is left to do in pieces, each of which is true when nothing is. */
  draw(scene: Scene): () => boolean;
}
