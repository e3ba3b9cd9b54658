// The views of the page: each is drawn when it is about to be seen, in pieces, and again when the scene changes.

import { WhenSeen, type Work, whenIdle } from "./idle.ts";
import type { Scene } from "./views/view.ts";

/** Draws a scene, or begins to; what it returns is left to do, piece by piece. */
export type Draw = (scene: Scene) => (() => boolean) | null | void;

interface Entry {
  readonly element: Element;
  readonly draw: Draw;
}

export class Board {
  readonly #seen = new WhenSeen();
  readonly #entries: Entry[] = [];
  #queue: { entry: Entry; piece: () => boolean }[] = [];
  #work: Work | null = null;
  #scene: Scene | null = null;

  constructor() {
    // Paper waits for nothing.
    addEventListener("beforeprint", () => {
      this.#seen.all();
      while (this.#queue.length > 0) this.#next();
    });
  }

  add(element: Element, draw: Draw): void {
    this.#entries.push({ element, draw });
  }

  /** Draws another scene; what was left to do of the one before is dropped. */
  show(scene: Scene): void {
    this.#scene = scene;
    this.#queue = [];
    for (const entry of this.#entries) this.#seen.ask(entry.element, () => this.#begin(entry));
  }

  /** Draws what an element shows of the scene again: more of it has come. */
  again(element: Element): void {
    const entry = this.#entries.find((entry) => entry.element === element);
    if (entry) this.#seen.ask(element, () => this.#begin(entry));
  }

  #begin(entry: Entry): void {
    if (!this.#scene) return;
    this.#queue = this.#queue.filter((other) => other.entry !== entry);
    const piece = entry.draw(this.#scene);
    if (!piece) return;
    this.#queue.push({ entry, piece });
    this.#work ??= whenIdle(
      () => this.#next(),
      () => (this.#work = null),
    );
  }

  #next(): boolean {
    const first = this.#queue[0];
    if (first?.piece()) this.#queue = this.#queue.filter((other) => other !== first);
    return this.#queue.length === 0;
  }
}
