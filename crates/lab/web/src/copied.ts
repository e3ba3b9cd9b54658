// What becomes of copying, beside the buttons that do it.

import { announce, h } from "./dom.ts";

/** How long a word of success stays, in milliseconds. */
const STAYS = 2_500;

export class Told {
  readonly #place: HTMLElement;
  #over: ReturnType<typeof setTimeout> | undefined;

  constructor(place: HTMLElement) {
    this.#place = place;
  }

  /** Puts `text` on the clipboard; where the page may not, shows it selected. */
  async copy(what: string, text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = h("input", { type: "text", readonly: true, value: text, "aria-label": `${what} to copy` });
      this.#show(field);
      field.focus();
      field.select();
      if (!document.execCommand("copy")) return announce(`${what}: ${text}`, 0);
    }
    this.say(`${what} copied`);
    this.#over = setTimeout(() => this.#place.replaceChildren(), STAYS);
  }

  /** Says `text` until something else is said. */
  say(text: string): void {
    this.#show(text);
    announce(text, 0);
  }

  #show(what: Node | string): void {
    clearTimeout(this.#over);
    this.#place.replaceChildren(what);
  }
}
