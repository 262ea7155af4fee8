import type { Algorithm } from "./bucket.ts";

/** The highest limit of a log: it keeps a time for each token that is not a period old, and a store rewrites all of them at once. */
export const LARGEST_LOG = 10_000;

/** A sliding window that is counted exactly, as integers. */
export interface SlidingWindowLogShape {
  readonly kind: "sliding-window-log";
  /** At most {@link LARGEST_LOG}. */
  readonly limit: number;
  readonly periodUs: number;
}

/** When the tokens of one key were taken: entries of tokens of one instant, oldest first. */
export interface SlidingWindowLogState {
  readonly kind: "sliding-window-log";
  times: number[];
  /** How many tokens were taken at each of the times. */
  tokens: number[];
  /** Indices of entries that stand for several: their time is that of the last one. Only a reply has such. */
  gathered: readonly number[];
  /** Sum of `tokens`. */
  kept: number;
  /** Of these, the tokens that are not yet a period old. */
  used: number;
  /** How long tokens are kept: the longest period among the policies that the log lives under. */
  keepUs: number;
  /** The largest limit among them; twice as many tokens are kept. */
  keepTokens: number;
  /** When a policy of the longest period was last at work. Once that is as long ago as its period, it is forgotten. */
  keptUs: number;
  /** The instant that `advance` brought it to. Not stored. */
  nowUs: number;
}

/**
 * The sliding window log: no period, wherever it begins, has more than `limit` tokens. Exact, and the dearest: up to `limit`
 * entries are kept for each key, so the limit is at most {@link LARGEST_LOG}.
 * `lua/lib/sliding-window-log.lua` computes the same; the model tests hold the two together.
 */
export const slidingWindowLog: Algorithm<SlidingWindowLogShape, SlidingWindowLogState> = {
  open: (shape, nowUs) => ({
    kind: "sliding-window-log",
    times: [],
    tokens: [],
    gathered: WHOLE,
    kept: 0,
    used: 0,
    keepUs: shape.periodUs,
    keepTokens: shape.limit,
    keptUs: nowUs,
    nowUs,
  }),

  copy: (state) => ({ ...state, times: state.times.slice(), tokens: state.tokens.slice() }),

  advance(state, shape, nowUs) {
    comeUnder(state, shape, nowUs);
    pullBack(state, nowUs);
    forget(state, nowUs - state.keepUs);
    state.nowUs = nowUs;
    state.used = state.kept - tokensBefore(state, firstIndex(state, shape));
  },

  fits: (state, shape, cost) => cost === 0 || state.used + cost <= shape.limit,

  charge(state, _shape, cost) {
    push(state, state.nowUs, cost);
    state.used += cost;
  },

  /** A refund is of the newest tokens first. */
  adjust(state, shape, tokens) {
    if (tokens > 0) giveBack(state, Math.min(tokens, state.kept));
    else slidingWindowLog.charge(state, shape, Math.max(0, Math.min(-tokens, 2 * shape.limit - state.used)));
  },

  reset(state) {
    cut(state, 0);
    state.kept = 0;
    state.used = 0;
  },

  waitUs(state, shape, cost, nowUs) {
    if (slidingWindowLog.fits(state, shape, cost)) return 0;
    if (cost > shape.limit) return Number.POSITIVE_INFINITY;
    const { index } = entryOf(state, shape, state.used + cost - shape.limit);
    return (state.times[index] as number) + shape.periodUs - nowUs;
  },

  knowsWait(state, shape, cost) {
    if (state.gathered.length === 0 || cost > shape.limit || slidingWindowLog.fits(state, shape, cost)) return true;
    return !state.gathered.includes(entryOf(state, shape, state.used + cost - shape.limit).index);
  },

  remaining: (state, shape) => Math.max(0, shape.limit - state.used),

  expiryMs: (state, _shape, nowUs) => Math.ceil(((state.times.at(-1) ?? nowUs) + state.keepUs - nowUs) / 1000) + 1,

  capacity: (shape) => shape.limit,

  summary(state, shape, costs) {
    const summary: SlidingWindowLogState = { ...state, times: [], tokens: [], gathered: [], kept: state.used };
    const gathered: number[] = [];
    let from = firstIndex(state, shape);
    let before = 0;
    for (const nth of marksOf(state, shape, costs)) {
      if (nth <= before) continue;
      const entry = entryOf(state, shape, nth);
      if (entry.index > from) {
        if (entry.index > from + 1 || state.gathered.includes(from)) gathered.push(summary.times.length);
        append(summary, state.times[entry.index - 1] as number, entry.before - before);
      }
      if (state.gathered.includes(entry.index)) gathered.push(summary.times.length);
      const tokens = state.tokens[entry.index] as number;
      append(summary, state.times[entry.index] as number, tokens);
      from = entry.index + 1;
      before = entry.before + tokens;
    }
    return { ...summary, gathered };
  },
};

const WHOLE: readonly number[] = Object.freeze([]);

/** The entries of a log as a reply carries them: time and tokens in turn, the tokens of a gathered entry below 0. */
export function wireEntries({ times, tokens, gathered }: SlidingWindowLogState): number[] {
  return times.flatMap((timeUs, i) => {
    const count = tokens[i] as number;
    return [timeUs, gathered.includes(i) ? -count : count];
  });
}

