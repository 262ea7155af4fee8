-- The token bucket with escrow, as packages/spillway/src/algorithms/token-bucket.ts computes it. A bucket is a table:
-- level, time_us, scale (units per token of the stored level), full_us, older and newer escrow (tokens, id, death_us),
-- demand. Policies are tables made by lib/arguments.

local function open_token_bucket(policy, now_us)
  return {
    level = policy.burst * policy.units_per_token, time_us = now_us, scale = policy.units_per_token, full_us = 0,
    older_tokens = 0, older_id = 0, older_death_us = 0, newer_tokens = 0, newer_id = 0, newer_death_us = 0, demand = 0,
  }
end

-- Reads a stored value; nil when it is none of ours.
local function unpack_token_bucket(value)
  local b = {
    older_tokens = 0, older_id = 0, older_death_us = 0, newer_tokens = 0, newer_id = 0, newer_death_us = 0, demand = 0,
  }
  local tag = string.byte(value, 1)
  if tag == 1 and #value == 33 then
    b.level, b.time_us, b.scale, b.full_us = struct.unpack('<dddd', value, 2)
  elseif tag == 2 and #value == 89 then
    b.level, b.time_us, b.scale, b.full_us, b.older_tokens, b.older_id, b.older_death_us, b.newer_tokens, b.newer_id,
      b.newer_death_us, b.demand = struct.unpack('<ddddddddddd', value, 2)
  else
    return nil
  end
  local sum = b.level + b.time_us + b.scale + b.full_us + b.older_tokens + b.older_id + b.older_death_us
    + b.newer_tokens + b.newer_id + b.newer_death_us + b.demand
  if sum - sum ~= 0 or b.scale < 1 then return nil end
  return b
end

-- Refill stops where level + escrow would pass the burst.
local function token_bucket_ceiling(b, policy)
  return math.max(0, (policy.burst - b.older_tokens - b.newer_tokens) * policy.units_per_token)
end

local function refill_token_bucket(b, policy, at_us)
  b.level, b.time_us = refilled(b.level, b.time_us, at_us, token_bucket_ceiling(b, policy), policy.units_per_tick,
    policy.tick_us)
end

-- Brings a bucket to now, in pieces, each under the escrow that was alive in it.
local function advance_token_bucket(b, policy, now_us)
  if b.scale ~= policy.units_per_token then
    b.level = rescaled(b.level, b.scale, policy.units_per_token)
    b.scale = policy.units_per_token
  end
  b.full_us = math.max(b.full_us,
    time_to_full_us(policy.burst, policy.units_per_token, policy.units_per_tick, policy.tick_us))
  if now_us < b.time_us then
    local back = b.time_us - now_us
    b.older_death_us = b.older_death_us - back
    b.newer_death_us = b.newer_death_us - back
    b.time_us = now_us
  end
  if b.older_tokens > 0 and b.older_death_us <= now_us then
    refill_token_bucket(b, policy, b.older_death_us)
    b.older_tokens = 0
  end
  if b.newer_tokens > 0 and b.newer_death_us <= now_us then
    refill_token_bucket(b, policy, b.newer_death_us)
    b.newer_tokens = 0
  end
  refill_token_bucket(b, policy, now_us)
  b.level = math.max(b.level, -policy.burst * policy.units_per_token)
end
