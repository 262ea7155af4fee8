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
  sha1: "87c1a9574f41b7023f4de34fb6ba11b5c66418c2",
  arity: { head: 1, bucket: 3, lease: 7 },
  text: `-- spillway: adjust
local function server_time_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local floor, ceil, max = math.floor, math.ceil, math.max
local LARGEST, FINITE = 9007199254740992, 1e300
local function refilled(level, time_us, at_us, ceiling, units_per_tick, tick_us)
  local ticks = floor((at_us - time_us) / tick_us)
  level = level + units_per_tick * ticks
  if level >= ceiling then return ceiling, at_us end
  return level, time_us + ticks * tick_us
end
local function rescaled(level, from, to)
  local tokens = floor(level / from)
  local rest = (level - tokens * from) * to
  local scaled = floor(rest / from)
  if rest > 9007199254740991 then scaled = max(0, scaled - 1) end
  return tokens * to + scaled
end
local min = math.min
local function token_bucket_expiry_ms(full_us, level, escrow_us)
  local us = full_us + escrow_us
  if level < 0 then us = us + full_us end
  return min(ceil(us / 1000) + 1, 3153600000000)
end
local function read_policies(argv)
  local policies = {}
  for i = 1, argv[1] + 0 do
    local slot = 5 * i - 3
    policies[i] = { argv[slot], argv[slot + 1] + 0, argv[slot + 2] + 0, argv[slot + 3] + 0, argv[slot + 4] + 0 }
  end
  return policies, 2 + 5 * #policies
end
local function fault_of(value)
  if value then return 2 end
  return 1
end
local function is_foreign(key, value)
  return not value and redis.call('EXISTS', key) == 1
end
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
local function write_token_bucket(key, now_us, units_per_token, level, time_us, full_us, older, older_id,
  older_death_us, newer, newer_id, newer_death_us, demand)
  local value
  if newer_id == 0 and demand == 0 then
    value = struct.pack('<Bdddd', 1, level, time_us, units_per_token, full_us)
  else
    value = struct.pack('<Bddddddddddd', 2, level, time_us, units_per_token, full_us, older, older_id, older_death_us,
      newer, newer_id, newer_death_us, demand)
  end
  local escrow_us = 0
  if older > 0 then escrow_us = older_death_us - now_us end
  if newer > 0 and newer_death_us - now_us > escrow_us then escrow_us = newer_death_us - now_us end
  redis.call('SET', key, value, 'PX', token_bucket_expiry_ms(full_us, level, escrow_us))
end
local function read_fixed_window(value, now_us, period_us, aligned)
  local start_us = now_us
  if aligned == 1 then start_us = now_us - now_us % period_us end
  if not value then return start_us, 0 end
  if string.byte(value) ~= 3 or #value ~= 17 then return nil end
  local stored_us, used = struct.unpack('<dd', value, 2)
  if not (stored_us >= 0 and stored_us <= LARGEST and used >= 0 and used <= LARGEST) then return nil end
  if stored_us > now_us then return start_us, used end
  if now_us - stored_us >= period_us then return start_us, 0 end
  return stored_us, used
end
local function write_fixed_window(key, now_us, period_us, start_us, used)
  redis.call('SET', key, struct.pack('<Bdd', 3, start_us, used), 'PX', ceil((start_us + period_us - now_us) / 1000) + 1)
end
local function reply_token_bucket(reply, n, level, time_us, older, older_death_us, newer, newer_death_us)
  reply[n + 1], reply[n + 2], reply[n + 3] = 0, level, time_us
  if older == 0 and newer == 0 then return n + 3 end
  reply[n + 1], reply[n + 4], reply[n + 5], reply[n + 6], reply[n + 7] = 1, older, older_death_us, newer, newer_death_us
  reply[n + 8], reply[n + 9], reply[n + 10] = 0, 0, 0
  return n + 10
end
local function reply_slots(reply, n, flag, a, b)
  reply[n + 1], reply[n + 2], reply[n + 3] = flag, a, b
  return n + 3
end
local now_us = server_time_us()
local policies, slot = read_policies(ARGV)
local values = redis.call('MGET', unpack(KEYS))
local reply, n = { now_us }, 1
for i = 1, #KEYS do
  local policy, tokens = policies[ARGV[slot] + 0], ARGV[slot + 1] + 0
  slot = slot + 2
  if is_foreign(KEYS[i], values[i]) then
    n = reply_slots(reply, n, -1, fault_of(values[i]), 0)
  elseif policy[1] == 'f' then
    local start_us, used = read_fixed_window(values[i], now_us, policy[3], policy[4])
    if start_us then
      if tokens > 0 then
        used = math.max(0, used - tokens)
      else
        used = math.max(used, math.min(used - tokens, 2 * policy[2]))
      end
      write_fixed_window(KEYS[i], now_us, policy[3], start_us, used)
      n = reply_slots(reply, n, 0, used, start_us)
    else
      n = reply_slots(reply, n, -1, fault_of(values[i]), 0)
    end
  else
    local level, time_us, full_us, older, older_id, older_death_us, newer, newer_id, newer_death_us, demand =
      read_token_bucket(values[i], now_us, policy[2], policy[3], policy[4], policy[5])
    if level then
      local moved = level + tokens * policy[2]
      if tokens > 0 then
        level = math.max(level, math.min(moved, math.max(0, (policy[5] - older - newer) * policy[2])))
      else
        level = math.max(moved, -policy[5] * policy[2])
      end
      write_token_bucket(KEYS[i], now_us, policy[2], level, time_us, full_us, older, older_id, older_death_us, newer,
        newer_id, newer_death_us, demand)
      n = reply_token_bucket(reply, n, level, time_us, older, older_death_us, newer, newer_death_us)
    else
      n = reply_slots(reply, n, -1, fault_of(values[i]), 0)
    end
  end
end
return reply
`,
};

