import type { AlgorithmName } from "../../packages/spillway/src/algorithms/bucket.ts";

/** A script with one mistake in it, which the model test must find. */
export interface Twin {
  readonly mistake: string;
  readonly leases: boolean;
  /** Where it can be found. Left out: among token buckets. */
  readonly algorithm?: AlgorithmName;
  /** Text of a shipped script, and what stands there instead. */
  readonly edits: readonly (readonly [shipped: string, instead: string])[];
}

/** Settles into the stored value before it is read, and so before it is refilled. */
const SETTLE_FIRST = `
local function settled_first(value, number, slot, units_per_token, burst)
  if number > 0 or not value or string.byte(value) ~= 2 then return value end
  local level, time_us, scale, full_us, older, older_id, older_us, newer, newer_id, newer_us, demand =
    struct.unpack('<ddddddddddd', value, 2)
  for s = slot + 5, slot + 2 + 3 * ARGV[slot + 4], 3 do
    level, older, newer = settled_lease(ARGV[s] + 0, ARGV[s + 1] + 0, ARGV[s + 2] + 0, level, older, older_id,
      newer, newer_id, units_per_token, burst)
  end
  return struct.pack('<Bddddddddddd', 2, level, time_us, scale, full_us, older, older_id, older_us, newer, newer_id,
    newer_us, demand)
end
local argv = ARGV
`;

export const TWINS: readonly Twin[] = [
  {
    mistake: "leases are settled before the bucket is refilled",
    leases: true,
    edits: [
      ["local argv = ARGV\n", SETTLE_FIRST],
      [
        "read_token_bucket(value, call_us, units_per_token, policy[3], policy[4], burst)",
        "read_token_bucket(settled_first(value, number, slot, units_per_token, burst), call_us, units_per_token, policy[3], policy[4], burst)",
      ],
      ["for s = slot + 5, slot + 2 + 3 * argv[slot + 4], 3 do", "for s = 1, 0 do"],
    ],
  },
  {
    mistake: "a key expires without regard to the life of its escrow",
    leases: true,
    edits: [["token_bucket_expiry_ms(full_us, level, escrow_us))", "token_bucket_expiry_ms(full_us, level, 0))"]],
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
    edits: [["max(call_us, last_id + 1)", "call_us"]],
  },
  {
    mistake: "a part of a tick is lost at each call",
    leases: false,
    edits: [["else time_us = time_us + ticks * tick_us end", "else time_us = call_us end"]],
  },
  {
    mistake: "an ask is served in part",
    leases: false,
    edits: [["level = level - served * cost_units", "level = math.max(0, level - (ARGV[6] + 0) * cost_units)"]],
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
];
