import type { IncomingMessage, ServerResponse } from "node:http";
import { BulkheadRejectedError, bulkhead } from "cockatiel";
import CircuitBreaker from "opossum";
import PQueue from "p-queue";
import type { Protection } from "./plan.ts";

/** Calls the work of a request, now or later, or says that it will not. */
export type Guard = (work: () => Promise<void>) => Promise<"done" | "refused">;

/** Protections that wrap a function. The others are part of a server: see `servers.ts`. */
export function guardOf(protection: Protection): Guard {
  switch (protection.kind) {
    case "bulkhead": {
      const policy = bulkhead(protection.slots, protection.line);
      return (work) => refusable(policy.execute(work), (error) => error instanceof BulkheadRejectedError);
    }
    case "opossum": {
      const breaker = breakerOf(protection.slots);
      return (work) => refusable(breaker.fire(work), (error) => codeOf(error) === "ESEMLOCKED");
    }
    case "p-queue": {
      const queue = new PQueue({ concurrency: protection.slots });
      return async (work) => {
        await queue.add(work);
        return "done";
      };
    }
    case "spillway":
    case "none":
    case "under-pressure":
      return async (work) => {
        await work();
        return "done";
      };
  }
}

/** Opossum with nothing but its semaphore at work: no time limit, and a breaker that stays closed. */
export function breakerOf(capacity: number): CircuitBreaker<[() => Promise<void>], void> {
  const options = { capacity, timeout: false, volumeThreshold: Number.MAX_SAFE_INTEGER } as const;
  return new CircuitBreaker((work: () => Promise<void>) => work(), options);
}

async function refusable(done: Promise<void>, isRefusal: (error: unknown) => boolean): Promise<"done" | "refused"> {
  try {
    await done;
    return "done";
  } catch (error) {
    if (isRefusal(error)) return "refused";
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null)?.code;
}

/** A listener of `node:http` for work behind such a guard. */
export function guardedListener(
  guard: Guard,
  work: (isGone: () => boolean) => Promise<void>,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    if (request.url === "/health") {
      response.end("up");
      return;
    }
    guard(() => work(() => response.destroyed)).then(
      (outcome) => {
        if (outcome === "refused") response.writeHead(503, { "retry-after": "1" }).end("full");
        else response.end("done");
      },
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  };
}
