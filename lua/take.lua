-- Takes tokens: settles what lease holders report, serves asks in order, each on all its buckets or on none, and leases
-- what is wished for, in one atomic step on the server's clock. A refused ask takes nothing.
--
-- @arity head=1 bucket=3 lease=7 run=1
-- KEYS: one per bucket, all in one slot.
-- ARGV: the number of policies, then per policy five: kind and its numbers
--         't' token bucket: units per token, units per tick, tick in us, burst in tokens
--         'f' fixed window: limit, period in us, 1 when aligned to the clock or 0, 0
--         'c' sliding window counter, 'l' sliding window log: limit, period in us, 0, 0
--       per bucket: the number of its policy, from 1; as a negative number when a lease report follows it:
--         wish in tokens, life in us, demand in tokens, weight in tokens, the number of settlements, and per settlement
--         lease id, tokens settled, tokens returned of these
--       per run of equal asks: how many, the number of charges, and per charge the bucket's number, from 1, and the cost
--       The commonest call, one token bucket without a report and one run, is written shorter:
--         's', units per token, units per tick, tick in us, burst in tokens, how many asks, the cost of each
--       So is the next commonest, several such buckets of one policy with a run each, all of one cost:
--         'm', the same four, the cost of each ask, how many asks: one number for all buckets, or one for each
-- Returns: the server's time in us; per bucket flag, a, b; per run how many of its asks were served, the first ones.
--         flag 0: token bucket: level in units, its time in us; fixed window: used, start in us; sliding window counter: tokens
--           and start in us of the current window, then tokens of the previous one; sliding window log: used, how many entries,
--           then time in us and tokens of each, the tokens below 0 where several entries are gathered in one
--         flag 1: token bucket with escrow: the same, then tokens and death in us of the older and of the newer escrow,
--           and lease id, tokens leased, 1 when contended or 0
--         flag -1: the bucket cannot be read: a is 1 for another type, 2 for an unknown value
--       An 'm' call whose buckets are all of flag 0 with the server's time as theirs, and whose runs were all served alike, is
--         answered shorter: the server's time, how many of each run's asks were served, and the level of each bucket, or one
--         level if it is that of all
-- Writes: every readable bucket, also when refused; expires when it would be as if unused, 1 to 2 ms rounded up.

-- The commonest call of all is one straight line, so that a bucket without escrow pays for nothing it does not use. Whatever
-- is unusual about the value is left to the lines below.
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

-- The same for several keys in one call. What is written is worked out once for all keys that nobody has used.
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
        -- With GET, it fails for a key of another type, which MGET gives as nothing, and leaves it as it is.
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

-- @include lib/refill
-- @include lib/expiry
-- @include lib/arguments
-- @include lib/fault
-- @include lib/token-bucket
-- @include lib/write-token-bucket
-- @include lib/windows
-- @include lib/write-windows
-- @include lib/lease

-- A short form, written out: a bucket of it has an escrow, or is unusual in another way, or cannot be read.
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

-- Slots of a bucket's table.
local LEFT, REFUSED, LEVEL, TIME_US, FULL_US, OLDER, OLDER_ID, OLDER_DEATH_US, NEWER, NEWER_ID, NEWER_DEATH_US, DEMAND =
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
local WISH, LIFE_US, CONTENDED, SHARE, ASKED = 13, 14, 15, 16, 17
-- Of a window's, beside what is left and whether an ask was refused: what is charged, and of a log's the costs refused.
local USED, COSTS = 4, 5

local policies, slot = read_policies(argv)
local values = policies.has_log and {} or redis.call('MGET', unpack(KEYS))
local argument_count, key_count = #argv, #KEYS
local buckets, policy_of = {}, {}

for i = 1, key_count do
  local number = argv[slot] + 0
  slot = slot + 1
  local reported = number < 0
  local policy, value = policies[reported and -number or number], values[i]
  policy_of[i] = policy
  if value == nil then
    value = value_of(KEYS[i], policy)
    values[i] = value
  end
  if is_foreign(KEYS[i], value) then
    buckets[i] = false
  elseif policy[1] ~= 't' then
    buckets[i] = read_window(KEYS[i], value, call_us, policy)
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
  -- Of equal asks as many are served as each of their buckets has room for, in one step whatever their number. The first ask
  -- on a bucket is served where it fits, though it be more than a contended bucket has for this call.
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
      if done < count then
        b[REFUSED] = true
        if policy[1] == 'l' then
          b[COSTS] = b[COSTS] or {}
          b[COSTS][#b[COSTS] + 1] = cost
        end
      end
      if b[WISH] and count > 0 and cost > 0 then b[ASKED] = true end
      local charged = done * cost
      b[LEFT] = b[LEFT] - charged
      if policy[1] == 't' then b[LEVEL] = b[LEVEL] - charged * policy[2] else b[USED] = b[USED] + charged end
    end
  end
  served[run] = done
end

-- Long enough for two leased buckets without growing; it ends where the last slot is set to nothing.
local reply, n = { call_us, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 1
for i = 1, key_count do
  local b, policy = buckets[i], policy_of[i]
  if not b then
    reply[n + 1], reply[n + 2], reply[n + 3] = -1, fault_of(values[i]), 0
    n = n + 3
  elseif policy[1] ~= 't' then
    charge_window(KEYS[i], call_us, policy, b)
    n = reply_window(reply, n, KEYS[i], policy, b, b[COSTS])
    write_window(KEYS[i], call_us, policy, b)
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
      n = n + 10
    else
      reply[n + 1] = 0
      n = n + 3
    end
  end
end
for i = 1, run do reply[n + i] = served[i] end
reply[n + run + 1] = nil
return reply
