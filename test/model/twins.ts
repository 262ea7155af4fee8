import type { AlgorithmName } from "../../packages/spillway/src/algorithms/bucket.ts";

/** A script with one mistake in it, which the model test must find. */
export interface Twin {
  readonly mistake: string;
  readonly leases: boolean;
  /** Where it can be found. Left out: among token buckets. */
  readonly algorithm?: AlgorithmName;
  /** Text of a shipped script, and what stands there instead. */
  readonly edits: readonly (readonly [shipped: string, instead: string])[];
  /** Whether the text is not that of `take.lua`. */
  readonly elsewhere?: boolean;
}

/** Settles into the stored value before it is read, and so before it is refilled. */
const SETTLE_FIRST = `
local function settled_first(value, argv, report, units_per_token, burst)
  if not report or not value or string.byte(value) ~= 2 then return value end
  local level, time_us, scale, full_us, older, older_id, older_us, newer, newer_id, newer_us, demand =
    struct.unpack('<ddddddddddd', value, 2)
  for s = report + 5, report + 2 + 3 * argv[report + 4], 3 do
    level, older, newer = settled_lease(argv[s], argv[s + 1], argv[s + 2], level, older, older_id,
      newer, newer_id, units_per_token, burst)
  end
  return struct.pack('<Bddddddddddd', 2, level, time_us, scale, full_us, older, older_id, older_us, newer, newer_id,
    newer_us, demand)
end
local function open_bucket(`;

/** What the short form of leased calls does before it settles. */
const REFILL = `      level = level + units_per_us * quiet_us
      if level > ceiling then level = ceiling end
`;

