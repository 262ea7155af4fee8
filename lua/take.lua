-- Takes tokens: settles what lease holders report, serves asks in order, each on all its buckets or on none, and leases
-- what is wished for, in one atomic step on the server's clock. A refused ask takes nothing.
--
-- @arity head=1 bucket=2 run=1
-- KEYS: one per bucket, all in one slot.
-- ARGV[1]: a JSON array: the number of policies, then per policy five: kind and its numbers
--         "t" token bucket: units per token, units per tick, tick in us, burst in tokens
--         "f" fixed window: limit, period in us, 1 when aligned to the clock or 0, 0
--         "c" sliding window counter, "l" sliding window log: limit, period in us, 0, 0
--       per bucket: the number of its policy, from 1; as a negative number when a lease report follows it:
--         wish in tokens, life in us, demand in tokens, weight in tokens, the number of settlements, and per settlement
--         lease id, tokens settled, tokens returned of these
--       per run of equal asks: how many, the number of charges, and per charge the bucket's number, from 1, and the cost
--       The commonest calls have shorter forms, which open with a letter: lua/README.md tells them slot by slot.
-- Returns: integers: the server's time in us; per bucket two or more; per run how many of its asks were served, the first ones.
--         lua/README.md tells the slots of each kind of bucket; of one that is blocked: -2, when the block ends, in us, then as
--         without it; of one that cannot be read: -1, then 1 for another type, 2 for an unknown value
--         As many runs as buckets, all of flag 0, of each run as many served: the server's time, how many were served, and the
--           level of each bucket, or one level if it is that of all
-- Writes: every readable bucket, also when refused; expires when it would be as if unused and its block is over,
--         1 to 2 ms rounded up.

-- The short forms come first, in one straight line each, so that the commonest calls pay for nothing they do not use. What is
-- unusual about a value is left to the lines below them, before anything is written.
-- `x - x % 1` is the floor of x and `x + -x % 1` its ceiling, for a third of a call of math.floor. Locals cost half of globals.
local redis, struct, KEYS = redis, struct, KEYS
local given = cjson.decode(ARGV[1])
local letter = given[1]
local time = redis.call('TIME')
local call_us = time[1] * 1000000 + time[2]

if letter == 's' then
  local value = redis.pcall('GET', KEYS[1])
  if not value or #value == 33 then
    local units_per_token, units_per_us = given[2], given[3]
    local capacity = given[4] * units_per_token
    local full_us = capacity / units_per_us
    full_us = full_us + -full_us % 1
    local byte, level, time_us, scale, longest_us = 1, capacity, call_us, units_per_token, full_us
    if value then byte, level, time_us, scale, longest_us = struct.unpack('<Bdddd', value) end
    if byte == 1 and scale == units_per_token and time_us >= 0 and time_us <= call_us and level >= -capacity
      and longest_us >= 0 and longest_us <= 1e300 then
      if longest_us > full_us then full_us = longest_us end
      level = level + units_per_us * (call_us - time_us)
      if level > capacity then level = capacity end
      local cost_units, served = given[5] * units_per_token, given[6]
      if cost_units > 0 then
        local most = level / cost_units
        most = most - most % 1
        if most < 0 then most = 0 end
        if most < served then served = most end
        level = level - served * cost_units
      end
      local expiry_ms = full_us / 1000
      if level < 0 then expiry_ms = 2 * full_us / 1000 end
      expiry_ms = expiry_ms + -expiry_ms % 1 + 1
      if expiry_ms > 3153600000000 then expiry_ms = 3153600000000 end
      redis.call('SET', KEYS[1], struct.pack('<Bdddd', 1, level, call_us, units_per_token, full_us), 'PX', expiry_ms)
      return { call_us, served, level }
    end
  end
end

if letter == 'c' then
-- @include lib/short-counter
  local reply = take_counter(KEYS[1], given, call_us)
  if reply then return reply end
end

