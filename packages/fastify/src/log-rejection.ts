import type { FastifyRequest } from "fastify";
import { onRejection } from "spillway/kit";

/** What an option that is only told something has returned: nobody waits for it, and that it rejected is logged as an error. */
export function logRejection(returned: unknown, option: string, request: FastifyRequest): void {
  onRejection(returned, (error) => request.log.error(error, `Option ${option} rejected.`));
}
