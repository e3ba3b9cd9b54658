// The glue that wasm-bindgen writes, as the page uses it: so that types can be checked before the crate is built.
declare module "*/fantail_lab.js" {
  export function initSync(input: { module: WebAssembly.Module }): unknown;

  export class Lab {
    check(words: string): string;
    predict(words: string): string;
    plot(words: string, view?: string): string;
    exact(words: string): Exact;
    runner(words: string, first?: number): Runner;
    read(bytes: Uint8Array): string;
    keep(column: number, unit: string): string;
  }

  export class Exact {
    times(plan: number, waiting: Float64Array): Float64Array;
    band(plan: number, jobs: number, waiting: Float64Array): Float64Array;
    free(): void;
  }

  export class Runner {
    run(jobs: number): number;
    names(): string[];
    report(): string | undefined;
    times(plan: number, waiting: Float64Array): Float64Array;
    lanes(plan: number, job: number): string;
    luck(plan: number, job: number): Float64Array;
    free(): void;
  }

  export function command(words: string, jobs?: number): string;
  export function duration(seconds: number): string;
  export function percent(share: number): string;
  export function change(share: number): string;
  export function ingestion(): string;
}
