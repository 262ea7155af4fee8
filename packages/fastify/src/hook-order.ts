/** Hooks that stay behind those that are added later. */
const trailing = new WeakSet<object>();

/**
 * Marks a hook as one that stays last: admission, so that no slot is held, nor a place in the line, while a limiter decides, and
 * who is over a limit hears 429 even when the service is full.
 */
export function keepLast<H extends object>(hook: H): H {
  trailing.add(hook);
  return hook;
}

/** A new list with one hook more, behind all but those that stay last. */
export function withGuard(hooks: readonly unknown[], hook: object): readonly unknown[] {
  if (trailing.has(hook)) return [...hooks, hook];
  const isTrailing = (other: unknown): boolean => trailing.has(other as object);
  return [...hooks.filter((other) => !isTrailing(other)), hook, ...hooks.filter(isTrailing)];
}