/** lua/count-replicas.lua: Counts the processes at work under one prefix: notes that one is, and forgets those not heard of lately. */
export const countReplicas: GeneratedScript<{ readonly head: 1; readonly count: 1 }> = {
  name: "count-replicas",
  sha1: "12df912526965e28df90fa25cef2d99059cd9aa2",
  arity: { head: 1, count: 1 },
  text: `-- spillway: count-replicas
local function server_time_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local now_us = server_time_us()
local now_ms = math.floor(now_us / 1000)
local life_ms = ARGV[2] + 0
redis.call('ZADD', KEYS[1], now_ms, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now_ms - life_ms)
redis.call('ZREMRANGEBYSCORE', KEYS[1], now_ms + life_ms, '+inf')
redis.call('PEXPIRE', KEYS[1], life_ms)
return { now_us, redis.call('ZCARD', KEYS[1]) }
`,
};

/** lua/peek.lua: Reads buckets as they stand now. */
export const peek: GeneratedScript<{ readonly head: 1; readonly bucket: 3; readonly lease: 7 }> = {
  name: "peek",
  sha1: "a171fed74b4b1736da8dc615e089230c414878d6",
  arity: { head: 1, bucket: 3, lease: 7 },
  text: `-- spillway: peek
local function server_time_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local floor, ceil, max = math.floor, math.ceil, math.max
local LARGEST, FINITE = 9007199254740992, 1e300
local function refilled(level, time_us, at_us, ceiling, units_per_tick, tick_us)
  local ticks = floor((at_us - time_us) / tick_us)
  level = level + units_per_tick * ticks
  if level >= ceiling then return ceiling, at_us end
  return level, time_us + ticks * tick_us
end
local function rescaled(level, from, to)
  local tokens = floor(level / from)
  local rest = (level - tokens * from) * to
  local scaled = floor(rest / from)
  if rest > 9007199254740991 then scaled = max(0, scaled - 1) end
  return tokens * to + scaled
end
local function read_policies(argv)
  local policies = {}
  for i = 1, argv[1] + 0 do
    local slot = 5 * i - 3
    policies[i] = { argv[slot], argv[slot + 1] + 0, argv[slot + 2] + 0, argv[slot + 3] + 0, argv[slot + 4] + 0 }
  end
  return policies, 2 + 5 * #policies
end
local function fault_of(value)
  if value then return 2 end
  return 1
end
local function is_foreign(key, value)
  return not value and redis.call('EXISTS', key) == 1
end
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
local function read_fixed_window(value, now_us, period_us, aligned)
  local start_us = now_us
  if aligned == 1 then start_us = now_us - now_us % period_us end
  if not value then return start_us, 0 end
  if string.byte(value) ~= 3 or #value ~= 17 then return nil end
  local stored_us, used = struct.unpack('<dd', value, 2)
  if not (stored_us >= 0 and stored_us <= LARGEST and used >= 0 and used <= LARGEST) then return nil end
  if stored_us > now_us then return start_us, used end
  if now_us - stored_us >= period_us then return start_us, 0 end
  return stored_us, used
end
local function reply_token_bucket(reply, n, level, time_us, older, older_death_us, newer, newer_death_us)
  reply[n + 1], reply[n + 2], reply[n + 3] = 0, level, time_us
  if older == 0 and newer == 0 then return n + 3 end
  reply[n + 1], reply[n + 4], reply[n + 5], reply[n + 6], reply[n + 7] = 1, older, older_death_us, newer, newer_death_us
  reply[n + 8], reply[n + 9], reply[n + 10] = 0, 0, 0
  return n + 10
end
local function reply_slots(reply, n, flag, a, b)
  reply[n + 1], reply[n + 2], reply[n + 3] = flag, a, b
  return n + 3
end
local now_us = server_time_us()
local policies, slot = read_policies(ARGV)
local values = redis.call('MGET', unpack(KEYS))
local reply, n = { now_us }, 1
for i = 1, #KEYS do
  local policy = policies[ARGV[slot] + 0]
  slot = slot + 1
  if is_foreign(KEYS[i], values[i]) then
    n = reply_slots(reply, n, -1, fault_of(values[i]), 0)
  elseif policy[1] == 'f' then
    local start_us, used = read_fixed_window(values[i], now_us, policy[3], policy[4])
    if start_us then
      n = reply_slots(reply, n, 0, used, start_us)
    else
      n = reply_slots(reply, n, -1, fault_of(values[i]), 0)
    end
  else
    local level, time_us, _, older, _, older_death_us, newer, _, newer_death_us =
      read_token_bucket(values[i], now_us, policy[2], policy[3], policy[4], policy[5])
    if level then
      n = reply_token_bucket(reply, n, level, time_us, older, older_death_us, newer, newer_death_us)
    else
      n = reply_slots(reply, n, -1, fault_of(values[i]), 0)
    end
  end
end
return reply
`,
};

