/**
 * The result of a promise, or an error that names what did not happen in time. The work itself is not stopped.
 *
 * @param ms - how long to wait, in milliseconds
 * @param what - what is waited for, as the error names it: "the server to be ready"
 */
export async function withDeadline<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${ms} ms for ${what}; it did not happen.`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
