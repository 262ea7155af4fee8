/** The little of opossum that is used here; it brings no types. */
declare module "opossum" {
  // biome-ignore lint/style/noDefaultExport: it is how opossum exports it.
  export default class CircuitBreaker<Arguments extends readonly unknown[], Result> {
    constructor(action: (...args: Arguments) => Promise<Result>, options: Readonly<Record<string, number | false>>);
    shutdown(): void;
    fire(...args: Arguments): Promise<Result>;
  }
}