/** lua/reset.lua: Makes buckets as if unused, but for tokens out on lease, which still count until they are settled or die. A bucket that cannot be read is replaced. */
export const reset: GeneratedScript<{ readonly head: 1; readonly bucket: 3; readonly lease: 7 }> = {
  name: "reset",
  sha1: "eb7597d762442af730ac9382c79a100d130e68a4",
  arity: { head: 1, bucket: 3, lease: 7 },
  text: `-- spillway: reset
local function server_time_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local floor, ceil, max = math.floor, math.ceil, math.max
local LARGEST, FINITE = 9007199254740992, 1e300
local function refilled(level, time_us, at_us, ceiling, units_per_tick, tick_us)
  local ticks = floor((at_us - time_us) / tick_us)
  level = level + units_per_tick * ticks
  if level >= ceiling then return ceiling, at_us end
  return level, time_us + ticks * tick_us
end
local function rescaled(level, from, to)
  local tokens = floor(level / from)
  local rest = (level - tokens * from) * to
  local scaled = floor(rest / from)
  if rest > 9007199254740991 then scaled = max(0, scaled - 1) end
  return tokens * to + scaled
end
local min = math.min
local function token_bucket_expiry_ms(full_us, level, escrow_us)
  local us = full_us + escrow_us
  if level < 0 then us = us + full_us end
  return min(ceil(us / 1000) + 1, 3153600000000)
end
local function read_policies(argv)
  local policies = {}
  for i = 1, argv[1] + 0 do
    local slot = 5 * i - 3
    policies[i] = { argv[slot], argv[slot + 1] + 0, argv[slot + 2] + 0, argv[slot + 3] + 0, argv[slot + 4] + 0 }
  end
  return policies, 2 + 5 * #policies
end
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
local function write_token_bucket(key, now_us, units_per_token, level, time_us, full_us, older, older_id,
  older_death_us, newer, newer_id, newer_death_us, demand)
  local value
  if newer_id == 0 and demand == 0 then
    value = struct.pack('<Bdddd', 1, level, time_us, units_per_token, full_us)
  else
    value = struct.pack('<Bddddddddddd', 2, level, time_us, units_per_token, full_us, older, older_id, older_death_us,
      newer, newer_id, newer_death_us, demand)
  end
  local escrow_us = 0
  if older > 0 then escrow_us = older_death_us - now_us end
  if newer > 0 and newer_death_us - now_us > escrow_us then escrow_us = newer_death_us - now_us end
  redis.call('SET', key, value, 'PX', token_bucket_expiry_ms(full_us, level, escrow_us))
end
local function read_fixed_window(value, now_us, period_us, aligned)
  local start_us = now_us
  if aligned == 1 then start_us = now_us - now_us % period_us end
  if not value then return start_us, 0 end
  if string.byte(value) ~= 3 or #value ~= 17 then return nil end
  local stored_us, used = struct.unpack('<dd', value, 2)
  if not (stored_us >= 0 and stored_us <= LARGEST and used >= 0 and used <= LARGEST) then return nil end
  if stored_us > now_us then return start_us, used end
  if now_us - stored_us >= period_us then return start_us, 0 end
  return stored_us, used
end
local function write_fixed_window(key, now_us, period_us, start_us, used)
  redis.call('SET', key, struct.pack('<Bdd', 3, start_us, used), 'PX', ceil((start_us + period_us - now_us) / 1000) + 1)
end
local function reply_token_bucket(reply, n, level, time_us, older, older_death_us, newer, newer_death_us)
  reply[n + 1], reply[n + 2], reply[n + 3] = 0, level, time_us
  if older == 0 and newer == 0 then return n + 3 end
  reply[n + 1], reply[n + 4], reply[n + 5], reply[n + 6], reply[n + 7] = 1, older, older_death_us, newer, newer_death_us
  reply[n + 8], reply[n + 9], reply[n + 10] = 0, 0, 0
  return n + 10
end
local function reply_slots(reply, n, flag, a, b)
  reply[n + 1], reply[n + 2], reply[n + 3] = flag, a, b
  return n + 3
end
local now_us = server_time_us()
local policies, slot = read_policies(ARGV)
local values = redis.call('MGET', unpack(KEYS))
local reply, n = { now_us }, 1
for i = 1, #KEYS do
  local policy = policies[ARGV[slot] + 0]
  slot = slot + 1
  if policy[1] == 'f' then
    local start_us = read_fixed_window(values[i], now_us, policy[3], policy[4])
      or read_fixed_window(false, now_us, policy[3], policy[4])
    write_fixed_window(KEYS[i], now_us, policy[3], start_us, 0)
    n = reply_slots(reply, n, 0, 0, start_us)
  else
    local scale, per_tick, tick_us, burst = policy[2], policy[3], policy[4], policy[5]
    local value = values[i]
    if not read_token_bucket(value, now_us, scale, per_tick, tick_us, burst) then value = false end
    local _, time_us, full_us, older, older_id, older_death_us, newer, newer_id, newer_death_us, demand =
      read_token_bucket(value, now_us, scale, per_tick, tick_us, burst)
    local level = math.max(0, (burst - older - newer) * scale)
    write_token_bucket(KEYS[i], now_us, scale, level, time_us, full_us, older, older_id, older_death_us, newer,
      newer_id, newer_death_us, demand)
    n = reply_token_bucket(reply, n, level, time_us, older, older_death_us, newer, newer_death_us)
  end
end
return reply
`,
};

