// Written by scripts/build-lua.mjs. Do not edit: change lua/ and run `npm run build:lua`.

/** A Lua script as Redis gets it, its SHA-1, and the sizes that its header promises. */
export interface GeneratedScript<Arity extends Readonly<Record<string, number | string>>> {
  readonly name: string;
  readonly text: string;
  readonly sha1: string;
  readonly arity: Arity;
}

/** lua/adjust.lua: Gives tokens back (a refund), never above full, or takes them without asking (a penalty), at most one capacity deep. */
export const adjust: GeneratedScript<{ readonly head: 1; readonly bucket: 3; readonly lease: 7 }> = {
  name: "adjust",
  sha1: "b95623ee1ca711ccbc58aaf80aa7b684558939da",
  arity: { head: 1, bucket: 3, lease: 7 },
  text: `-- spillway: adjust
local function server_time_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local LARGEST_EXACT = 9007199254740991
local function refilled(level, time_us, at_us, ceiling, units_per_tick, tick_us)
  local ticks = math.floor((at_us - time_us) / tick_us)
  level = level + units_per_tick * ticks
  if level >= ceiling then return ceiling, at_us end
  return level, time_us + ticks * tick_us
end
local function rescaled(level, from, to)
  local tokens = math.floor(level / from)
  local rest = (level - tokens * from) * to
  local scaled = math.floor(rest / from)
  if rest > LARGEST_EXACT then scaled = scaled - 1 end
  return tokens * to + math.max(0, scaled)
end
local function time_to_full_us(burst, units_per_token, units_per_tick, tick_us)
  return math.ceil(burst * units_per_token / units_per_tick) * tick_us
end
local function expiry_ms(full_us, level, units_per_tick, tick_us, escrow_us)
  local debt_us = math.ceil(math.max(0, -level) / units_per_tick) * tick_us
  return math.min(math.ceil((full_us + debt_us + escrow_us) / 1000) + 1, 3153600000000)
end
local function read_policies()
  local policies = {}
  local slot = 2
  for i = 1, tonumber(ARGV[1]) do
    local kind = ARGV[slot]
    local a, b, c, d = tonumber(ARGV[slot + 1]), tonumber(ARGV[slot + 2]), tonumber(ARGV[slot + 3]),
      tonumber(ARGV[slot + 4])
    if kind == 't' then
      policies[i] = { kind = kind, units_per_token = a, units_per_tick = b, tick_us = c, burst = d }
    elseif kind == 'f' then
      policies[i] = { kind = kind, limit = a, period_us = b, aligned = c == 1 }
    else
      error('unknown kind of policy')
    end
    slot = slot + 5
  end
  return policies, slot
end
local function open_token_bucket(policy, now_us)
  return {
    level = policy.burst * policy.units_per_token, time_us = now_us, scale = policy.units_per_token, full_us = 0,
    older_tokens = 0, older_id = 0, older_death_us = 0, newer_tokens = 0, newer_id = 0, newer_death_us = 0, demand = 0,
  }
end
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
local function token_bucket_ceiling(b, policy)
  return math.max(0, (policy.burst - b.older_tokens - b.newer_tokens) * policy.units_per_token)
end
local function refill_token_bucket(b, policy, at_us)
  b.level, b.time_us = refilled(b.level, b.time_us, at_us, token_bucket_ceiling(b, policy), policy.units_per_tick,
    policy.tick_us)
end
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
local function window_start_us(policy, now_us)
  if policy.aligned then return now_us - now_us % policy.period_us end
  return now_us
end
local function open_fixed_window(policy, now_us)
  return { start_us = window_start_us(policy, now_us), used = 0 }
end
local function unpack_fixed_window(value)
  if string.byte(value, 1) ~= 3 or #value ~= 17 then return nil end
  local start_us, used = struct.unpack('<dd', value, 2)
  local sum = start_us + used
  if sum - sum ~= 0 or used < 0 then return nil end
  return { start_us = start_us, used = used }
end
local function advance_fixed_window(b, policy, now_us)
  if b.start_us > now_us then b.start_us = window_start_us(policy, now_us) end
  if now_us - b.start_us >= policy.period_us then
    b.start_us = window_start_us(policy, now_us)
    b.used = 0
  end
end
local function open_bucket(policy, now_us)
  if policy.kind == 't' then return open_token_bucket(policy, now_us) end
  return open_fixed_window(policy, now_us)
end
local function read_bucket(key, value, policy, now_us)
  local b
  if not value then
    if redis.call('EXISTS', key) == 1 then return { fault = 1 } end
    b = open_bucket(policy, now_us)
  elseif policy.kind == 't' then
    b = unpack_token_bucket(value)
  else
    b = unpack_fixed_window(value)
  end
  if not b then return { fault = 2 } end
  if policy.kind == 't' then
    b.quiet_us = math.max(0, now_us - b.time_us)
    advance_token_bucket(b, policy, now_us)
  else
    advance_fixed_window(b, policy, now_us)
  end
  return b
end
local function reply_bucket(reply, b, policy, lease)
  local n = #reply
  if b.fault then
    reply[n + 1], reply[n + 2], reply[n + 3] = -1, b.fault, 0
  elseif policy.kind == 'f' then
    reply[n + 1], reply[n + 2], reply[n + 3] = 0, b.used, b.start_us
  elseif not lease and b.older_tokens == 0 and b.newer_tokens == 0 then
    reply[n + 1], reply[n + 2], reply[n + 3] = 0, b.level, b.time_us
  else
    reply[n + 1], reply[n + 2], reply[n + 3] = 1, b.level, b.time_us
    reply[n + 4], reply[n + 5], reply[n + 6], reply[n + 7] =
      b.older_tokens, b.older_death_us, b.newer_tokens, b.newer_death_us
    if lease then
      reply[n + 8], reply[n + 9], reply[n + 10] = lease.id, lease.tokens, lease.contended
    else
      reply[n + 8], reply[n + 9], reply[n + 10] = 0, 0, 0
    end
  end
end
local function pack_token_bucket(b)
  if b.older_tokens == 0 and b.newer_tokens == 0 and b.demand == 0 and b.newer_id == 0 then
    return struct.pack('<Bdddd', 1, b.level, b.time_us, b.scale, b.full_us)
  end
  return struct.pack('<Bddddddddddd', 2, b.level, b.time_us, b.scale, b.full_us, b.older_tokens, b.older_id,
    b.older_death_us, b.newer_tokens, b.newer_id, b.newer_death_us, b.demand)
end
local function token_bucket_expiry_ms(b, policy, now_us)
  local escrow_us = 0
  if b.older_tokens > 0 then escrow_us = math.max(escrow_us, b.older_death_us - now_us) end
  if b.newer_tokens > 0 then escrow_us = math.max(escrow_us, b.newer_death_us - now_us) end
  return expiry_ms(b.full_us, b.level, policy.units_per_tick, policy.tick_us, escrow_us)
end
local function pack_fixed_window(b)
  return struct.pack('<Bdd', 3, b.start_us, b.used)
end
local function write_bucket(key, b, policy, now_us)
  if b.fault then return end
  if policy.kind == 't' then
    redis.call('SET', key, pack_token_bucket(b), 'PX', token_bucket_expiry_ms(b, policy, now_us))
  else
    redis.call('SET', key, pack_fixed_window(b), 'PX', math.ceil((b.start_us + policy.period_us - now_us) / 1000) + 1)
  end
end
local function adjust_token_bucket(b, policy, tokens)
  local moved = b.level + tokens * policy.units_per_token
  if tokens > 0 then
    b.level = math.max(b.level, math.min(moved, token_bucket_ceiling(b, policy)))
  else
    b.level = math.max(moved, -policy.burst * policy.units_per_token)
  end
end
local function adjust_fixed_window(b, policy, tokens)
  if tokens > 0 then
    b.used = math.max(0, b.used - tokens)
  else
    b.used = math.max(b.used, math.min(b.used - tokens, 2 * policy.limit))
  end
end
local now_us = server_time_us()
local policies, slot = read_policies()
local values = redis.call('MGET', unpack(KEYS))
local reply = { now_us }
for i = 1, #KEYS do
  local policy, tokens = policies[tonumber(ARGV[slot])], tonumber(ARGV[slot + 1])
  slot = slot + 2
  local b = read_bucket(KEYS[i], values[i], policy, now_us)
  if not b.fault then
    if policy.kind == 't' then
      adjust_token_bucket(b, policy, tokens)
    else
      adjust_fixed_window(b, policy, tokens)
    end
  end
  write_bucket(KEYS[i], b, policy, now_us)
  reply_bucket(reply, b, policy, nil)
end
return reply
`,
};

