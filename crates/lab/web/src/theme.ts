// Light, dark, or as the system has it.

import { byId } from "./dom.ts";

const CHOICE = "fantail.lab.theme";

/** Applies the choice, and remembers the next one where the page may. */
export function theme(): void {
  const select = byId<HTMLSelectElement>("theme");
  const apply = (choice: string): void => {
    document.documentElement.classList.toggle("light", choice === "light");
    document.documentElement.classList.toggle("dark", choice === "dark");
  };
  try {
    select.value = localStorage.getItem(CHOICE) ?? "auto";
  } catch {
    select.value = "auto";
  }
  apply(select.value);
  select.addEventListener("change", () => {
    apply(select.value);
    try {
      localStorage.setItem(CHOICE, select.value);
    } catch {
      // A page from disk may have no storage: then the choice lasts as long as the page.
    }
  });
}