/** lua/take.lua: Takes tokens: settles what lease holders report, serves asks in order, each on all its buckets or on none, and leases what is wished for, in one atomic step on the server's clock. A refused ask takes nothing. */
export const take: GeneratedScript<{ readonly head: 1; readonly bucket: 3; readonly lease: 7; readonly run: 1 }> = {
  name: "take",
  sha1: "15171d3f93a56fce95531ca3d3ccc688e71ae4c5",
  arity: { head: 1, bucket: 3, lease: 7, run: 1 },
  text: `-- spillway: take
local time = redis.call('TIME')
local call_us = time[1] * 1000000 + time[2]
local is_short = ARGV[1] == 's'
if is_short then
  local value = redis.pcall('GET', KEYS[1])
  if not value or #value == 33 then
    local units_per_token, units_per_tick, tick_us = ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
    local capacity = ARGV[5] * units_per_token
    local full_us = math.ceil(capacity / units_per_tick) * tick_us
    local form, level, time_us, scale, longest_us = 1, capacity, call_us, units_per_token, full_us
    if value then form, level, time_us, scale, longest_us = struct.unpack('<Bdddd', value) end
    if form == 1 and scale == units_per_token and time_us >= 0 and time_us <= call_us and level >= -capacity
      and longest_us >= 0 and longest_us <= 1e300 then
      if longest_us > full_us then full_us = longest_us end
      local ticks = math.floor((call_us - time_us) / tick_us)
      level = level + units_per_tick * ticks
      if level >= capacity then level, time_us = capacity, call_us else time_us = time_us + ticks * tick_us end
      local served, cost_units = ARGV[6] + 0, ARGV[7] * units_per_token
      if cost_units > 0 then
        local most = math.floor(level / cost_units)
        if most < 0 then most = 0 end
        if most < served then served = most end
        level = level - served * cost_units
      end
      local expiry_us = full_us
      if level < 0 then expiry_us = 2 * full_us end
      local expiry_ms = math.ceil(expiry_us / 1000) + 1
      if expiry_ms > 3153600000000 then expiry_ms = 3153600000000 end
      redis.call('SET', KEYS[1], struct.pack('<Bdddd', 1, level, time_us, units_per_token, full_us), 'PX', expiry_ms)
      return { call_us, 0, level, time_us, served }
    end
  end
end
local is_many = ARGV[1] == 'm'
if is_many then
  local units_per_token, units_per_tick, tick_us = ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
  local capacity, cost_units = ARGV[5] * units_per_token, ARGV[6] * units_per_token
  local shortest_us = math.ceil(capacity / units_per_tick) * tick_us
  local key_count, asks = #KEYS, ARGV[7] + 0
  local values = redis.call('MGET', unpack(KEYS))
  local levels, times, longest, usual = {}, {}, {}, true
  for i = 1, key_count do
    local value = values[i]
    if value then
      local form, level, time_us, scale, longest_us
      usual = #value == 33
      if not usual then break end
      form, level, time_us, scale, longest_us = struct.unpack('<Bdddd', value)
      usual = form == 1 and scale == units_per_token and time_us >= 0 and time_us <= call_us and level >= -capacity
        and longest_us >= 0 and longest_us <= 1e300
      if not usual then break end
      if longest_us < shortest_us then longest_us = shortest_us end
      local ticks = math.floor((call_us - time_us) / tick_us)
      level = level + units_per_tick * ticks
      if level >= capacity then level, time_us = capacity, call_us else time_us = time_us + ticks * tick_us end
      levels[i], times[i], longest[i] = level, time_us, longest_us
    end
  end
  if usual then
    local is_flat, is_same = true, true
    local new_asks, new_served, new_level, new_value, new_ms
    for i = 1, key_count do
      local flag, level, time_us, served = 0, levels[i], times[i], asks
      if ARGV[8] then served = ARGV[6 + i] + 0 end
      if level then
        if cost_units > 0 then
          local most = math.floor(level / cost_units)
          if most < 0 then most = 0 end
          if most < served then served = most end
          level = level - served * cost_units
        end
        local expiry_us = longest[i]
        if level < 0 then expiry_us = 2 * expiry_us end
        local expiry_ms = math.ceil(expiry_us / 1000) + 1
        if expiry_ms > 3153600000000 then expiry_ms = 3153600000000 end
        redis.call('SET', KEYS[i], struct.pack('<Bdddd', 1, level, time_us, units_per_token, longest[i]), 'PX',
          expiry_ms)
      else
        if served ~= new_asks then
          new_asks, new_served = served, served
          if cost_units > 0 then
            local most = math.floor(capacity / cost_units)
            if most < new_served then new_served = most end
          end
          new_level = capacity - new_served * cost_units
          new_value = struct.pack('<Bdddd', 1, new_level, call_us, units_per_token, shortest_us)
          new_ms = math.ceil(shortest_us / 1000) + 1
          if new_ms > 3153600000000 then new_ms = 3153600000000 end
        end
        level, time_us, served = new_level, call_us, new_served
        if redis.pcall('SET', KEYS[i], new_value, 'PX', new_ms, 'GET') then
          flag, level, time_us, served = -1, 1, 0, 0
        end
      end
      longest[i], levels[i], times[i], values[i] = flag, level, time_us, served
      if flag ~= 0 or time_us ~= call_us or served ~= values[1] then is_flat = false end
      if level ~= levels[1] then is_same = false end
    end
    if is_flat and is_same then return { call_us, values[1], levels[1] } end
    if is_flat then return { call_us, values[1], unpack(levels) } end
    local reply, n = { call_us }, 1
    for i = 1, key_count do
      reply[n + 1], reply[n + 2], reply[n + 3] = longest[i], levels[i], times[i]
      n = n + 3
    end
    for i = 1, key_count do reply[n + i] = values[i] end
    return reply
  end
end
local floor, ceil, max = math.floor, math.ceil, math.max
local LARGEST, FINITE = 9007199254740992, 1e300
local function refilled(level, time_us, at_us, ceiling, units_per_tick, tick_us)
  local ticks = floor((at_us - time_us) / tick_us)
  level = level + units_per_tick * ticks
  if level >= ceiling then return ceiling, at_us end
  return level, time_us + ticks * tick_us
end
local function rescaled(level, from, to)
  local tokens = floor(level / from)
  local rest = (level - tokens * from) * to
  local scaled = floor(rest / from)
  if rest > 9007199254740991 then scaled = max(0, scaled - 1) end
  return tokens * to + scaled
end
local min = math.min
local function token_bucket_expiry_ms(full_us, level, escrow_us)
  local us = full_us + escrow_us
  if level < 0 then us = us + full_us end
  return min(ceil(us / 1000) + 1, 3153600000000)
end
local function read_policies(argv)
  local policies = {}
  for i = 1, argv[1] + 0 do
    local slot = 5 * i - 3
    policies[i] = { argv[slot], argv[slot + 1] + 0, argv[slot + 2] + 0, argv[slot + 3] + 0, argv[slot + 4] + 0 }
  end
  return policies, 2 + 5 * #policies
end
local function fault_of(value)
  if value then return 2 end
  return 1
end
local function is_foreign(key, value)
  return not value and redis.call('EXISTS', key) == 1
end
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
local function write_token_bucket(key, now_us, units_per_token, level, time_us, full_us, older, older_id,
  older_death_us, newer, newer_id, newer_death_us, demand)
  local value
  if newer_id == 0 and demand == 0 then
    value = struct.pack('<Bdddd', 1, level, time_us, units_per_token, full_us)
  else
    value = struct.pack('<Bddddddddddd', 2, level, time_us, units_per_token, full_us, older, older_id, older_death_us,
      newer, newer_id, newer_death_us, demand)
  end
  local escrow_us = 0
  if older > 0 then escrow_us = older_death_us - now_us end
  if newer > 0 and newer_death_us - now_us > escrow_us then escrow_us = newer_death_us - now_us end
  redis.call('SET', key, value, 'PX', token_bucket_expiry_ms(full_us, level, escrow_us))
end
local function read_fixed_window(value, now_us, period_us, aligned)
  local start_us = now_us
  if aligned == 1 then start_us = now_us - now_us % period_us end
  if not value then return start_us, 0 end
  if string.byte(value) ~= 3 or #value ~= 17 then return nil end
  local stored_us, used = struct.unpack('<dd', value, 2)
  if not (stored_us >= 0 and stored_us <= LARGEST and used >= 0 and used <= LARGEST) then return nil end
  if stored_us > now_us then return start_us, used end
  if now_us - stored_us >= period_us then return start_us, 0 end
  return stored_us, used
end
local function write_fixed_window(key, now_us, period_us, start_us, used)
  redis.call('SET', key, struct.pack('<Bdd', 3, start_us, used), 'PX', ceil((start_us + period_us - now_us) / 1000) + 1)
end
local function settled_lease(id, settled, returned, level, older, older_id, newer, newer_id, units_per_token, burst)
  local closed
  if older_id == id and older > 0 then
    closed = min(settled, older)
    older = older - closed
  elseif newer_id == id and newer > 0 then
    closed = min(settled, newer)
    newer = newer - closed
  else
    return level, older, newer
  end
  local ceiling = max(0, (burst - older - newer) * units_per_token)
  return min(level + min(returned, closed) * units_per_token, ceiling), older, newer
end
local function budget_of(level, demand, weight, life_us, units_per_token, units_per_tick, tick_us, burst)
  local tokens, share = level / units_per_token, 1
  if demand > 0 then share = min(1, weight / demand) end
  local per_us = units_per_tick / (units_per_token * tick_us)
  if demand > 0.9 * per_us * life_us then
    local hold_us = min(life_us / 4, burst / (4 * per_us))
    if tokens < min(burst / 2, 2 * per_us * hold_us + 2) then
      return floor(min(1, 2 * share) * tokens), 1, share
    end
  end
  return tokens, 0, share
end
local argv = ARGV
if is_short then
  argv = { '1', 't', ARGV[2], ARGV[3], ARGV[4], ARGV[5], '1', ARGV[6], '1', '1', ARGV[7] }
elseif is_many then
  argv = { '1', 't', ARGV[2], ARGV[3], ARGV[4], ARGV[5] }
  local bucket_count = #KEYS
  for i = 1, bucket_count do
    local run = 3 + 4 * i + bucket_count
    argv[6 + i], argv[run], argv[run + 1], argv[run + 2], argv[run + 3] = '1', ARGV[6 + i] or ARGV[7], '1', i, ARGV[6]
  end
end
local LEFT, REFUSED, LEVEL, TIME_US, FULL_US, OLDER, OLDER_ID, OLDER_DEATH_US, NEWER, NEWER_ID, NEWER_DEATH_US, DEMAND =
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
local WISH, LIFE_US, CONTENDED, SHARE, ASKED = 13, 14, 15, 16, 17
local START_US, USED = 3, 4
local policies, slot = read_policies(argv)
local values = redis.call('MGET', unpack(KEYS))
local argument_count, key_count = #argv, #KEYS
local buckets, policy_of = {}, {}
for i = 1, key_count do
  local number = argv[slot] + 0
  slot = slot + 1
  local reported = number < 0
  local policy, value = policies[reported and -number or number], values[i]
  policy_of[i] = policy
  if is_foreign(KEYS[i], value) then
    buckets[i] = false
  elseif policy[1] == 'f' then
    local start_us, used = read_fixed_window(value, call_us, policy[3], policy[4])
    buckets[i] = start_us and { policy[2] - used, false, start_us, used }
  else
    local units_per_token, burst = policy[2], policy[5]
    local level, time_us, full_us, older, older_id, older_death_us, newer, newer_id, newer_death_us, demand, quiet_us =
      read_token_bucket(value, call_us, units_per_token, policy[3], policy[4], burst)
    if not level then
      buckets[i] = false
    elseif reported then
      local life_us = argv[slot + 1] + 0
      local step = life_us / (life_us + quiet_us / 4)
      demand = demand * step * step * step * step + argv[slot + 2]
      for s = slot + 5, slot + 2 + 3 * argv[slot + 4], 3 do
        level, older, newer = settled_lease(argv[s] + 0, argv[s + 1] + 0, argv[s + 2] + 0, level, older, older_id,
          newer, newer_id, units_per_token, burst)
      end
      local left, contended, share =
        budget_of(level, demand, argv[slot + 3] + 0, life_us, units_per_token, policy[3], policy[4], burst)
      buckets[i] = { left, false, level, time_us, full_us, older, older_id, older_death_us, newer, newer_id,
        newer_death_us, demand, argv[slot] + 0, life_us, contended, share, false }
    else
      buckets[i] = { math.huge, false, level, time_us, full_us, older, older_id, older_death_us, newer,
        newer_id, newer_death_us, demand }
    end
  end
  if reported then slot = slot + 5 + 3 * argv[slot + 4] end
end
local served, run = { 0 }, 0
while slot <= argument_count do
  local count, first_charge = argv[slot] + 0, slot + 2
  slot = first_charge + 2 * argv[slot + 1]
  run = run + 1
  local done = count
  for c = first_charge, slot - 2, 2 do
    local i, cost = argv[c] + 0, argv[c + 1] + 0
    local b = buckets[i]
    if not b then
      done = 0
    elseif cost > 0 then
      local policy, most = policy_of[i], floor(b[LEFT] / cost)
      if policy[1] == 't' then
        local on_shelf = floor(b[LEVEL] / (cost * policy[2]))
        if most < 1 and not b[ASKED] then most = 1 end
        if on_shelf < most then most = on_shelf end
      end
      if most < done then done = most end
    end
  end
  if done < 0 then done = 0 end
  for c = first_charge, slot - 2, 2 do
    local i, cost = argv[c] + 0, argv[c + 1] + 0
    local b, policy = buckets[i], policy_of[i]
    if b then
      if done < count then b[REFUSED] = true end
      if b[WISH] and count > 0 and cost > 0 then b[ASKED] = true end
      local charged = done * cost
      b[LEFT] = b[LEFT] - charged
      if policy[1] == 'f' then b[USED] = b[USED] + charged else b[LEVEL] = b[LEVEL] - charged * policy[2] end
    end
  end
  served[run] = done
end
local reply, n = { call_us, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 1
for i = 1, key_count do
  local b, policy = buckets[i], policy_of[i]
  if not b then
    reply[n + 1], reply[n + 2], reply[n + 3] = -1, fault_of(values[i]), 0
  elseif policy[1] == 'f' then
    write_fixed_window(KEYS[i], call_us, policy[3], b[START_US], b[USED])
    reply[n + 1], reply[n + 2], reply[n + 3] = 0, b[USED], b[START_US]
  else
    local level, older, older_death_us, newer, newer_id, newer_death_us =
      b[LEVEL], b[OLDER], b[OLDER_DEATH_US], b[NEWER], b[NEWER_ID], b[NEWER_DEATH_US]
    local older_id, tokens, id, wish = b[OLDER_ID], 0, 0, b[WISH]
    if wish and wish > 0 and not b[REFUSED] then
      local units_per_token = policy[2]
      local most = b[SHARE] * (level / units_per_token) / 2
      if b[CONTENDED] == 1 then most = min(b[LEFT], level / units_per_token) end
      tokens = max(0, min(wish, floor(most)))
      if tokens > 0 then
        if older == 0 or newer == 0 then
          local last_id = max(older_id, newer_id)
          if newer > 0 then older, older_id, older_death_us = newer, newer_id, newer_death_us end
          newer, newer_id, newer_death_us = 0, max(call_us, last_id + 1), 0
        end
        if older > 0 and older_death_us > newer_death_us then newer_death_us = older_death_us end
        if call_us + b[LIFE_US] > newer_death_us then newer_death_us = call_us + b[LIFE_US] end
        newer, level, id = newer + tokens, level - tokens * units_per_token, newer_id
      end
    end
    write_token_bucket(KEYS[i], call_us, policy[2], level, b[TIME_US], b[FULL_US], older, older_id, older_death_us,
      newer, newer_id, newer_death_us, b[DEMAND])
    reply[n + 2], reply[n + 3] = level, b[TIME_US]
    if wish or older > 0 or newer > 0 then
      reply[n + 1], reply[n + 4], reply[n + 5], reply[n + 6], reply[n + 7] =
        1, older, older_death_us, newer, newer_death_us
      reply[n + 8], reply[n + 9], reply[n + 10] = id, tokens, b[CONTENDED] or 0
      n = n + 7
    else
      reply[n + 1] = 0
    end
  end
  n = n + 3
end
for i = 1, run do reply[n + i] = served[i] end
reply[n + run + 1] = nil
return reply
`,
};
