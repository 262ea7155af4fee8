export { type ManualClock, manualClock } from "./testing/manual-clock.ts";
export {
  type ContractCapability,
  type ContractRunner,
  type StoreContractOptions,
  type StoreUnderTest,
  storeContract,
} from "./testing/store-contract.ts";
