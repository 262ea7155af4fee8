// The package has no types of its own; this is the part that the lab uses.
declare module "opossum" {
  class CircuitBreaker<Result> {
    constructor(action: () => Promise<Result>, options: Readonly<Record<string, number>>);
    fire(): Promise<Result>;
  }
  export = CircuitBreaker;
}
