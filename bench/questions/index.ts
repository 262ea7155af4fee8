import type { Question } from "../harness/question.ts";
import { admissionCost } from "./admission-cost.ts";
import { algorithms } from "./algorithms.ts";
import { coldKeys } from "./cold-keys.ts";
import { http } from "./http.ts";
import { httpShed } from "./http-shed.ts";
import { leaseHit } from "./lease-hit.ts";
import { leaseVsExact } from "./lease-vs-exact.ts";
import { memory } from "./memory.ts";
import { oneKey } from "./one-key.ts";
import { refusedKey } from "./refused-key.ts";
import { scriptCost } from "./script-cost.ts";
import { stalledStore } from "./stalled-store.ts";

/** In the order in which `npm run bench` asks them. */
export const QUESTIONS: readonly Question[] = [
  coldKeys,
  oneKey,
  refusedKey,
  scriptCost,
  memory,
  leaseHit,
  leaseVsExact,
  http,
  algorithms,
  stalledStore,
  admissionCost,
  httpShed,
];
