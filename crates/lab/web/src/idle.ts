// Long work in pieces between frames, so that the page never stalls.

/** Does one piece; true when there is nothing more to do. */
export type Piece = () => boolean;

/** Work that can be called off. */
export interface Work {
  cancel(): void;
}

/** How long pieces may go on at a time, in milliseconds, where the browser does not say. */
const BUDGET = 8;

/** Does `piece` again and again while the page is idle, until it is done; then calls `done`. */
export function whenIdle(piece: Piece, done: () => void = () => {}): Work {
  let cancelled = false;
  const go = (left: () => number): void => {
    if (cancelled) return;
    do {
      if (piece()) return done();
    } while (left() > 3);
    next(go);
  };
  next(go);
  return { cancel: () => (cancelled = true) };
}

function next(go: (left: () => number) => void): void {
  if (typeof requestIdleCallback === "function") {
    requestIdleCallback((deadline) => go(() => deadline.timeRemaining()), { timeout: 250 });
    return;
  }
  setTimeout(() => {
    const end = performance.now() + BUDGET;
    go(() => end - performance.now());
  }, 1);
}

/** Calls `shown` once `element` comes near the screen, and again after each `wake`, as soon as it is near. */
export class WhenSeen {
  readonly #waiting = new Map<Element, () => void>();
  readonly #near = new Set<Element>();
  readonly #observer = new IntersectionObserver((entries) => this.#see(entries), { rootMargin: "200px" });

  /** Has `show` called when `element` is near the screen; at once if it is. */
  ask(element: Element, show: () => void): void {
    if (this.#near.has(element)) return show();
    this.#waiting.set(element, show);
    this.#observer.observe(element);
  }

  /** Shows everything that waits, as for paper. */
  all(): void {
    for (const [element, show] of this.#waiting) {
      this.#waiting.delete(element);
      show();
    }
  }

  #see(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) {
        this.#near.delete(target);
        continue;
      }
      this.#near.add(target);
      const show = this.#waiting.get(target);
      this.#waiting.delete(target);
      show?.();
    }
  }
}
