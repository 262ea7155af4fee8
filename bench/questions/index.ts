import type { Question } from "../harness/question.ts";
import { coldKeys } from "./cold-keys.ts";

/** In the order in which `npm run bench` asks them. */
export const QUESTIONS: readonly Question[] = [coldKeys];
