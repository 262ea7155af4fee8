-- The token bucket with escrow, as packages/spillway/src/algorithms/token-bucket.ts computes it, on plain numbers, since a
-- table for each bucket would cost more than the arithmetic. The escrow is two groups of leased tokens, older and newer: how
-- many, the lease that opened the group, and when it dies.

-- A bucket brought to now under a policy, refilled in pieces, each under the escrow that was alive in it. `value` is what
-- GET gave, false for a bucket nobody has used. Returns level, its time, longest time to full, the older and newer group,
-- the demand of all, and how long the bucket was left alone; nil when none of our scripts wrote the value.
local function read_token_bucket(value, now_us, units_per_token, units_per_tick, tick_us, burst)
  local capacity = burst * units_per_token
  local full_us = ceil(capacity / units_per_tick) * tick_us
  if not value then return capacity, now_us, full_us, 0, 0, 0, 0, 0, 0, 0, 0 end
  local level, time_us, scale, longest_us
  local older, older_id, older_death_us, newer, newer_id, newer_death_us, demand = 0, 0, 0, 0, 0, 0, 0
  local form
  if #value == 33 then
    form, level, time_us, scale, longest_us = struct.unpack('<Bdddd', value)
    if form ~= 1 then return nil end
  elseif #value == 89 then
    form, level, time_us, scale, longest_us, older, older_id, older_death_us, newer, newer_id, newer_death_us, demand =
      struct.unpack('<Bddddddddddd', value)
    if form ~= 2 then return nil end
  else
    return nil
  end
  -- Comparisons with what is no number are false.
  if not (level >= -LARGEST and level <= LARGEST and time_us >= 0 and time_us <= LARGEST and scale >= 1
    and scale <= LARGEST and longest_us >= 0 and longest_us <= FINITE) then return nil end
  if form == 2 and not (older >= 0 and older <= LARGEST and older_id >= 0 and older_id <= LARGEST
    and older_death_us >= -LARGEST and older_death_us <= LARGEST and newer >= 0 and newer <= LARGEST and newer_id >= 0
    and newer_id <= LARGEST and newer_death_us >= -LARGEST and newer_death_us <= LARGEST and demand >= 0
    and demand <= FINITE) then return nil end
  if scale ~= units_per_token then level = rescaled(level, scale, units_per_token) end
  if level < -capacity then level = -capacity end
  if longest_us > full_us then full_us = longest_us end
  local quiet_us = now_us - time_us
  if quiet_us < 0 then
    older_death_us, newer_death_us, time_us, quiet_us = older_death_us + quiet_us, newer_death_us + quiet_us, now_us, 0
  end
  if older > 0 and older_death_us <= now_us then
    local ceiling = max(0, (burst - older - newer) * units_per_token)
    level, time_us = refilled(level, time_us, older_death_us, ceiling, units_per_tick, tick_us)
    older = 0
  end
  if newer > 0 and newer_death_us <= now_us then
    local ceiling = max(0, (burst - older - newer) * units_per_token)
    level, time_us = refilled(level, time_us, newer_death_us, ceiling, units_per_tick, tick_us)
    newer = 0
  end
  local ceiling = max(0, (burst - older - newer) * units_per_token)
  level, time_us = refilled(level, time_us, now_us, ceiling, units_per_tick, tick_us)
  return level, time_us, full_us, older, older_id, older_death_us, newer, newer_id, newer_death_us, demand, quiet_us
end
