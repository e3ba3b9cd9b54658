// The clock of one job: runs, pauses, steps. It knows no figures; what a time means is for its listeners.

import { still } from "./dom.ts";

export type Phase = "running" | "paused" | "over";

/** How long the playhead takes to cross the picture at speed 1, in seconds. */
const WIDTH_S = 4;

export class Playback {
  #phase: Phase = "over";
  #now = 0;
  #end = 0;
  #span = 1;
  #speed = 1;
  #last = 0;
  #moments: readonly number[] = [];
  readonly #show: (now: number, phase: Phase) => void;

  /** `show` is called for every frame, with the job's own time in seconds. */
  constructor(show: (now: number, phase: Phase) => void) {
    this.#show = show;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Another job, or the same one under another plan: when it ends, how much time its picture holds, and when something happens. */
  load(end: number, span: number, moments: readonly number[]): void {
    this.#end = end;
    this.#span = span;
    this.#moments = [...moments, end].sort((a, b) => a - b);
    this.#set(end, "over");
  }

  /** How many of the picture's widths pass in `WIDTH_S`. */
  speed(factor: number): void {
    this.#speed = factor;
  }

  /** Runs from the start, or on after a pause. With less motion asked for, it is over at once. */
  run(): void {
    if (still()) return this.#set(this.#end, "over");
    this.#set(this.#phase === "paused" ? this.#now : 0, "running");
    this.#last = performance.now();
    requestAnimationFrame((time) => this.#frame(time));
  }

  pause(): void {
    if (this.#phase === "running") this.#set(this.#now, "paused");
  }

  /** To the next moment at which something happens; false where there is none. */
  step(): boolean {
    const from = this.#phase === "over" ? -1 : this.#now;
    const next = this.#moments.find((moment) => moment > from + 1e-12);
    if (next === undefined) return false;
    this.#set(next, next >= this.#end ? "over" : "paused");
    return true;
  }

  #set(now: number, phase: Phase): void {
    this.#now = now;
    this.#phase = phase;
    this.#show(now, phase);
  }

  #frame(time: number): void {
    if (this.#phase !== "running") return;
    const passed = Math.max(0, time - this.#last) / 1_000;
    this.#last = time;
    const now = this.#now + (passed * this.#speed * this.#span) / WIDTH_S;
    if (now >= this.#end) return this.#set(this.#end, "over");
    this.#set(now, "running");
    requestAnimationFrame((next) => this.#frame(next));
  }
}
