/**
 * Lets this process live through the signals that end the demo: Ctrl-C reaches the whole process group, and the primary alone
 * decides in which order its processes stop.
 */
export function leaveSignalsToPrimary(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
}