/** lua/peek.lua: Reads buckets as they stand now. */
export const peek: GeneratedScript<{ readonly head: 1; readonly bucket: 3; readonly lease: 7 }> = {
  name: "peek",
  sha1: "9bb039233a99ba4d2b617296f2c0ac9882ad213d",
  arity: { head: 1, bucket: 3, lease: 7 },
  text: `-- spillway: peek
local function server_time_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local LARGEST_EXACT = 9007199254740991
local function refilled(level, time_us, at_us, ceiling, units_per_tick, tick_us)
  local ticks = math.floor((at_us - time_us) / tick_us)
  level = level + units_per_tick * ticks
  if level >= ceiling then return ceiling, at_us end
  return level, time_us + ticks * tick_us
end
local function rescaled(level, from, to)
  local tokens = math.floor(level / from)
  local rest = (level - tokens * from) * to
  local scaled = math.floor(rest / from)
  if rest > LARGEST_EXACT then scaled = scaled - 1 end
  return tokens * to + math.max(0, scaled)
end
local function time_to_full_us(burst, units_per_token, units_per_tick, tick_us)
  return math.ceil(burst * units_per_token / units_per_tick) * tick_us
end
local function read_policies()
  local policies = {}
  local slot = 2
  for i = 1, tonumber(ARGV[1]) do
    local kind = ARGV[slot]
    local a, b, c, d = tonumber(ARGV[slot + 1]), tonumber(ARGV[slot + 2]), tonumber(ARGV[slot + 3]),
      tonumber(ARGV[slot + 4])
    if kind == 't' then
      policies[i] = { kind = kind, units_per_token = a, units_per_tick = b, tick_us = c, burst = d }
    elseif kind == 'f' then
      policies[i] = { kind = kind, limit = a, period_us = b, aligned = c == 1 }
    else
      error('unknown kind of policy')
    end
    slot = slot + 5
  end
  return policies, slot
end
local function open_token_bucket(policy, now_us)
  return {
    level = policy.burst * policy.units_per_token, time_us = now_us, scale = policy.units_per_token, full_us = 0,
    older_tokens = 0, older_id = 0, older_death_us = 0, newer_tokens = 0, newer_id = 0, newer_death_us = 0, demand = 0,
  }
end
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
local function token_bucket_ceiling(b, policy)
  return math.max(0, (policy.burst - b.older_tokens - b.newer_tokens) * policy.units_per_token)
end
local function refill_token_bucket(b, policy, at_us)
  b.level, b.time_us = refilled(b.level, b.time_us, at_us, token_bucket_ceiling(b, policy), policy.units_per_tick,
    policy.tick_us)
end
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
local function window_start_us(policy, now_us)
  if policy.aligned then return now_us - now_us % policy.period_us end
  return now_us
end
local function open_fixed_window(policy, now_us)
  return { start_us = window_start_us(policy, now_us), used = 0 }
end
local function unpack_fixed_window(value)
  if string.byte(value, 1) ~= 3 or #value ~= 17 then return nil end
  local start_us, used = struct.unpack('<dd', value, 2)
  local sum = start_us + used
  if sum - sum ~= 0 or used < 0 then return nil end
  return { start_us = start_us, used = used }
end
local function advance_fixed_window(b, policy, now_us)
  if b.start_us > now_us then b.start_us = window_start_us(policy, now_us) end
  if now_us - b.start_us >= policy.period_us then
    b.start_us = window_start_us(policy, now_us)
    b.used = 0
  end
end
local function open_bucket(policy, now_us)
  if policy.kind == 't' then return open_token_bucket(policy, now_us) end
  return open_fixed_window(policy, now_us)
end
local function read_bucket(key, value, policy, now_us)
  local b
  if not value then
    if redis.call('EXISTS', key) == 1 then return { fault = 1 } end
    b = open_bucket(policy, now_us)
  elseif policy.kind == 't' then
    b = unpack_token_bucket(value)
  else
    b = unpack_fixed_window(value)
  end
  if not b then return { fault = 2 } end
  if policy.kind == 't' then
    b.quiet_us = math.max(0, now_us - b.time_us)
    advance_token_bucket(b, policy, now_us)
  else
    advance_fixed_window(b, policy, now_us)
  end
  return b
end
local function reply_bucket(reply, b, policy, lease)
  local n = #reply
  if b.fault then
    reply[n + 1], reply[n + 2], reply[n + 3] = -1, b.fault, 0
  elseif policy.kind == 'f' then
    reply[n + 1], reply[n + 2], reply[n + 3] = 0, b.used, b.start_us
  elseif not lease and b.older_tokens == 0 and b.newer_tokens == 0 then
    reply[n + 1], reply[n + 2], reply[n + 3] = 0, b.level, b.time_us
  else
    reply[n + 1], reply[n + 2], reply[n + 3] = 1, b.level, b.time_us
    reply[n + 4], reply[n + 5], reply[n + 6], reply[n + 7] =
      b.older_tokens, b.older_death_us, b.newer_tokens, b.newer_death_us
    if lease then
      reply[n + 8], reply[n + 9], reply[n + 10] = lease.id, lease.tokens, lease.contended
    else
      reply[n + 8], reply[n + 9], reply[n + 10] = 0, 0, 0
    end
  end
end
local now_us = server_time_us()
local policies, slot = read_policies()
local values = redis.call('MGET', unpack(KEYS))
local reply = { now_us }
for i = 1, #KEYS do
  local policy = policies[tonumber(ARGV[slot + i - 1])]
  reply_bucket(reply, read_bucket(KEYS[i], values[i], policy, now_us), policy, nil)
end
return reply
`,
};

