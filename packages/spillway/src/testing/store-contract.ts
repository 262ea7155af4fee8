/** Left to be written: what every store must do. */
export interface ContractHarness {
  readonly name: string;
}
export type StoreFactory = () => Promise<unknown>;
export function storeContract(): void {}