-- What is written is worked out once for all keys that nobody has used.
if letter == 'm' then
  local units_per_token, units_per_us = given[2], given[3]
  local capacity, cost_units, asks = given[4] * units_per_token, given[5] * units_per_token, given[6]
  local shortest_us = math.ceil(capacity / units_per_us)
  local key_count, values = #KEYS, redis.call('MGET', unpack(KEYS))
  local levels, longest, usual = {}, {}, true
  for i = 1, key_count do
    local value = values[i]
    if value then
      local byte, level, time_us, scale, longest_us
      if #value == 33 then byte, level, time_us, scale, longest_us = struct.unpack('<Bdddd', value) end
      usual = byte == 1 and scale == units_per_token and time_us >= 0 and time_us <= call_us and level >= -capacity
        and longest_us >= 0 and longest_us <= 1e300
      if not usual then break end
      if longest_us < shortest_us then longest_us = shortest_us end
      level = level + units_per_us * (call_us - time_us)
      if level > capacity then level = capacity end
      levels[i], longest[i] = level, longest_us
    end
  end
  if usual then
    local is_alike, is_same, last_us, last_ms = true, true, 0, 0
    local new_asks, new_served, new_level, new_value, new_ms
    for i = 1, key_count do
      local level, served, fault = levels[i], given[7] and given[5 + i] or asks, false
      if level then
        if cost_units > 0 then
          local most = level / cost_units
          most = most - most % 1
          if most < 0 then most = 0 end
          if most < served then served = most end
          level = level - served * cost_units
        end
        local expiry_us = longest[i]
        if level < 0 then expiry_us = 2 * expiry_us end
        if expiry_us ~= last_us then
          -- As text: a number is written out anew by each command.
          last_us, last_ms = expiry_us, string.format('%.0f', math.min(math.ceil(expiry_us / 1000) + 1, 3153600000000))
        end
        redis.call('SET', KEYS[i], struct.pack('<Bdddd', 1, level, call_us, units_per_token, longest[i]), 'PX', last_ms)
      else
        if served ~= new_asks then
          new_asks, new_served = served, served
          if cost_units > 0 then new_served = math.min(served, math.floor(capacity / cost_units)) end
          new_level = capacity - new_served * cost_units
          new_value = struct.pack('<Bdddd', 1, new_level, call_us, units_per_token, shortest_us)
          new_ms = string.format('%.0f', math.min(math.ceil(shortest_us / 1000) + 1, 3153600000000))
        end
        level, served = new_level, new_served
        -- With GET, it fails for a key of another type, which MGET gives as nothing, and leaves it as it is.
        if redis.pcall('SET', KEYS[i], new_value, 'PX', new_ms, 'GET') then level, served, fault = 1, 0, true end
      end
      longest[i], levels[i], values[i] = fault, level, served
      if fault or served ~= values[1] then is_alike = false end
      if level ~= levels[1] then is_same = false end
    end
    if is_alike and is_same then return { call_us, values[1], levels[1] } end
    if is_alike then return { call_us, values[1], unpack(levels) } end
    local reply = { call_us }
    for i = 1, key_count do reply[2 * i], reply[2 * i + 1] = longest[i] and -1 or 0, levels[i] end
    for i = 1, key_count do reply[2 * key_count + 1 + i] = values[i] end
    return reply
  end
end

-- Each bucket is worked out as if all asks were served. Where they are not, one bucket alone is served in part here, and
-- several are left to the lines below.
if letter == 'r' then
  -- Stands for the value of a bucket that nobody has used.
  local NOBODY = '\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
  local life_us, asks, cost, slot, key_count = given[2], given[3], given[4], 5, #KEYS
  local reply, n, served, usual = { call_us, 0, 0, 0, 0, 0, 0, 0 }, 1, asks, true
  local recent, weight, writes
  if life_us > 0 then recent, weight, slot = given[5], given[6], 7 end
  if key_count > 1 then writes = { 0, 0, 0, 0 } end
  if served < 0 then served = 0 end
  for i = 1, key_count do
    local value, units_per_token, units_per_us, burst =
      redis.pcall('GET', KEYS[i]), given[slot], given[slot + 1], given[slot + 2]
    slot = slot + 3
    local expiry_ms
    if units_per_token < 0 and life_us > 0 then
