import { constants, setPriority } from "node:os";

/** A generator that is late measures itself. Only some users may ask to be preferred, so it is no more than an attempt. */
export function preferThisProcess(): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGH);
  } catch {
    // It then runs late when the machine is busy, and says so.
  }
}
