const warned = new WeakSet<object>();

const HELP =
  "Leave useAsIs out, and the store makes a connection of its own with safe options. Or change the options that are named.";

/** Says, once for each client, what in the options of a client that is used as it is breaks which promise. */
export function warnOfUnsafeOptions(client: object, faults: readonly string[]): void {
  if (faults.length === 0 || warned.has(client)) return;
  warned.add(client);
  const message = `The client that redisStore uses as it is may break the limit: ${faults.join("; ")}.`;
  process.emitWarning(message, { type: "SpillwayWarning", code: "SPILLWAY_WARN_CLIENT_OPTIONS", detail: HELP });
}
