-- Takes tokens: settles what lease holders report, serves asks in order, each on all its buckets or on none, and leases
-- what is wished for, in one atomic step on the server's clock. A refused ask takes nothing.
--
-- @arity head=1 bucket=3 lease=7 run=1
-- KEYS: one per bucket, all in one slot.
-- ARGV: the number of policies, then per policy five: kind and its numbers
--         't' token bucket: units per token, units per tick, tick in us, burst in tokens
--         'f' fixed window: limit, period in us, 1 when aligned to the clock or 0, 0
--       per bucket: the number of its policy, from 1; as a negative number when a lease report follows it:
--         wish in tokens, life in us, demand in tokens, weight in tokens, the number of settlements, and per settlement
--         lease id, tokens settled, tokens returned of these
--       per run of equal asks: how many, the number of charges, and per charge the bucket's number, from 1, and the cost
-- Returns: the server's time in us; per bucket flag, a, b; per run how many of its asks were served, the first ones.
--         flag 0: token bucket: level in units, its time in us; fixed window: used, start in us
--         flag 1: token bucket with escrow: the same, then tokens and death in us of the older and of the newer escrow,
--           and lease id, tokens leased, 1 when contended or 0
--         flag -1: the bucket cannot be read: a is 1 for another type, 2 for an unknown value
-- Writes: every readable bucket, also when refused; expires when it would be as if unused, 1 to 2 ms rounded up.

-- @include lib/clock
-- @include lib/refill
-- @include lib/expiry

local call_us = server_time_us()

-- The commonest call, one token bucket without escrow and one run, needs no tables.
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

-- @include lib/arguments
-- @include lib/token-bucket
-- @include lib/fixed-window
-- @include lib/buckets
-- @include lib/write
-- @include lib/serve
-- @include lib/lease

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