export const TWINS: readonly Twin[] = [
  {
    mistake: "leases are settled before the bucket is refilled",
    leases: true,
    edits: [
      ["local function open_bucket(", SETTLE_FIRST],
      [
        "read_token_bucket(value, now_us, units_per_token, units_per_tick, tick_us, burst)\n  if not level",
        "read_token_bucket(settled_first(value, argv, report, units_per_token, burst), now_us, units_per_token, units_per_tick, tick_us, burst)\n  if not level",
      ],
      [
        "for s = report + 5, report + 2 + 3 * argv[report + 4], 3 do\n    level, older, newer = settled_lease(argv[s], argv[s + 1], argv[s + 2], level, older, older_id, newer, newer_id,",
        "for s = 1, 0 do\n    level, older, newer = settled_lease(argv[s], argv[s + 1], argv[s + 2], level, older, older_id, newer, newer_id,",
      ],
    ],
  },
  {
    mistake: "a key expires without regard to the life of its escrow",
    leases: true,
    edits: [["= token_bucket_expiry_ms(full_us, level, escrow_us)", "= token_bucket_expiry_ms(full_us, level, 0)"]],
  },
  {
    mistake: "a policy with a shorter time to full shortens the life of a bucket that knew a longer one",
    leases: false,
    edits: [["if longest_us > full_us then full_us = longest_us end", ""]],
  },
  {
    mistake: "a level is read in the units of another policy",
    leases: false,
    edits: [["if scale ~= units_per_token then level = rescaled(level, scale, units_per_token) end", ""]],
  },
  {
    mistake: "a stored time ahead of the clock is left there",
    leases: false,
    edits: [["and time_us <= call_us and", "and"]],
  },
  {
    mistake: "refill does not stop for what is out on lease",
    leases: true,
    edits: [["max(0, (burst - older - newer) * units_per_token)", "burst * units_per_token"]],
  },
  {
    mistake: "the time goes through text",
    leases: false,
    edits: [
      [
        "local call_us = time[1] * 1000000 + time[2]",
        "local call_us = tonumber(tostring(time[1] * 1000000 + time[2]))",
      ],
    ],
  },
  {
    mistake: "lease ids repeat when the clock goes back",
    leases: true,
    edits: [["max(now_us, last_id + 1)", "now_us"]],
  },
  {
    mistake: "a part of a tick is lost at each call",
    leases: false,
    edits: [["return level, time_us + ticks * tick_us", "return level, at_us"]],
  },
  {
    mistake: "an ask is served in part",
    leases: false,
    edits: [["level = level - served * cost_units", "level = math.max(0, level - given[6] * cost_units)"]],
  },
  {
    mistake: "in the short form, leases are settled before the bucket is refilled",
    leases: true,
    edits: [
      [REFILL, ""],
      [
        "      if cost > 0 then\n        local most = level / (cost",
        `${REFILL}      if cost > 0 then\n        local most = level / (cost`,
      ],
      [
        "        slot = last + 1\n",
        "        slot, ceiling = last + 1, math.max(0, (burst - older - newer) * units_per_token)\n",
      ],
    ],
  },
  {
    mistake: "in the short form, a key expires without regard to the life of its escrow",
    leases: true,
    edits: [["expiry_ms = (expiry_ms + escrow_us) / 1000", "expiry_ms = expiry_ms / 1000"]],
  },
  {
    mistake: "in the short form, refill does not stop for what is out on lease",
    leases: true,
    edits: [
      [
        "ceiling = call_us - time_us, (burst - older - newer) * units_per_token",
        "ceiling = call_us - time_us, capacity",
      ],
    ],
  },
  {
    mistake: "in the short form, the share of who asks is left out of account on a contended bucket",
    leases: true,
    edits: [["            if share < 0.5 then left = 2 * share * tokens end\n", ""]],
  },
  {
    mistake: "a later ask on a contended bucket is served beyond the share of who asks",
    leases: true,
    edits: [["if most < 1 and not b[ASKED] then most = 1 end", "if most < 1 then most = 1 end"]],
  },
  {
    mistake: "in the short form, an ask is served on one of its buckets though another one refuses it",
    leases: false,
    edits: [["usual, served = key_count == 1, most\n", "served = most\n"]],
  },
  {
    mistake: "in the short form, a window that is over goes on",
    leases: false,
    algorithm: "fixed-window",
    edits: [["if call_us - stored_us < period_us then start_us", "if call_us - stored_us <= period_us then start_us"]],
  },
  {
    mistake: "in the short form, a window is charged for what is refused",
    leases: false,
    algorithm: "fixed-window",
    edits: [["        used = used + served * cost\n", "        used = used + asks * cost\n"]],
  },
  {
    mistake: "in the short form of many keys, a key is told the level of another",
    leases: false,
    edits: [["if level ~= levels[1] then is_same = false end", ""]],
  },
  {
    mistake: "in its short form, an estimate is rounded down",
    leases: false,
    algorithm: "sliding-window-counter",
    edits: [["carried = carried + -carried % 1", "carried = carried - carried % 1"]],
  },
  {
    mistake: "in the short form of a sliding counter, the window before counts in full after two periods",
    leases: false,
    algorithm: "sliding-window-counter",
    edits: [["if now_us - start_us < 2 * period_us then", "if now_us - start_us <= 2 * period_us then"]],
  },
  {
    mistake: "in the short form of a sliding counter, what is refused is charged",
    leases: false,
    algorithm: "sliding-window-counter",
    edits: [["current = current + served * cost\n", "current = current + args[5] * cost\n"]],
  },
  {
    mistake: "an estimate is rounded down",
    leases: false,
    algorithm: "sliding-window-counter",
    edits: [["return ceil(product / divisor) end", "return floor(product / divisor) end"]],
  },
  {
    mistake: "a window that is two periods old still counts",
    leases: false,
    algorithm: "sliding-window-counter",
    edits: [["if windows == 1 then return", "if windows >= 1 then return"]],
  },
  {
    mistake: "a token counts for a microsecond more than its period",
    leases: false,
    algorithm: "sliding-window-log",
    edits: [
      ["log_entry_after(key, log, from, now_us - keep_us)", "log_entry_after(key, log, from, now_us - keep_us - 1)"],
    ],
  },
  {
    mistake: "a shorter period forgets what a longer one still counts",
    leases: false,
    algorithm: "sliding-window-log",
    edits: [["if period_us >= keep_us or now_us - kept_us >= keep_us then", "if period_us > 0 then"]],
  },
  {
    mistake: "a longer period that is over is kept for good",
    leases: false,
    algorithm: "sliding-window-log",
    edits: [["if period_us >= keep_us or now_us - kept_us >= keep_us then", "if period_us >= keep_us then"]],
  },
  {
    mistake: "tokens of the future stay there when the clock goes back",
    leases: false,
    algorithm: "sliding-window-log",
    edits: [["if log.length > 0 and log.newest_us > now_us then", "if log.length < 0 then"]],
  },
  {
    mistake: "tokens of one instant stand in two entries",
    leases: false,
    algorithm: "sliding-window-log",
    edits: [["us == now_us and log.length - 1 or log.length", "log.length"]],
  },
  {
    mistake: "a blocked bucket serves what costs nothing",
    leases: false,
    edits: [["if not b or b.until_us then", "if not b or b.until_us and cost > 0 then"]],
  },
  {
    mistake: "a blocked bucket is leased from",
    leases: true,
    edits: [["and not b[REFUSED] and not b.until_us then", "and not b[REFUSED] then"]],
  },
  {
    mistake: "a refund takes off what is on lease of a window",
    leases: true,
    algorithm: "fixed-window",
    elsewhere: true,
    edits: [["max(window[6], window[4] - tokens)", "max(0, window[4] - tokens)"]],
  },
  {
    mistake: "a reset of a window forgets what is on lease of it",
    leases: true,
    algorithm: "sliding-window-counter",
    elsewhere: true,
    edits: [["window[4], window[5] = window[6], 0", "window[4], window[5] = 0, 0"]],
  },
  {
    mistake: "what comes back to a window is taken off whatever is on lease of it",
    leases: true,
    algorithm: "sliding-window-counter",
    edits: [["if window[6] > 0 and window[7] == argv[s] then", "if window[6] > 0 then"]],
  },
  {
    mistake: "in the short form, what comes back to a window is taken off whatever is on lease of it",
    leases: true,
    algorithm: "fixed-window",
    edits: [["if leased > 0 and lease_id == args[s] then", "if leased > 0 then"]],
  },
  {
    mistake: "in the short form, a window that has ended keeps what was on lease of it",
    leases: true,
    algorithm: "fixed-window",
    edits: [
      [
        "      start_us, used, leased, lease_id = stored_us, count_before, out, out_id\n    elseif",
        "      start_us, used = stored_us, count_before\n    end\n    leased, lease_id = out, out_id\n    if now_us - stored_us < period_us then\n    elseif",
      ],
    ],
  },
  {
    mistake: "in the short form of a counter with leases, the window before counts in full after two periods",
    leases: true,
    algorithm: "sliding-window-counter",
    edits: [["elseif is_counter and now_us - stored_us < 2 * period_us then", "elseif is_counter then"]],
  },
  {
    mistake: "in the short form of a counter with leases, an estimate is rounded down",
    leases: true,
    algorithm: "sliding-window-counter",
    edits: [
      [
        "carried = carried + -carried % 1\n    end\n  end\n  for s",
        "carried = carried - carried % 1\n    end\n  end\n  for s",
      ],
    ],
  },
  {
    mistake: "a window leases when it is all but over",
    leases: true,
    algorithm: "sliding-window-counter",
    edits: [["if 4 * (window[3] + period_us - now_us) < window.life_us then return 0 end", ""]],
  },
  {
    mistake: "a blocked window is leased from",
    leases: true,
    algorithm: "fixed-window",
    edits: [["if not window.wish or window[2] or window.until_us then", "if not window.wish or window[2] then"]],
  },
  {
    mistake: "a block lasts a microsecond too long",
    leases: false,
    edits: [["if until_us <= now_us then return value,", "if until_us < now_us then return value,"]],
  },
  {
    mistake: "a block grows when the clock goes back",
    leases: false,
    edits: [["now_us, until_us - (from_us - now_us) end", "now_us, until_us end"]],
  },
  {
    mistake: "a key expires without regard to its block",
    leases: false,
    algorithm: "fixed-window",
    edits: [["max(least_ms, ceil((end_us - now_us) / 1000) + 1)", "least_ms"]],
  },
  {
    mistake: "a call forgets the block of a bucket that it writes",
    leases: false,
    algorithm: "sliding-window-counter",
    edits: [["write_block(KEYS[i], call_us, b.from_us, until_us, expiry_ms)", "expiry_ms = write_block and nil"]],
  },
  {
    mistake: "the entries of a blocked log are looked for where they are without a block",
    leases: false,
    algorithm: "sliding-window-log",
    edits: [["at = LOG_HEAD + block_bytes", "at = LOG_HEAD"]],
  },
  {
    mistake: "a log is written in pieces over a block that is over",
    leases: false,
    algorithm: "sliding-window-log",
    edits: [[" or log.at > LOG_HEAD", ""]],
  },
];