/** lua/reset.lua: Makes buckets as if unused, but for tokens out on lease, which still count until they are settled or die. A bucket that cannot be read is replaced. */
export const reset: GeneratedScript<{ readonly head: 1; readonly bucket: 3; readonly lease: 7 }> = {
  name: "reset",
  sha1: "0d912f5f2c2d6098cef8cc7268955403ef231b93",
  arity: { head: 1, bucket: 3, lease: 7 },
  text: `-- spillway: reset
local function server_time_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local LARGEST_EXACT = 9007199254740991
local function refilled(level, time_us, at_us, ceiling, units_per_tick, tick_us)
  local ticks = math.floor((at_us - time_us) / tick_us)
  level = level + units_per_tick * ticks
  if level >= ceiling then return ceiling, at_us end
  return level, time_us + ticks * tick_us
end
local function rescaled(level, from, to)
  local tokens = math.floor(level / from)
  local rest = (level - tokens * from) * to
  local scaled = math.floor(rest / from)
  if rest > LARGEST_EXACT then scaled = scaled - 1 end
  return tokens * to + math.max(0, scaled)
end
local function time_to_full_us(burst, units_per_token, units_per_tick, tick_us)
  return math.ceil(burst * units_per_token / units_per_tick) * tick_us
end
local function expiry_ms(full_us, level, units_per_tick, tick_us, escrow_us)
  local debt_us = math.ceil(math.max(0, -level) / units_per_tick) * tick_us
  return math.min(math.ceil((full_us + debt_us + escrow_us) / 1000) + 1, 3153600000000)
end
local function read_policies()
  local policies = {}
  local slot = 2
  for i = 1, tonumber(ARGV[1]) do
    local kind = ARGV[slot]
    local a, b, c, d = tonumber(ARGV[slot + 1]), tonumber(ARGV[slot + 2]), tonumber(ARGV[slot + 3]),
      tonumber(ARGV[slot + 4])
    if kind == 't' then
      policies[i] = { kind = kind, units_per_token = a, units_per_tick = b, tick_us = c, burst = d }
    elseif kind == 'f' then
      policies[i] = { kind = kind, limit = a, period_us = b, aligned = c == 1 }
    else
      error('unknown kind of policy')
    end
    slot = slot + 5
  end
  return policies, slot
end
local function open_token_bucket(policy, now_us)
  return {
    level = policy.burst * policy.units_per_token, time_us = now_us, scale = policy.units_per_token, full_us = 0,
    older_tokens = 0, older_id = 0, older_death_us = 0, newer_tokens = 0, newer_id = 0, newer_death_us = 0, demand = 0,
  }
end
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
local function token_bucket_ceiling(b, policy)
  return math.max(0, (policy.burst - b.older_tokens - b.newer_tokens) * policy.units_per_token)
end
local function refill_token_bucket(b, policy, at_us)
  b.level, b.time_us = refilled(b.level, b.time_us, at_us, token_bucket_ceiling(b, policy), policy.units_per_tick,
    policy.tick_us)
end
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
local function window_start_us(policy, now_us)
  if policy.aligned then return now_us - now_us % policy.period_us end
  return now_us
end
local function open_fixed_window(policy, now_us)
  return { start_us = window_start_us(policy, now_us), used = 0 }
end
local function unpack_fixed_window(value)
  if string.byte(value, 1) ~= 3 or #value ~= 17 then return nil end
  local start_us, used = struct.unpack('<dd', value, 2)
  local sum = start_us + used
  if sum - sum ~= 0 or used < 0 then return nil end
  return { start_us = start_us, used = used }
end
local function advance_fixed_window(b, policy, now_us)
  if b.start_us > now_us then b.start_us = window_start_us(policy, now_us) end
  if now_us - b.start_us >= policy.period_us then
    b.start_us = window_start_us(policy, now_us)
    b.used = 0
  end
end
local function open_bucket(policy, now_us)
  if policy.kind == 't' then return open_token_bucket(policy, now_us) end
  return open_fixed_window(policy, now_us)
end
local function read_bucket(key, value, policy, now_us)
  local b
  if not value then
    if redis.call('EXISTS', key) == 1 then return { fault = 1 } end
    b = open_bucket(policy, now_us)
  elseif policy.kind == 't' then
    b = unpack_token_bucket(value)
  else
    b = unpack_fixed_window(value)
  end
  if not b then return { fault = 2 } end
  if policy.kind == 't' then
    b.quiet_us = math.max(0, now_us - b.time_us)
    advance_token_bucket(b, policy, now_us)
  else
    advance_fixed_window(b, policy, now_us)
  end
  return b
end
local function reply_bucket(reply, b, policy, lease)
  local n = #reply
  if b.fault then
    reply[n + 1], reply[n + 2], reply[n + 3] = -1, b.fault, 0
  elseif policy.kind == 'f' then
    reply[n + 1], reply[n + 2], reply[n + 3] = 0, b.used, b.start_us
  elseif not lease and b.older_tokens == 0 and b.newer_tokens == 0 then
    reply[n + 1], reply[n + 2], reply[n + 3] = 0, b.level, b.time_us
  else
    reply[n + 1], reply[n + 2], reply[n + 3] = 1, b.level, b.time_us
    reply[n + 4], reply[n + 5], reply[n + 6], reply[n + 7] =
      b.older_tokens, b.older_death_us, b.newer_tokens, b.newer_death_us
    if lease then
      reply[n + 8], reply[n + 9], reply[n + 10] = lease.id, lease.tokens, lease.contended
    else
      reply[n + 8], reply[n + 9], reply[n + 10] = 0, 0, 0
    end
  end
end
local function pack_token_bucket(b)
  if b.older_tokens == 0 and b.newer_tokens == 0 and b.demand == 0 and b.newer_id == 0 then
    return struct.pack('<Bdddd', 1, b.level, b.time_us, b.scale, b.full_us)
  end
  return struct.pack('<Bddddddddddd', 2, b.level, b.time_us, b.scale, b.full_us, b.older_tokens, b.older_id,
    b.older_death_us, b.newer_tokens, b.newer_id, b.newer_death_us, b.demand)
end
local function token_bucket_expiry_ms(b, policy, now_us)
  local escrow_us = 0
  if b.older_tokens > 0 then escrow_us = math.max(escrow_us, b.older_death_us - now_us) end
  if b.newer_tokens > 0 then escrow_us = math.max(escrow_us, b.newer_death_us - now_us) end
  return expiry_ms(b.full_us, b.level, policy.units_per_tick, policy.tick_us, escrow_us)
end
local function pack_fixed_window(b)
  return struct.pack('<Bdd', 3, b.start_us, b.used)
end
local function write_bucket(key, b, policy, now_us)
  if b.fault then return end
  if policy.kind == 't' then
    redis.call('SET', key, pack_token_bucket(b), 'PX', token_bucket_expiry_ms(b, policy, now_us))
  else
    redis.call('SET', key, pack_fixed_window(b), 'PX', math.ceil((b.start_us + policy.period_us - now_us) / 1000) + 1)
  end
end
local now_us = server_time_us()
local policies, slot = read_policies()
local values = redis.call('MGET', unpack(KEYS))
local reply = { now_us }
for i = 1, #KEYS do
  local policy = policies[tonumber(ARGV[slot + i - 1])]
  local b = read_bucket(KEYS[i], values[i], policy, now_us)
  if b.fault then
    b = open_bucket(policy, now_us)
    if policy.kind == 't' then advance_token_bucket(b, policy, now_us) end
  elseif policy.kind == 't' then
    b.level = token_bucket_ceiling(b, policy)
  else
    b.used = 0
  end
  write_bucket(KEYS[i], b, policy, now_us)
  reply_bucket(reply, b, policy, nil)
end
return reply
`,
};