/** The log that {@link wireEntries} was made of, as far as that tells, for a reply of `nowUs`. */
export function logOfEntries(
  { limit, periodUs }: SlidingWindowLogShape,
  entries: readonly number[],
  nowUs: number,
): SlidingWindowLogState {
  const times: number[] = [];
  const tokens: number[] = [];
  const gathered: number[] = [];
  let used = 0;
  for (let i = 0; i < entries.length; i += 2) {
    const count = entries[i + 1] as number;
    if (count < 0) gathered.push(times.length);
    times.push(entries[i] as number);
    tokens.push(Math.abs(count));
    used += Math.abs(count);
  }
  const rest = { kept: used, used, keepUs: periodUs, keepTokens: limit, keptUs: nowUs, nowUs };
  return { kind: "sliding-window-log", times, tokens, gathered, ...rest };
}

/**
 * Which tokens of the log a reply must give the very time of, counted from the oldest one, in order: those whose end the costs
 * wait for, the one whose end the next token waits for, and the last.
 */
function marksOf(
  { used }: SlidingWindowLogState,
  { limit }: SlidingWindowLogShape,
  costs: readonly number[],
): number[] {
  if (used === 0) return [];
  const marks = [Math.max(1, used + 1 - limit), used];
  for (const cost of costs) if (cost > 0 && cost <= limit && used + cost > limit) marks.push(used + cost - limit);
  return marks.sort((a, b) => a - b);
}

function comeUnder(state: SlidingWindowLogState, { limit, periodUs }: SlidingWindowLogShape, nowUs: number): void {
  state.keptUs = Math.min(state.keptUs, nowUs);
  if (periodUs >= state.keepUs || nowUs - state.keptUs >= state.keepUs) {
    if (periodUs < state.keepUs) state.keepTokens = 0;
    state.keepUs = periodUs;
    state.keptUs = nowUs;
  }
  state.keepTokens = Math.max(state.keepTokens, limit);
}

/** A clock that was set back makes tokens of the future tokens of now. */
function pullBack(state: SlidingWindowLogState, nowUs: number): void {
  let length = state.times.length;
  let ahead = 0;
  while (length > 0 && (state.times[length - 1] as number) > nowUs) ahead += state.tokens[--length] as number;
  if (ahead === 0) return;
  cut(state, length);
  append(state, nowUs, ahead);
}

/** Lets go of tokens of `untilUs` and before, and of the oldest where there are more than any of the policies can need. */
function forget(state: SlidingWindowLogState, untilUs: number): void {
  const { times, tokens } = state;
  let gone = 0;
  while (gone < times.length && (times[gone] as number) <= untilUs) state.kept -= tokens[gone++] as number;
  for (let surplus = state.kept - 2 * state.keepTokens; surplus > 0; surplus = state.kept - 2 * state.keepTokens) {
    const oldest = tokens[gone] as number;
    state.kept -= Math.min(oldest, surplus);
    if (oldest > surplus) tokens[gone] = oldest - surplus;
    else gone++;
  }
  if (gone > 0) {
    times.splice(0, gone);
    tokens.splice(0, gone);
  }
}

/** The first entry that counts under a policy; all do, unless the log lives under a longer period too. */
function firstIndex({ times, nowUs }: SlidingWindowLogState, { periodUs }: SlidingWindowLogShape): number {
  let index = 0;
  while (index < times.length && (times[index] as number) <= nowUs - periodUs) index++;
  return index;
}

function tokensBefore({ tokens }: SlidingWindowLogState, index: number): number {
  let sum = 0;
  for (let i = 0; i < index; i++) sum += tokens[i] as number;
  return sum;
}

/** The entry that has the `nth` token of those that count, from 1, and how many of these come before it. */
function entryOf(
  state: SlidingWindowLogState,
  shape: SlidingWindowLogShape,
  nth: number,
): { readonly index: number; readonly before: number } {
  const { tokens, used } = state;
  if (nth > used / 2) {
    let index = tokens.length - 1;
    let before = used - (tokens[index] as number);
    while (before >= nth) before -= tokens[--index] as number;
    return { index, before };
  }
  let index = firstIndex(state, shape);
  let before = 0;
  while (before + (tokens[index] as number) < nth) before += tokens[index++] as number;
  return { index, before };
}

function push(state: SlidingWindowLogState, timeUs: number, tokens: number): void {
  if (tokens === 0) return;
  append(state, timeUs, tokens);
  state.kept += tokens;
}

/** Adds an entry, or to the last one where that is of the same instant. */
function append({ times, tokens }: SlidingWindowLogState, timeUs: number, count: number): void {
  const last = times.length - 1;
  if (times[last] === timeUs) tokens[last] = (tokens[last] as number) + count;
  else {
    times.push(timeUs);
    tokens.push(count);
  }
}

function giveBack(state: SlidingWindowLogState, count: number): void {
  const { tokens } = state;
  let length = tokens.length;
  let left = count;
  while (left > 0 && (tokens[length - 1] as number) <= left) left -= tokens[--length] as number;
  if (left > 0) tokens[length - 1] = (tokens[length - 1] as number) - left;
  cut(state, length);
  state.kept -= count;
  state.used = Math.max(0, state.used - count);
}

function cut(state: SlidingWindowLogState, length: number): void {
  state.times.length = length;
  state.tokens.length = length;
  if (state.gathered.length > 0) state.gathered = state.gathered.filter((index) => index < length);
}
