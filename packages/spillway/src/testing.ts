export { type ManualClock, manualClock } from "./testing/manual-clock.ts";
export { type ContractHarness, type StoreFactory, storeContract } from "./testing/store-contract.ts";