/** lua/take.lua: Takes tokens: settles what lease holders report, serves asks in order, each on all its buckets or on none, and leases what is wished for, in one atomic step on the server's clock. A refused ask takes nothing. */
export const take: GeneratedScript<{ readonly head: 1; readonly bucket: 3; readonly lease: 7; readonly run: 1 }> = {
  name: "take",
  sha1: "5a6aa610084a25869ae2af774c0670a5c3c2f14b",
  arity: { head: 1, bucket: 3, lease: 7, run: 1 },
  text: `-- spillway: take
local function server_time_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local LARGEST_EXACT = 9007199254740991
local function refilled(level, time_us, at_us, ceiling, units_per_tick, tick_us)
  local ticks = math.floor((at_us - time_us) / tick_us)
  level = level + units_per_tick * ticks
  if level >= ceiling then return ceiling, at_us end
  return level, time_us + ticks * tick_us
end
local function rescaled(level, from, to)
  local tokens = math.floor(level / from)
  local rest = (level - tokens * from) * to
  local scaled = math.floor(rest / from)
  if rest > LARGEST_EXACT then scaled = scaled - 1 end
  return tokens * to + math.max(0, scaled)
end
local function time_to_full_us(burst, units_per_token, units_per_tick, tick_us)
  return math.ceil(burst * units_per_token / units_per_tick) * tick_us
end
local function expiry_ms(full_us, level, units_per_tick, tick_us, escrow_us)
  local debt_us = math.ceil(math.max(0, -level) / units_per_tick) * tick_us
  return math.min(math.ceil((full_us + debt_us + escrow_us) / 1000) + 1, 3153600000000)
end
local call_us = server_time_us()
if #ARGV == 11 and #KEYS == 1 and ARGV[2] == 't' then
  local value = redis.pcall('GET', KEYS[1])
  if not value or (type(value) == 'string' and #value == 33 and string.byte(value) == 1) then
    local units_per_token, units_per_tick, tick_us = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
    local capacity = ARGV[6] * units_per_token
    local full_us = time_to_full_us(ARGV[6], units_per_token, units_per_tick, tick_us)
    local level, time_us = capacity, call_us
    local readable = true
    if value then
      local scale, longest_us
      level, time_us, scale, longest_us = struct.unpack('<dddd', value, 2)
      local sum = level + time_us + scale + longest_us
      readable = sum - sum == 0 and scale >= 1
      if readable then
        if scale ~= units_per_token then level = rescaled(level, scale, units_per_token) end
        if longest_us > full_us then full_us = longest_us end
        if call_us < time_us then time_us = call_us end
        level, time_us = refilled(level, time_us, call_us, capacity, units_per_tick, tick_us)
        if level < -capacity then level = -capacity end
      end
    end
    if readable then
      local count, cost_units = tonumber(ARGV[8]), ARGV[11] * units_per_token
      local served = count
      if cost_units > 0 then
        served = math.min(count, math.max(0, math.floor(level / cost_units)))
        level = level - served * cost_units
      end
      redis.call('SET', KEYS[1], struct.pack('<Bdddd', 1, level, time_us, units_per_token, full_us), 'PX',
        expiry_ms(full_us, level, units_per_tick, tick_us, 0))
      return { call_us, 0, level, time_us, served }
    end
  end
end
local function read_policies()
  local policies = {}
  local slot = 2
  for i = 1, tonumber(ARGV[1]) do
    local kind = ARGV[slot]
    local a, b, c, d = tonumber(ARGV[slot + 1]), tonumber(ARGV[slot + 2]), tonumber(ARGV[slot + 3]),
      tonumber(ARGV[slot + 4])
    if kind == 't' then
      policies[i] = { kind = kind, units_per_token = a, units_per_tick = b, tick_us = c, burst = d }
    elseif kind == 'f' then
      policies[i] = { kind = kind, limit = a, period_us = b, aligned = c == 1 }
    else
      error('unknown kind of policy')
    end
    slot = slot + 5
  end
  return policies, slot
end
local function open_token_bucket(policy, now_us)
  return {
    level = policy.burst * policy.units_per_token, time_us = now_us, scale = policy.units_per_token, full_us = 0,
    older_tokens = 0, older_id = 0, older_death_us = 0, newer_tokens = 0, newer_id = 0, newer_death_us = 0, demand = 0,
  }
end
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
local function token_bucket_ceiling(b, policy)
  return math.max(0, (policy.burst - b.older_tokens - b.newer_tokens) * policy.units_per_token)
end
local function refill_token_bucket(b, policy, at_us)
  b.level, b.time_us = refilled(b.level, b.time_us, at_us, token_bucket_ceiling(b, policy), policy.units_per_tick,
    policy.tick_us)
end
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
local function window_start_us(policy, now_us)
  if policy.aligned then return now_us - now_us % policy.period_us end
  return now_us
end
local function open_fixed_window(policy, now_us)
  return { start_us = window_start_us(policy, now_us), used = 0 }
end
local function unpack_fixed_window(value)
  if string.byte(value, 1) ~= 3 or #value ~= 17 then return nil end
  local start_us, used = struct.unpack('<dd', value, 2)
  local sum = start_us + used
  if sum - sum ~= 0 or used < 0 then return nil end
  return { start_us = start_us, used = used }
end
local function advance_fixed_window(b, policy, now_us)
  if b.start_us > now_us then b.start_us = window_start_us(policy, now_us) end
  if now_us - b.start_us >= policy.period_us then
    b.start_us = window_start_us(policy, now_us)
    b.used = 0
  end
end
local function open_bucket(policy, now_us)
  if policy.kind == 't' then return open_token_bucket(policy, now_us) end
  return open_fixed_window(policy, now_us)
end
local function read_bucket(key, value, policy, now_us)
  local b
  if not value then
    if redis.call('EXISTS', key) == 1 then return { fault = 1 } end
    b = open_bucket(policy, now_us)
  elseif policy.kind == 't' then
    b = unpack_token_bucket(value)
  else
    b = unpack_fixed_window(value)
  end
  if not b then return { fault = 2 } end
  if policy.kind == 't' then
    b.quiet_us = math.max(0, now_us - b.time_us)
    advance_token_bucket(b, policy, now_us)
  else
    advance_fixed_window(b, policy, now_us)
  end
  return b
end
local function reply_bucket(reply, b, policy, lease)
  local n = #reply
  if b.fault then
    reply[n + 1], reply[n + 2], reply[n + 3] = -1, b.fault, 0
  elseif policy.kind == 'f' then
    reply[n + 1], reply[n + 2], reply[n + 3] = 0, b.used, b.start_us
  elseif not lease and b.older_tokens == 0 and b.newer_tokens == 0 then
    reply[n + 1], reply[n + 2], reply[n + 3] = 0, b.level, b.time_us
  else
    reply[n + 1], reply[n + 2], reply[n + 3] = 1, b.level, b.time_us
    reply[n + 4], reply[n + 5], reply[n + 6], reply[n + 7] =
      b.older_tokens, b.older_death_us, b.newer_tokens, b.newer_death_us
    if lease then
      reply[n + 8], reply[n + 9], reply[n + 10] = lease.id, lease.tokens, lease.contended
    else
      reply[n + 8], reply[n + 9], reply[n + 10] = 0, 0, 0
    end
  end
end
local function pack_token_bucket(b)
  if b.older_tokens == 0 and b.newer_tokens == 0 and b.demand == 0 and b.newer_id == 0 then
    return struct.pack('<Bdddd', 1, b.level, b.time_us, b.scale, b.full_us)
  end
  return struct.pack('<Bddddddddddd', 2, b.level, b.time_us, b.scale, b.full_us, b.older_tokens, b.older_id,
    b.older_death_us, b.newer_tokens, b.newer_id, b.newer_death_us, b.demand)
end
local function token_bucket_expiry_ms(b, policy, now_us)
  local escrow_us = 0
  if b.older_tokens > 0 then escrow_us = math.max(escrow_us, b.older_death_us - now_us) end
  if b.newer_tokens > 0 then escrow_us = math.max(escrow_us, b.newer_death_us - now_us) end
  return expiry_ms(b.full_us, b.level, policy.units_per_tick, policy.tick_us, escrow_us)
end
local function pack_fixed_window(b)
  return struct.pack('<Bdd', 3, b.start_us, b.used)
end
local function write_bucket(key, b, policy, now_us)
  if b.fault then return end
  if policy.kind == 't' then
    redis.call('SET', key, pack_token_bucket(b), 'PX', token_bucket_expiry_ms(b, policy, now_us))
  else
    redis.call('SET', key, pack_fixed_window(b), 'PX', math.ceil((b.start_us + policy.period_us - now_us) / 1000) + 1)
  end
end
local function bucket_fits(b, policy, cost)
  if cost == 0 then return true end
  if policy.kind == 't' then return cost * policy.units_per_token <= b.level end
  return b.used + cost <= policy.limit
end
local function charge_bucket(b, policy, cost)
  if policy.kind == 't' then
    b.level = b.level - cost * policy.units_per_token
  else
    b.used = b.used + cost
  end
end
local function settle_escrow(b, policy, which, settled, returned)
  local held = b[which]
  local closed = math.min(settled, held)
  b[which] = held - closed
  b.level = math.min(b.level + math.min(returned, closed) * policy.units_per_token, token_bucket_ceiling(b, policy))
end
local function settle_lease(b, policy, id, settled, returned)
  if b.older_id == id and b.older_tokens > 0 then
    settle_escrow(b, policy, 'older_tokens', settled, returned)
  elseif b.newer_id == id and b.newer_tokens > 0 then
    settle_escrow(b, policy, 'newer_tokens', settled, returned)
  end
end
local function take_report(b, policy, report)
  local step = report.life_us / (report.life_us + b.quiet_us / 4)
  b.demand = b.demand * step * step * step * step + report.demand
  for i = 1, #report.settlements, 3 do
    settle_lease(b, policy, report.settlements[i], report.settlements[i + 1], report.settlements[i + 2])
  end
end
local function budget_of(b, policy, report)
  if not report or b.fault or policy.kind ~= 't' then
    return { left = math.huge, contended = 0, share = 0, refused = false }
  end
  local level = b.level / policy.units_per_token
  local share = 1
  if b.demand > 0 then share = math.min(1, report.weight / b.demand) end
  local per_us = policy.units_per_tick / (policy.units_per_token * policy.tick_us)
  local hold_us = math.min(report.life_us / 4, policy.burst / (4 * per_us))
  local threshold = math.min(policy.burst / 2, 2 * per_us * hold_us + 2)
  if b.demand > 0.9 * per_us * report.life_us and level < threshold then
    return { left = math.floor(math.min(1, 2 * share) * level), contended = 1, share = share, refused = false }
  end
  return { left = level, contended = 0, share = share, refused = false }
end
local function grant_lease(b, policy, tokens, life_us, now_us)
  if b.older_tokens == 0 or b.newer_tokens == 0 then
    local last_id = math.max(b.older_id, b.newer_id)
    if b.newer_tokens > 0 then
      b.older_tokens, b.older_id, b.older_death_us = b.newer_tokens, b.newer_id, b.newer_death_us
    end
    b.newer_tokens, b.newer_id, b.newer_death_us = 0, math.max(now_us, last_id + 1), 0
  end
  local older_death_us = 0
  if b.older_tokens > 0 then older_death_us = b.older_death_us end
  b.newer_death_us = math.max(b.newer_death_us, older_death_us, now_us + life_us)
  b.newer_tokens = b.newer_tokens + tokens
  b.level = b.level - tokens * policy.units_per_token
  return b.newer_id
end
local function lease_out(b, policy, report, budget, now_us)
  if not report or b.fault or policy.kind ~= 't' then return nil end
  local level = b.level / policy.units_per_token
  local most = budget.share * level / 2
  if budget.contended == 1 then most = math.min(budget.left, level) end
  local tokens = math.max(0, math.min(report.wish, math.floor(most)))
  if budget.refused then tokens = 0 end
  local id = 0
  if tokens > 0 then id = grant_lease(b, policy, tokens, report.life_us, now_us) end
  return { id = id, tokens = tokens, contended = budget.contended }
end
local policies, slot = read_policies()
local bucket_policy, reports, buckets, budgets = {}, {}, {}, {}
local values = redis.call('MGET', unpack(KEYS))
for i = 1, #KEYS do
  local number = tonumber(ARGV[slot])
  slot = slot + 1
  local policy = policies[math.abs(number)]
  local b = read_bucket(KEYS[i], values[i], policy, call_us)
  if number < 0 then
    local report = {
      wish = tonumber(ARGV[slot]), life_us = tonumber(ARGV[slot + 1]), demand = tonumber(ARGV[slot + 2]),
      weight = tonumber(ARGV[slot + 3]), settlements = {},
    }
    local last = slot + 4 + 3 * ARGV[slot + 4]
    for s = slot + 5, last do report.settlements[#report.settlements + 1] = tonumber(ARGV[s]) end
    slot = last + 1
    if policy.kind == 't' and not b.fault then take_report(b, policy, report) end
    reports[i] = report
  end
  bucket_policy[i], buckets[i], budgets[i] = policy, b, budget_of(b, policy, reports[i])
end
local served, run = {}, 0
while slot <= #ARGV do
  run = run + 1
  local count, charges = tonumber(ARGV[slot]), tonumber(ARGV[slot + 1])
  local first_charge, last_charge = slot + 2, slot + 2 * charges
  slot = last_charge + 2
  local done = 0
  while done < count do
    local fits = true
    for c = first_charge, last_charge, 2 do
      local i, cost = tonumber(ARGV[c]), tonumber(ARGV[c + 1])
      local b, within = buckets[i], cost == 0 or (run == 1 and done == 0) or cost <= budgets[i].left
      if b.fault or not within or not bucket_fits(b, bucket_policy[i], cost) then fits = false end
    end
    for c = first_charge, last_charge, 2 do
      local i, cost = tonumber(ARGV[c]), tonumber(ARGV[c + 1])
      if fits then
        charge_bucket(buckets[i], bucket_policy[i], cost)
        budgets[i].left = budgets[i].left - cost
      else
        budgets[i].refused = true
      end
    end
    if not fits then break end
    done = done + 1
  end
  served[run] = done
end
local reply = { call_us }
for i = 1, #KEYS do
  local b, policy = buckets[i], bucket_policy[i]
  local lease = lease_out(b, policy, reports[i], budgets[i], call_us)
  write_bucket(KEYS[i], b, policy, call_us)
  reply_bucket(reply, b, policy, lease)
end
for i = 1, run do reply[#reply + 1] = served[i] end
return reply
`,
};