-- @include lib/short-window
      local fitting
      fitting, value, expiry_ms, n = take_window(reply, n, value, given, slot, life_us, call_us, cost, served, asks)
      usual = fitting and (key_count == 1 or fitting == served)
      if not usual then break end
      served, slot = fitting, slot + 2 + 3 * given[slot + 1]
    elseif units_per_token < 0 then
      local limit, period_us, start_us, used = -units_per_token, units_per_us, call_us, 0
      if burst == 1 then start_us = call_us - call_us % period_us end
      if value then
        local byte, stored_us, stored
        if #value == 17 then byte, stored_us, stored = struct.unpack('<Bdd', value) end
        usual = byte == 3 and stored_us >= 0 and stored_us <= call_us and stored >= 0 and stored <= 9007199254740992
        if not usual then break end
        if call_us - stored_us < period_us then start_us, used = stored_us, stored end
      end
      if cost > 0 then
        local most = (limit - used) / cost
        most = most - most % 1
        if most < served then
          usual, served = key_count == 1, most
          if not usual then break end
          if served < 0 then served = 0 end
        end
        used = used + served * cost
      end
      value, expiry_ms = struct.pack('<Bdd', 3, start_us, used), (start_us + period_us - call_us) / 1000
      reply[n + 1], reply[n + 2], reply[n + 3] = 0, used, start_us
      n = n + 3
    else
      local capacity = burst * units_per_token
      local full_us = capacity / units_per_us
      full_us = full_us + -full_us % 1
      local known = value or NOBODY
      local is_leased = #known == 89
      usual = is_leased or #known == 33
      if not usual then break end
      local byte, level, time_us, scale, longest_us, older, older_id, older_death_us, newer, newer_id, newer_death_us,
        demand = struct.unpack(is_leased and '<Bddddddddddd' or '<Bdddd', known)
      if is_leased then
        usual = byte == 2 and older >= 0 and newer >= 0 and older + newer <= 9007199254740992
          and older_id >= 0 and newer_id >= 0 and older_id + newer_id <= 9007199254740992
          and older_death_us >= 0 and newer_death_us >= 0 and older_death_us + newer_death_us <= 9007199254740992
          and (older == 0 or older_death_us > call_us) and (newer == 0 or newer_death_us > call_us)
          and demand >= 0 and demand <= 1e300
      else
        older, older_id, older_death_us, newer, newer_id, newer_death_us, demand = 0, 0, 0, 0, 0, 0, 0
        if not value then level, time_us, scale, longest_us = capacity, call_us, units_per_token, full_us end
        usual = byte == 1
      end
      usual = usual and scale == units_per_token and time_us >= 0 and time_us <= call_us and level >= -capacity
        and longest_us >= 0 and longest_us <= 1e300
      if not usual then break end
      if longest_us > full_us then full_us = longest_us end
      local quiet_us, ceiling = call_us - time_us, (burst - older - newer) * units_per_token
      if ceiling < 0 then ceiling = 0 end
      level = level + units_per_us * quiet_us
      if level > ceiling then level = ceiling end
      local wish, left, contended, share = 0, 0, false, 1
      if life_us > 0 then
        local step, last = life_us / (life_us + quiet_us / 4), slot + 1 + 3 * given[slot + 1]
        wish, demand = given[slot], demand * step * step * step * step + recent
        for s = slot + 2, last, 3 do
          local id, closed, returned = given[s], given[s + 1], given[s + 2]
          if older_id == id and older > 0 then
            if closed > older then closed = older end
            older = older - closed
          elseif newer_id == id and newer > 0 then
            if closed > newer then closed = newer end
            newer = newer - closed
          else
            closed = 0
          end
          if returned > closed then returned = closed end
          if returned > 0 then
            level, ceiling = level + returned * units_per_token, (burst - older - newer) * units_per_token
            if ceiling < 0 then ceiling = 0 end
            if level > ceiling then level = ceiling end
          end
        end
        slot = last + 1
        if demand > weight then share = weight / demand end
        local per_us = units_per_us / units_per_token
        if demand > 0.9 * per_us * life_us then
          local hold_us, tokens = life_us / 4, level / units_per_token
          if burst / (4 * per_us) < hold_us then hold_us = burst / (4 * per_us) end
          contended = tokens < burst / 2 and tokens < 2 * per_us * hold_us + 2
          if contended then
            left = tokens
            if share < 0.5 then left = 2 * share * tokens end
            left = left - left % 1
          end
        end
      end
      if cost > 0 then
        local most = level / (cost * units_per_token)
        most = most - most % 1
        if contended then
          local fair = left / cost
          fair = fair - fair % 1
          if fair < 1 then fair = 1 end
          if fair < most then most = fair end
        end
        if most < served then
          usual, served = key_count == 1, most
          if not usual then break end
          if served < 0 then served = 0 end
        end
        level = level - served * cost * units_per_token
      end
      local tokens = 0
      if wish > 0 and served >= asks then
        local most, shelf = left - served * cost, level / units_per_token
        if not contended then most = share * shelf / 2 elseif shelf < most then most = shelf end
        if most > wish then most = wish end
        if most >= 1 then
          tokens = most - most % 1
          if older == 0 or newer == 0 then
            local id = older_id
            if newer_id > id then id = newer_id end
            id = id + 1
            if call_us > id then id = call_us end
            if newer > 0 then older, older_id, older_death_us = newer, newer_id, newer_death_us end
            newer, newer_id, newer_death_us = 0, id, 0
          end
          if older > 0 and older_death_us > newer_death_us then newer_death_us = older_death_us end
          if call_us + life_us > newer_death_us then newer_death_us = call_us + life_us end
          newer, level = newer + tokens, level - tokens * units_per_token
        end
      end
      local escrow_us = 0
      expiry_ms = full_us
      if level < 0 then expiry_ms = expiry_ms + full_us end
      if older > 0 then escrow_us = older_death_us - call_us end
      if newer > 0 and newer_death_us - call_us > escrow_us then escrow_us = newer_death_us - call_us end
      expiry_ms = (expiry_ms + escrow_us) / 1000
      if newer_id == 0 and demand == 0 then
        value = struct.pack('<Bdddd', 1, level, call_us, units_per_token, full_us)
      else
        value = struct.pack('<Bddddddddddd', 2, level, call_us, units_per_token, full_us, older, older_id,
          older_death_us, newer, newer_id, newer_death_us, demand)
      end
      local flag, first = 32 * tokens, n + 1
      n = n + 2
      reply[n] = level
      if older > 0 then
        flag, n = flag + 2, n + 2
        reply[n - 1], reply[n] = older, older_death_us
      end
      if newer > 0 and (newer ~= tokens or newer_death_us ~= call_us + life_us) then
        flag, n = flag + 4, n + 2
        reply[n - 1], reply[n] = newer, newer_death_us
      end
      if tokens > 0 and newer_id ~= call_us then
        flag, n = flag + 8, n + 1
        reply[n] = newer_id
      end
      if contended then flag = flag + 16 end
      reply[first] = flag
    end
    expiry_ms = expiry_ms + -expiry_ms % 1 + 1
    if expiry_ms > 3153600000000 then expiry_ms = 3153600000000 end
    if writes then
      writes[2 * i - 1], writes[2 * i] = value, expiry_ms
    else
      redis.call('SET', KEYS[i], value, 'PX', expiry_ms)
    end
  end
  if usual then
    for i = 1, writes and key_count or 0 do redis.call('SET', KEYS[i], writes[2 * i - 1], 'PX', writes[2 * i]) end
    if asks >= 0 then reply[n + 1], n = served, n + 1 end
    if n < 8 then reply[n + 1] = nil end
    return reply
  end
