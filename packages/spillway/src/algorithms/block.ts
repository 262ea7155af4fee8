/** A time in which a bucket serves nobody, whatever it holds. Stores keep it beside what the bucket counts, which goes on. */
export interface Block {
  fromUs: number;
  untilUs: number;
}

/** What can be blocked. Without `block` it is not. */
export interface Blockable {
  block?: Block;
}

/** Blocks a bucket for so long from now on, in place of a block that there is already; 0 ends one. */
export function block(state: Blockable, durationUs: number, nowUs: number): void {
  if (durationUs > 0) state.block = { fromUs: nowUs, untilUs: nowUs + durationUs };
  else delete state.block;
}

/** Ends a block whose time is over. One that began ahead of the clock is pulled back to it, and is no longer than it was. */
export function advanceBlock(state: Blockable, nowUs: number): void {
  if (state.block === undefined) return;
  const { fromUs, untilUs } = state.block;
  const aheadUs = Math.max(0, fromUs - nowUs);
  if (untilUs - aheadUs <= nowUs) delete state.block;
  else state.block = { fromUs: fromUs - aheadUs, untilUs: untilUs - aheadUs };
}

/** How much longer a bucket is blocked; 0 for one that is not. */
export function blockedUs({ block: found }: Blockable, nowUs: number): number {
  return found === undefined ? 0 : Math.max(0, found.untilUs - nowUs);
}