/** Mistakes that show in states which random runs seldom come to. */
export const STATE_TWINS: readonly Twin[] = [
  {
    mistake: "in the short form, lease ids repeat",
    leases: true,
    edits: [["            id = id + 1\n", ""]],
  },
  {
    mistake: "in the short form, the escrow of a lease that joins others dies with it, not with them",
    leases: true,
    edits: [
      [
        "          if older > 0 and older_death_us > newer_death_us then newer_death_us = older_death_us end\n          if",
        "          if",
      ],
    ],
  },
  {
    mistake: "in the short form, the reply leaves out when such a lease dies",
    leases: true,
    edits: [
      [
        "(newer ~= tokens or newer_death_us ~= call_us + life_us) then\n        flag",
        "newer ~= tokens then\n        flag",
      ],
    ],
  },
  {
    mistake: "in the short form, the first ask on a contended bucket is refused beyond the share of who asks",
    leases: true,
    edits: [["          if fair < 1 then fair = 1 end\n", ""]],
  },
  {
    mistake: "in the short form, asks on a contended bucket are served beyond the share of who asks",
    leases: true,
    edits: [["          if fair < most then most = fair end\n", ""]],
  },
  {
    mistake: "in the short form, a lease on a contended bucket is what asks have taken already",
    leases: true,
    edits: [["local most, shelf = left - served * cost, level", "local most, shelf = left, level"]],
  },
];

/** Makes the mistake in each script that has the text; it is an error when none has. */
export function mistaken({ edits, mistake, elsewhere = false }: Twin): (text: string) => string {
  const made = new Set<string>();
  return (text) => {
    let changed = text;
    for (const [shipped, instead] of edits) {
      if (changed.includes(shipped)) made.add(shipped);
      changed = changed.replaceAll(shipped, instead);
    }
    if (text.startsWith("-- spillway: take") && made.size < edits.length && !elsewhere)
      throw new Error(`The scripts no longer have the text in which "${mistake}" could be put.`);
    return changed;
  };
}