end

-- @include lib/refill
-- @include lib/expiry
-- @include lib/arguments
-- @include lib/long-form
-- @include lib/fault
-- @include lib/token-bucket
-- @include lib/write-token-bucket
-- @include lib/windows
-- @include lib/write-windows
-- @include lib/lease
-- @include lib/window-lease
-- @include lib/serve-run
-- @include lib/report
-- @include lib/finish-bucket

local argv = long_form(given, #KEYS)
local policies, slot = read_policies(argv)
local values = policies.has_log and {} or redis.call('MGET', unpack(KEYS))
local argument_count, key_count = #argv, #KEYS
local buckets, policy_of = {}, {}

for i = 1, key_count do
  local number, report = argv[slot], nil
  slot = slot + 1
  if number < 0 then number, report, slot = -number, slot, slot + 5 + 3 * argv[slot + 4] end
  local policy = policies[number]
  policy_of[i] = policy
  if values[i] == nil then values[i] = value_of(KEYS[i], policy) end
  buckets[i] = open_bucket(KEYS[i], values[i], call_us, policy, argv, report, 0)
  if not buckets[i] and values[i] then
-- @include lib/block
    local value, from_us, until_us, block_bytes = without_block(KEYS[i], values[i], call_us, policy[1])
    local b = block_bytes > 0 and open_bucket(KEYS[i], value, call_us, policy, argv, report, block_bytes)
    if b then buckets[i], b.from_us, b.until_us = b, from_us, until_us end
  end
end

local served, run = { 0 }, 0
while slot <= argument_count do
  local first, last = slot + 2, slot + 1 + 2 * argv[slot + 1]
  run = run + 1
  served[run] = serve_run(argv, argv[slot], first, last, buckets, policy_of)
  slot = last + 1
end

local reply, n = { call_us, 0, 0, 0, 0, 0, 0, 0 }, 1
for i = 1, key_count do
  local b, policy, expiry_ms = buckets[i], policy_of[i], nil
  local until_us = b and b.until_us
  n = reply_block(reply, n, until_us)
  if not b then
    n = reply_fault(reply, n, fault_of(values[i]))
  elseif policy[1] ~= 't' then
    local tokens = lease_window(b, call_us, policy[3])
    charge_window(KEYS[i], call_us, policy, b)
    n = reply_window(reply, n, KEYS[i], policy, b, b[COSTS], tokens, call_us)
    expiry_ms = write_window(KEYS[i], call_us, policy, b)
  else
    n, expiry_ms = finish_bucket(reply, n, KEYS[i], policy, b, call_us)
  end
  if until_us then
-- @include lib/write-block
    write_block(KEYS[i], call_us, b.from_us, until_us, expiry_ms)
  end
end
for i = 1, run do reply[n + i] = served[i] end
if n + run < 8 then reply[n + run + 1] = nil end
return reply
