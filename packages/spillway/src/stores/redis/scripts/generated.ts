// Written by scripts/build-lua.mjs. Do not edit: change lua/ and run `npm run build:lua`.

/** A Lua script as Redis gets it, its SHA-1, and the sizes that its header promises. */
export interface GeneratedScript<Arity extends Readonly<Record<string, number | string>>> {
  readonly name: string;
  readonly text: string;
  readonly sha1: string;
  readonly arity: Arity;
}

/** lua/adjust.lua: Gives tokens back (a refund), never above full, or takes them without asking (a penalty), at most one capacity deep. A block stays. */
export const adjust: GeneratedScript<{ readonly head: 1; readonly bucket: 2 }> = {
  name: "adjust",
  sha1: "72b3da3fe885d02fdab86fb77647a61906d343a7",
  arity: { head: 1, bucket: 2 },
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
  for i = 1, argv[1] do
    local slot = 5 * i - 3
    policies[i] = { argv[slot], argv[slot + 1], argv[slot + 2], argv[slot + 3], argv[slot + 4] }
    if argv[slot] == 'l' then policies.has_log = true end
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
  local expiry_ms = token_bucket_expiry_ms(full_us, level, escrow_us)
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function read_fixed_window(value, now_us, period_us, aligned)
  local start_us = now_us
  if aligned == 1 then start_us = now_us - now_us % period_us end
  if not value then return start_us, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local stored_us, used
  if form == 3 and #value == 17 then
    stored_us, used = struct.unpack('<dd', value, 2)
  elseif form == 6 and #value == 33 then
    stored_us, used, leased, lease_id = struct.unpack('<dddd', value, 2)
  else
    return nil
  end
  if not (stored_us >= 0 and stored_us <= LARGEST and used >= 0 and used <= LARGEST and leased >= 0 and leased <= used
    and lease_id >= 0 and lease_id <= LARGEST) then return nil end
  if stored_us > now_us then
    if leased > 0 then start_us = now_us end
    return start_us, used, leased, lease_id
  end
  if now_us - stored_us >= period_us then return start_us, 0, 0, 0 end
  return stored_us, used, leased, lease_id
end
local function quotient_up(a, b, divisor)
  local product = a * b
  if product <= 9007199254740991 then return ceil(product / divisor) end
  local quotient, rest = 0, 0
  for bits = 42, 0, -7 do
    local part = rest * 128 + floor(a / 2 ^ bits) % 128 * b
    local whole = floor(part / divisor)
    quotient, rest = quotient * 128 + whole, part - whole * divisor
  end
  if rest > 0 then return quotient + 1 end
  return quotient
end
local function read_sliding_counter(value, now_us, period_us)
  if not value then return now_us, 0, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local start_us, previous, current
  if form == 4 and #value == 25 then
    start_us, previous, current = struct.unpack('<ddd', value, 2)
  elseif form == 7 and #value == 41 then
    start_us, previous, current, leased, lease_id = struct.unpack('<ddddd', value, 2)
  else
    return nil
  end
  if not (start_us >= 0 and start_us <= LARGEST and previous >= 0 and previous <= 35184372088832 and current >= 0
    and current <= 35184372088832 and leased >= 0 and leased <= current and lease_id >= 0
    and lease_id <= LARGEST) then return nil end
  if start_us > now_us then start_us = now_us end
  local windows = floor((now_us - start_us) / period_us)
  if windows == 0 then return start_us, current, previous, leased, lease_id end
  if windows == 1 then return start_us + period_us, 0, current, 0, 0 end
  return now_us, 0, 0, 0, 0
end
local function carried_over(start_us, previous, now_us, period_us)
  if previous == 0 then return 0 end
  return quotient_up(previous, start_us + period_us - now_us, period_us)
end
local LOG_HEAD, TIMES, COUNTS = 37, 281474976710656, 65536
local function log_entry(key, log, index)
  if index == log.to then return log.more_us, log.more_count end
  local us = log.times[index]
  if us then return us, log.counts[index] end
  local at = log.at + 8 * index
  local low, count = struct.unpack('<I6I2', redis.call('GETRANGE', key, at, at + 7))
  us = log.newest_us - (log.newest_us - low) % TIMES
  log.times[index], log.counts[index] = us, count
  return us, count
end
local function log_entry_after(key, log, from, us)
  local step, to = 1, log.length
  while from + step <= to and log_entry(key, log, from + step - 1) <= us do from, step = from + step, 2 * step end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_entry(key, log, middle) > us then to = middle else from = middle + 1 end
  end
  return from
end
local function log_tokens(key, log, from, index, since)
  if index < from then return 0 end
  local _, count = log_entry(key, log, index)
  return (count - since) % COUNTS
end
local function log_entry_of(key, log, from, tokens, since)
  local step, to, first = 1, log.length, from
  while from + step <= to and log_tokens(key, log, first, from + step - 1, since) < tokens do
    from, step = from + step, 2 * step
  end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_tokens(key, log, first, middle, since) >= tokens then to = middle else from = middle + 1 end
  end
  return from
end
local function set_last_entry(log, to, us, count)
  log.to, log.length, log.more_us, log.more_count = to, to + 1, us, count % COUNTS
end
local function cut_log(log, length)
  if length <= log.to then log.to, log.more_us = length, nil end
  log.length = length
end
local function advance_log(key, log, now_us, period_us)
  if log.length > 0 and log.newest_us > now_us then
    local _, count = log_entry(key, log, log.length - 1)
    set_last_entry(log, log_entry_after(key, log, log.from, now_us - 1), now_us, count)
  end
  local from, keep_us = log.from, log.keep_us
  log.from = log_entry_after(key, log, from, now_us - keep_us)
  if log.from > from then
    local _, count = log_entry(key, log, log.from - 1)
    log.base = count
  end
  log.kept = log_tokens(key, log, log.from, log.length - 1, log.base)
  if log.kept > 2 * log.keep_tokens then
    local surplus = log.kept - 2 * log.keep_tokens
    log.from = log_entry_of(key, log, log.from, surplus + 1, log.base)
    log.base, log.kept = (log.base + surplus) % COUNTS, 2 * log.keep_tokens
  end
  log.first, log.before, log.used = log.from, log.base, log.kept
  if keep_us > period_us then
    log.first = log_entry_after(key, log, log.from, now_us - period_us)
    if log.first > log.from then
      local _, count = log_entry(key, log, log.first - 1)
      log.before, log.used = count, log_tokens(key, log, log.first, log.length - 1, count)
    end
  end
end
local function read_sliding_log(key, head, now_us, limit, period_us, block_bytes)
  if not head then
    return { at = LOG_HEAD, from = 0, to = 0, length = 0, base = 0, newest_us = now_us, keep_us = period_us,
      keep_tokens = limit, kept_us = now_us, kept = 0, first = 0, before = 0, used = 0 }
  end
  if #head ~= LOG_HEAD or string.byte(head) ~= 5 then return nil end
  local keep_us, kept_us, newest_us, keep_tokens, base, from, to = struct.unpack('<dddI2I2I4I4', head, 2)
  if not (keep_us >= 1 and keep_us <= 35184372088832 and kept_us >= 0 and kept_us <= LARGEST and newest_us >= 0
    and newest_us <= LARGEST and from <= to) then return nil end
  local log = { at = LOG_HEAD + block_bytes, from = from, to = to, length = to, base = base, newest_us = newest_us,
    times = {}, counts = {} }
  if from < to then
    local last = redis.call('GETRANGE', key, log.at + 8 * to - 8, log.at + 8 * to - 1)
    if #last ~= 8 then return nil end
    local low, count = struct.unpack('<I6I2', last)
    if low ~= newest_us % TIMES then return nil end
    log.times[to - 1], log.counts[to - 1] = newest_us, count
  end
  if kept_us > now_us then kept_us = now_us end
  if period_us >= keep_us or now_us - kept_us >= keep_us then
    if period_us < keep_us then keep_tokens = 0 end
    keep_us, kept_us = period_us, now_us
  end
  if limit > keep_tokens then keep_tokens = limit end
  log.keep_us, log.kept_us, log.keep_tokens = keep_us, kept_us, keep_tokens
  advance_log(key, log, now_us, period_us)
  return log
end
local function reply_sliding_log(reply, n, key, log, limit, costs)
  local used, start = log.used, n + 3
  reply[n + 1], reply[n + 2], n = 0, used, start
  if used > 0 then
    local marks = { max(1, used + 1 - limit), used }
    if costs then
      for i = 1, #costs do
        local cost = costs[i]
        if cost > 0 and cost <= limit and used + cost > limit then marks[#marks + 1] = used + cost - limit end
      end
      table.sort(marks)
    end
    local index, told = log.first, 0
    for i = 1, #marks do
      if marks[i] > told then
        local found = log.length - 1
        if marks[i] < used then found = log_entry_of(key, log, index, marks[i] - told, (log.before + told) % COUNTS) end
        if found > index then
          local between = log_tokens(key, log, log.first, found - 1, log.before)
          reply[n + 1], reply[n + 2] = log_entry(key, log, found - 1), between - told
          if found > index + 1 then reply[n + 2] = told - between end
          n, told = n + 2, between
        end
        local through = log_tokens(key, log, log.first, found, log.before)
        reply[n + 1], reply[n + 2] = log_entry(key, log, found), through - told
        n, told, index = n + 2, through, found + 1
      end
    end
  end
  reply[start] = (n - start) / 2
  return n
end
local function value_of(key, policy)
  local value
  if policy[1] == 'l' then
    value = redis.pcall('GETRANGE', key, 0, LOG_HEAD - 1)
  else
    value = redis.pcall('GET', key)
  end
  if type(value) == 'table' then
    if not string.find(value.err, 'WRONGTYPE', 1, true) then error(value.err, 0) end
    return false
  end
  if value == '' and redis.call('EXISTS', key) == 0 then return false end
  return value
end
local function read_window(key, value, now_us, policy, block_bytes)
  local kind, limit, period_us = policy[1], policy[2], policy[3]
  if kind == 'f' then
    local start_us, used, leased, lease_id = read_fixed_window(value, now_us, period_us, policy[4])
    return start_us and { limit - used, false, start_us, used, 0, leased, lease_id }
  elseif kind == 'c' then
    local start_us, current, previous, leased, lease_id = read_sliding_counter(value, now_us, period_us)
    if not start_us then return nil end
    local carried = carried_over(start_us, previous, now_us, period_us)
    return { limit - current - carried, false, start_us, current, previous, leased, lease_id }
  end
  local log = read_sliding_log(key, value, now_us, limit, period_us, block_bytes)
  return log and { limit - log.used, false, log, 0 }
end
local function reply_window(reply, n, key, policy, window, costs, tokens, now_us)
  if policy[1] == 'l' then return reply_sliding_log(reply, n, key, window[3], policy[2], costs) end
  local flag, first = 32 * tokens, n + 1
  reply[n + 2], reply[n + 3], n = window[4], window[3], n + 3
  if policy[1] == 'c' then
    n = n + 1
    reply[n] = window[5]
  end
  if window[6] ~= tokens then
    flag, n = flag + 4, n + 1
    reply[n] = window[6]
  end
  if tokens > 0 and window[7] ~= now_us then
    flag, n = flag + 8, n + 1
    reply[n] = window[7]
  end
  reply[first] = flag
  return n
end
local function without_block(key, value, now_us, kind)
  if not value or string.byte(value) ~= 9 or #value < 18 then return value, nil, nil, 0 end
  local _, from_us, until_us = struct.unpack('<Bdd', value)
  if not (from_us >= 0 and from_us <= LARGEST and until_us >= 0 and until_us <= LARGEST) then
    return value, nil, nil, 0
  end
  if kind == 'l' then
    value = redis.call('GETRANGE', key, 17, 16 + LOG_HEAD)
  else
    value = string.sub(value, 18)
  end
  if from_us > now_us then from_us, until_us = now_us, until_us - (from_us - now_us) end
  if until_us <= now_us then return value, nil, nil, 17 end
  return value, from_us, until_us, 17
end
local function write_block(key, now_us, from_us, end_us, least_ms)
  local value = table.concat({ struct.pack('<Bdd', 9, from_us, end_us), redis.call('GET', key) })
  redis.call('SET', key, value, 'PX', max(least_ms, ceil((end_us - now_us) / 1000) + 1))
end
local function write_fixed_window(key, now_us, period_us, start_us, used, leased, lease_id)
  local value
  if leased == 0 then
    value = struct.pack('<Bdd', 3, start_us, used)
  else
    value = struct.pack('<Bdddd', 6, start_us, used, leased, lease_id)
  end
  local expiry_ms = ceil((start_us + period_us - now_us) / 1000) + 1
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function write_sliding_counter(key, now_us, period_us, start_us, current, previous, leased, lease_id)
  local value
  if leased == 0 then
    value = struct.pack('<Bddd', 4, start_us, previous, current)
  else
    value = struct.pack('<Bddddd', 7, start_us, previous, current, leased, lease_id)
  end
  local expiry_ms = ceil((start_us + 2 * period_us - now_us) / 1000) + 1
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function charge_sliding_log(key, log, now_us, tokens)
  if tokens == 0 then return end
  local us, count = nil, log.base
  if log.length > log.from then us, count = log_entry(key, log, log.length - 1) end
  set_last_entry(log, us == now_us and log.length - 1 or log.length, now_us, count + tokens)
  log.kept, log.used = log.kept + tokens, log.used + tokens
end
local function write_sliding_log(key, now_us, log)
  local newest_us, live, more = now_us, log.length - log.from, ''
  if live > 0 then newest_us = log_entry(key, log, log.length - 1) end
  if log.length > log.to then more = struct.pack('<I6I2', log.more_us % TIMES, log.more_count) end
  local expiry_ms = ceil((newest_us + log.keep_us - now_us) / 1000) + 1
  local is_whole = live < 2 or log.from >= 64 and 2 * log.from >= log.to or log.at > LOG_HEAD
  local from, to, entries = log.from, log.length, ''
  if is_whole then
    from, to = 0, live
    if log.to > log.from then
      entries = redis.call('GETRANGE', key, log.at + 8 * log.from, log.at + 8 * log.to - 1)
    end
  end
  local head =
    struct.pack('<BdddI2I2I4I4', 5, log.keep_us, log.kept_us, newest_us, log.keep_tokens, log.base, from, to)
  if is_whole then
    redis.call('SET', key, table.concat({ head, entries, more }), 'PX', expiry_ms)
  else
    redis.call('SETRANGE', key, 0, head)
    if more ~= '' then redis.call('SETRANGE', key, LOG_HEAD + 8 * log.to, more) end
    redis.call('PEXPIRE', key, expiry_ms)
  end
  return expiry_ms
end
local function charge_window(key, now_us, policy, window)
  if policy[1] == 'l' then charge_sliding_log(key, window[3], now_us, window[4]) end
end
local function write_window(key, now_us, policy, window)
  if policy[1] == 'f' then
    return write_fixed_window(key, now_us, policy[3], window[3], window[4], window[6], window[7])
  elseif policy[1] == 'c' then
    return write_sliding_counter(key, now_us, policy[3], window[3], window[4], window[5], window[6], window[7])
  end
  return write_sliding_log(key, now_us, window[3])
end
local function refund_sliding_log(key, log, tokens)
  if tokens > log.kept then tokens = log.kept end
  log.kept, log.used = log.kept - tokens, max(0, log.used - tokens)
  if log.kept == 0 then return cut_log(log, log.from) end
  local index = log_entry_of(key, log, log.from, log.kept, log.base)
  local us, count = log_entry(key, log, index)
  if (count - log.base) % COUNTS == log.kept then return cut_log(log, index + 1) end
  set_last_entry(log, index, us, log.base + log.kept)
end
local function adjust_window(key, policy, now_us, window, tokens)
  local limit = policy[2]
  if policy[1] == 'l' then
    local log = window[3]
    if tokens > 0 then
      refund_sliding_log(key, log, tokens)
    else
      charge_sliding_log(key, log, now_us, max(0, min(-tokens, 2 * limit - log.used)))
    end
  elseif tokens > 0 then
    local current = max(window[6], window[4] - tokens)
    if policy[1] == 'c' then window[5] = max(0, window[5] - (tokens - (window[4] - current))) end
    window[4] = current
  else
    local carried = 0
    if policy[1] == 'c' then carried = carried_over(window[3], window[5], now_us, policy[3]) end
    window[4] = max(window[4], min(window[4] - tokens, 2 * limit - carried))
  end
end
local function reply_token_bucket(reply, n, now_us, level, time_us, older, older_death_us, newer, newer_death_us,
  tokens, newer_id, life_us, contended)
  local flag, first = 32 * tokens, n + 1
  n = n + 2
  reply[n] = level
  if time_us ~= now_us then
    flag, n = flag + 1, n + 1
    reply[n] = time_us
  end
  if older > 0 then
    flag, n = flag + 2, n + 2
    reply[n - 1], reply[n] = older, older_death_us
  end
  if newer > 0 and (newer ~= tokens or newer_death_us ~= now_us + life_us) then
    flag, n = flag + 4, n + 2
    reply[n - 1], reply[n] = newer, newer_death_us
  end
  if tokens > 0 and newer_id ~= now_us then
    flag, n = flag + 8, n + 1
    reply[n] = newer_id
  end
  if contended then flag = flag + 16 end
  reply[first] = flag
  return n
end
local function reply_fault(reply, n, code)
  reply[n + 1], reply[n + 2] = -1, code
  return n + 2
end
local function reply_block(reply, n, until_us)
  if not until_us then return n end
  reply[n + 1], reply[n + 2] = -2, until_us
  return n + 2
end
local now_us = server_time_us()
local argv = cjson.decode(ARGV[1])
local policies, slot = read_policies(argv)
local values = policies.has_log and {} or redis.call('MGET', unpack(KEYS))
local reply, n = { now_us }, 1
for i = 1, #KEYS do
  local policy, tokens = policies[argv[slot]], argv[slot + 1]
  slot = slot + 2
  if values[i] == nil then values[i] = value_of(KEYS[i], policy) end
  local value, from_us, until_us, block_bytes = without_block(KEYS[i], values[i], now_us, policy[1])
  local expiry_ms
  if is_foreign(KEYS[i], value) then
    n = reply_fault(reply, n, fault_of(values[i]))
  elseif policy[1] ~= 't' then
    local window = read_window(KEYS[i], value, now_us, policy, block_bytes)
    if window then
      n = reply_block(reply, n, until_us)
      adjust_window(KEYS[i], policy, now_us, window, tokens)
      n = reply_window(reply, n, KEYS[i], policy, window, nil, 0)
      expiry_ms = write_window(KEYS[i], now_us, policy, window)
    else
      n = reply_fault(reply, n, fault_of(values[i]))
    end
  else
    local level, time_us, full_us, older, older_id, older_death_us, newer, newer_id, newer_death_us, demand =
      read_token_bucket(value, now_us, policy[2], policy[3], policy[4], policy[5])
    if level then
      n = reply_block(reply, n, until_us)
      local moved = level + tokens * policy[2]
      if tokens > 0 then
        level = math.max(level, math.min(moved, math.max(0, (policy[5] - older - newer) * policy[2])))
      else
        level = math.max(moved, -policy[5] * policy[2])
      end
      expiry_ms = write_token_bucket(KEYS[i], now_us, policy[2], level, time_us, full_us, older, older_id,
        older_death_us, newer, newer_id, newer_death_us, demand)
      n = reply_token_bucket(reply, n, now_us, level, time_us, older, older_death_us,
        newer, newer_death_us, 0)
    else
      n = reply_fault(reply, n, fault_of(values[i]))
    end
  end
  if until_us and expiry_ms then write_block(KEYS[i], now_us, from_us, until_us, expiry_ms) end
end
return reply
`,
};

/** lua/allot-shares.lua: Allots to each process its share of the limits, for the time when Redis is away; shares in use never sum to more than the whole. */
export const allotShares: GeneratedScript<{ readonly head: 1; readonly allotment: 5 }> = {
  name: "allot-shares",
  sha1: "d7a13f34724f122f693eb77bf9c2c52242e8d792",
  arity: { head: 1, allotment: 5 },
  text: `-- spillway: allot-shares
local function server_time_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local TOTALS, ENTRY = '<dddddd', '<dddddddd'
local function read_totals(value)
  if value and #value == 48 then return struct.unpack(TOTALS, value) end
end
local function read_entry(value)
  if value and #value == 64 then return struct.unpack(ENTRY, value) end
end
local WHOLE, SLACK = 1000000000, 1.05
local now_us = server_time_us()
local now_ms = math.floor(now_us / 1000)
local id, number, life_ms = ARGV[1], ARGV[2] + 0, ARGV[3] + 0
local used_share, used_even, asked, replicas = ARGV[4] + 0, ARGV[5] + 0, ARGV[6] + 0, ARGV[7] + 0
local leaves = ARGV[8] == '1'
local values = redis.call('HMGET', KEYS[1], '*', id)
local count, share, even, demand, swept_ms, end_ms = read_totals(values[1])
if not count or now_ms < swept_ms or now_ms - swept_ms >= life_ms / 4 then
  count, share, even, demand, swept_ms, end_ms = 0, 0, 0, 0, now_ms, now_ms
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local last, its_share, its_even, its_demand, heard_ms, its_life_ms = read_entry(all[i + 1])
    if last and math.abs(now_ms - heard_ms) < its_life_ms then
      end_ms = math.max(end_ms, heard_ms + its_life_ms)
      count, share, even, demand = count + 1, share + its_share, even + its_even, demand + its_demand
    elseif all[i] ~= '*' then
      redis.call('HDEL', KEYS[1], all[i])
      if all[i] == id then values[2] = false end
    end
  end
end
local function pool_of(processes)
  if processes >= replicas then return WHOLE end
  return math.floor(WHOLE * processes / replicas)
end
local function due_of(pool)
  if demand <= 0 then return 0 end
  return math.min(pool, math.floor(pool * (asked / demand)))
end
local last, old_share, old_even, old_demand, _, _, offered_share, offered_even = read_entry(values[2])
if not last or number > last then
  if last then count, share, even, demand = count - 1, share - old_share, even - old_even, demand - old_demand end
  if leaves then
    redis.call('HDEL', KEYS[1], id)
    offered_share, offered_even = 0, 0
  else
    count, demand = count + 1, demand + asked
    local pool = pool_of(count)
    local wanted = due_of(pool)
    if used_share > wanted and used_share <= wanted * SLACK then wanted = used_share end
    offered_share = math.max(0, math.min(wanted, pool - share))
    offered_even = math.max(0, math.min(math.floor(WHOLE / math.max(count, replicas)), WHOLE - even))
    local top_share, top_even = math.max(used_share, offered_share), math.max(used_even, offered_even)
    share, even = share + top_share, even + top_even
    redis.call('HSET', KEYS[1], id,
      struct.pack(ENTRY, number, top_share, top_even, asked, now_ms, life_ms, offered_share, offered_even))
  end
  end_ms = math.max(end_ms, now_ms + life_ms)
end
redis.call('HSET', KEYS[1], '*', struct.pack(TOTALS, count, share, even, demand, swept_ms, end_ms))
redis.call('PEXPIRE', KEYS[1], math.max(1, end_ms - now_ms))
local due = 0
if not leaves then due = due_of(pool_of(count)) end
return { now_us, count, offered_share, offered_even, due, demand }
`,
};

/** lua/block.lua: Blocks buckets, so that they serve nobody until then; in place of a block that there is already. What they hold goes on as without it. */
export const block: GeneratedScript<{ readonly head: 1; readonly bucket: 2 }> = {
  name: "block",
  sha1: "b9de873896c5f70175eecf5afffa67532306e3f0",
  arity: { head: 1, bucket: 2 },
  text: `-- spillway: block
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
  for i = 1, argv[1] do
    local slot = 5 * i - 3
    policies[i] = { argv[slot], argv[slot + 1], argv[slot + 2], argv[slot + 3], argv[slot + 4] }
    if argv[slot] == 'l' then policies.has_log = true end
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
  local expiry_ms = token_bucket_expiry_ms(full_us, level, escrow_us)
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function read_fixed_window(value, now_us, period_us, aligned)
  local start_us = now_us
  if aligned == 1 then start_us = now_us - now_us % period_us end
  if not value then return start_us, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local stored_us, used
  if form == 3 and #value == 17 then
    stored_us, used = struct.unpack('<dd', value, 2)
  elseif form == 6 and #value == 33 then
    stored_us, used, leased, lease_id = struct.unpack('<dddd', value, 2)
  else
    return nil
  end
  if not (stored_us >= 0 and stored_us <= LARGEST and used >= 0 and used <= LARGEST and leased >= 0 and leased <= used
    and lease_id >= 0 and lease_id <= LARGEST) then return nil end
  if stored_us > now_us then
    if leased > 0 then start_us = now_us end
    return start_us, used, leased, lease_id
  end
  if now_us - stored_us >= period_us then return start_us, 0, 0, 0 end
  return stored_us, used, leased, lease_id
end
local function quotient_up(a, b, divisor)
  local product = a * b
  if product <= 9007199254740991 then return ceil(product / divisor) end
  local quotient, rest = 0, 0
  for bits = 42, 0, -7 do
    local part = rest * 128 + floor(a / 2 ^ bits) % 128 * b
    local whole = floor(part / divisor)
    quotient, rest = quotient * 128 + whole, part - whole * divisor
  end
  if rest > 0 then return quotient + 1 end
  return quotient
end
local function read_sliding_counter(value, now_us, period_us)
  if not value then return now_us, 0, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local start_us, previous, current
  if form == 4 and #value == 25 then
    start_us, previous, current = struct.unpack('<ddd', value, 2)
  elseif form == 7 and #value == 41 then
    start_us, previous, current, leased, lease_id = struct.unpack('<ddddd', value, 2)
  else
    return nil
  end
  if not (start_us >= 0 and start_us <= LARGEST and previous >= 0 and previous <= 35184372088832 and current >= 0
    and current <= 35184372088832 and leased >= 0 and leased <= current and lease_id >= 0
    and lease_id <= LARGEST) then return nil end
  if start_us > now_us then start_us = now_us end
  local windows = floor((now_us - start_us) / period_us)
  if windows == 0 then return start_us, current, previous, leased, lease_id end
  if windows == 1 then return start_us + period_us, 0, current, 0, 0 end
  return now_us, 0, 0, 0, 0
end
local function carried_over(start_us, previous, now_us, period_us)
  if previous == 0 then return 0 end
  return quotient_up(previous, start_us + period_us - now_us, period_us)
end
local LOG_HEAD, TIMES, COUNTS = 37, 281474976710656, 65536
local function log_entry(key, log, index)
  if index == log.to then return log.more_us, log.more_count end
  local us = log.times[index]
  if us then return us, log.counts[index] end
  local at = log.at + 8 * index
  local low, count = struct.unpack('<I6I2', redis.call('GETRANGE', key, at, at + 7))
  us = log.newest_us - (log.newest_us - low) % TIMES
  log.times[index], log.counts[index] = us, count
  return us, count
end
local function log_entry_after(key, log, from, us)
  local step, to = 1, log.length
  while from + step <= to and log_entry(key, log, from + step - 1) <= us do from, step = from + step, 2 * step end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_entry(key, log, middle) > us then to = middle else from = middle + 1 end
  end
  return from
end
local function log_tokens(key, log, from, index, since)
  if index < from then return 0 end
  local _, count = log_entry(key, log, index)
  return (count - since) % COUNTS
end
local function log_entry_of(key, log, from, tokens, since)
  local step, to, first = 1, log.length, from
  while from + step <= to and log_tokens(key, log, first, from + step - 1, since) < tokens do
    from, step = from + step, 2 * step
  end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_tokens(key, log, first, middle, since) >= tokens then to = middle else from = middle + 1 end
  end
  return from
end
local function set_last_entry(log, to, us, count)
  log.to, log.length, log.more_us, log.more_count = to, to + 1, us, count % COUNTS
end
local function cut_log(log, length)
  if length <= log.to then log.to, log.more_us = length, nil end
  log.length = length
end
local function advance_log(key, log, now_us, period_us)
  if log.length > 0 and log.newest_us > now_us then
    local _, count = log_entry(key, log, log.length - 1)
    set_last_entry(log, log_entry_after(key, log, log.from, now_us - 1), now_us, count)
  end
  local from, keep_us = log.from, log.keep_us
  log.from = log_entry_after(key, log, from, now_us - keep_us)
  if log.from > from then
    local _, count = log_entry(key, log, log.from - 1)
    log.base = count
  end
  log.kept = log_tokens(key, log, log.from, log.length - 1, log.base)
  if log.kept > 2 * log.keep_tokens then
    local surplus = log.kept - 2 * log.keep_tokens
    log.from = log_entry_of(key, log, log.from, surplus + 1, log.base)
    log.base, log.kept = (log.base + surplus) % COUNTS, 2 * log.keep_tokens
  end
  log.first, log.before, log.used = log.from, log.base, log.kept
  if keep_us > period_us then
    log.first = log_entry_after(key, log, log.from, now_us - period_us)
    if log.first > log.from then
      local _, count = log_entry(key, log, log.first - 1)
      log.before, log.used = count, log_tokens(key, log, log.first, log.length - 1, count)
    end
  end
end
local function read_sliding_log(key, head, now_us, limit, period_us, block_bytes)
  if not head then
    return { at = LOG_HEAD, from = 0, to = 0, length = 0, base = 0, newest_us = now_us, keep_us = period_us,
      keep_tokens = limit, kept_us = now_us, kept = 0, first = 0, before = 0, used = 0 }
  end
  if #head ~= LOG_HEAD or string.byte(head) ~= 5 then return nil end
  local keep_us, kept_us, newest_us, keep_tokens, base, from, to = struct.unpack('<dddI2I2I4I4', head, 2)
  if not (keep_us >= 1 and keep_us <= 35184372088832 and kept_us >= 0 and kept_us <= LARGEST and newest_us >= 0
    and newest_us <= LARGEST and from <= to) then return nil end
  local log = { at = LOG_HEAD + block_bytes, from = from, to = to, length = to, base = base, newest_us = newest_us,
    times = {}, counts = {} }
  if from < to then
    local last = redis.call('GETRANGE', key, log.at + 8 * to - 8, log.at + 8 * to - 1)
    if #last ~= 8 then return nil end
    local low, count = struct.unpack('<I6I2', last)
    if low ~= newest_us % TIMES then return nil end
    log.times[to - 1], log.counts[to - 1] = newest_us, count
  end
  if kept_us > now_us then kept_us = now_us end
  if period_us >= keep_us or now_us - kept_us >= keep_us then
    if period_us < keep_us then keep_tokens = 0 end
    keep_us, kept_us = period_us, now_us
  end
  if limit > keep_tokens then keep_tokens = limit end
  log.keep_us, log.kept_us, log.keep_tokens = keep_us, kept_us, keep_tokens
  advance_log(key, log, now_us, period_us)
  return log
end
local function reply_sliding_log(reply, n, key, log, limit, costs)
  local used, start = log.used, n + 3
  reply[n + 1], reply[n + 2], n = 0, used, start
  if used > 0 then
    local marks = { max(1, used + 1 - limit), used }
    if costs then
      for i = 1, #costs do
        local cost = costs[i]
        if cost > 0 and cost <= limit and used + cost > limit then marks[#marks + 1] = used + cost - limit end
      end
      table.sort(marks)
    end
    local index, told = log.first, 0
    for i = 1, #marks do
      if marks[i] > told then
        local found = log.length - 1
        if marks[i] < used then found = log_entry_of(key, log, index, marks[i] - told, (log.before + told) % COUNTS) end
        if found > index then
          local between = log_tokens(key, log, log.first, found - 1, log.before)
          reply[n + 1], reply[n + 2] = log_entry(key, log, found - 1), between - told
          if found > index + 1 then reply[n + 2] = told - between end
          n, told = n + 2, between
        end
        local through = log_tokens(key, log, log.first, found, log.before)
        reply[n + 1], reply[n + 2] = log_entry(key, log, found), through - told
        n, told, index = n + 2, through, found + 1
      end
    end
  end
  reply[start] = (n - start) / 2
  return n
end
local function value_of(key, policy)
  local value
  if policy[1] == 'l' then
    value = redis.pcall('GETRANGE', key, 0, LOG_HEAD - 1)
  else
    value = redis.pcall('GET', key)
  end
  if type(value) == 'table' then
    if not string.find(value.err, 'WRONGTYPE', 1, true) then error(value.err, 0) end
    return false
  end
  if value == '' and redis.call('EXISTS', key) == 0 then return false end
  return value
end
local function read_window(key, value, now_us, policy, block_bytes)
  local kind, limit, period_us = policy[1], policy[2], policy[3]
  if kind == 'f' then
    local start_us, used, leased, lease_id = read_fixed_window(value, now_us, period_us, policy[4])
    return start_us and { limit - used, false, start_us, used, 0, leased, lease_id }
  elseif kind == 'c' then
    local start_us, current, previous, leased, lease_id = read_sliding_counter(value, now_us, period_us)
    if not start_us then return nil end
    local carried = carried_over(start_us, previous, now_us, period_us)
    return { limit - current - carried, false, start_us, current, previous, leased, lease_id }
  end
  local log = read_sliding_log(key, value, now_us, limit, period_us, block_bytes)
  return log and { limit - log.used, false, log, 0 }
end
local function reply_window(reply, n, key, policy, window, costs, tokens, now_us)
  if policy[1] == 'l' then return reply_sliding_log(reply, n, key, window[3], policy[2], costs) end
  local flag, first = 32 * tokens, n + 1
  reply[n + 2], reply[n + 3], n = window[4], window[3], n + 3
  if policy[1] == 'c' then
    n = n + 1
    reply[n] = window[5]
  end
  if window[6] ~= tokens then
    flag, n = flag + 4, n + 1
    reply[n] = window[6]
  end
  if tokens > 0 and window[7] ~= now_us then
    flag, n = flag + 8, n + 1
    reply[n] = window[7]
  end
  reply[first] = flag
  return n
end
local function without_block(key, value, now_us, kind)
  if not value or string.byte(value) ~= 9 or #value < 18 then return value, nil, nil, 0 end
  local _, from_us, until_us = struct.unpack('<Bdd', value)
  if not (from_us >= 0 and from_us <= LARGEST and until_us >= 0 and until_us <= LARGEST) then
    return value, nil, nil, 0
  end
  if kind == 'l' then
    value = redis.call('GETRANGE', key, 17, 16 + LOG_HEAD)
  else
    value = string.sub(value, 18)
  end
  if from_us > now_us then from_us, until_us = now_us, until_us - (from_us - now_us) end
  if until_us <= now_us then return value, nil, nil, 17 end
  return value, from_us, until_us, 17
end
local function write_block(key, now_us, from_us, end_us, least_ms)
  local value = table.concat({ struct.pack('<Bdd', 9, from_us, end_us), redis.call('GET', key) })
  redis.call('SET', key, value, 'PX', max(least_ms, ceil((end_us - now_us) / 1000) + 1))
end
local function write_fixed_window(key, now_us, period_us, start_us, used, leased, lease_id)
  local value
  if leased == 0 then
    value = struct.pack('<Bdd', 3, start_us, used)
  else
    value = struct.pack('<Bdddd', 6, start_us, used, leased, lease_id)
  end
  local expiry_ms = ceil((start_us + period_us - now_us) / 1000) + 1
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function write_sliding_counter(key, now_us, period_us, start_us, current, previous, leased, lease_id)
  local value
  if leased == 0 then
    value = struct.pack('<Bddd', 4, start_us, previous, current)
  else
    value = struct.pack('<Bddddd', 7, start_us, previous, current, leased, lease_id)
  end
  local expiry_ms = ceil((start_us + 2 * period_us - now_us) / 1000) + 1
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function charge_sliding_log(key, log, now_us, tokens)
  if tokens == 0 then return end
  local us, count = nil, log.base
  if log.length > log.from then us, count = log_entry(key, log, log.length - 1) end
  set_last_entry(log, us == now_us and log.length - 1 or log.length, now_us, count + tokens)
  log.kept, log.used = log.kept + tokens, log.used + tokens
end
local function write_sliding_log(key, now_us, log)
  local newest_us, live, more = now_us, log.length - log.from, ''
  if live > 0 then newest_us = log_entry(key, log, log.length - 1) end
  if log.length > log.to then more = struct.pack('<I6I2', log.more_us % TIMES, log.more_count) end
  local expiry_ms = ceil((newest_us + log.keep_us - now_us) / 1000) + 1
  local is_whole = live < 2 or log.from >= 64 and 2 * log.from >= log.to or log.at > LOG_HEAD
  local from, to, entries = log.from, log.length, ''
  if is_whole then
    from, to = 0, live
    if log.to > log.from then
      entries = redis.call('GETRANGE', key, log.at + 8 * log.from, log.at + 8 * log.to - 1)
    end
  end
  local head =
    struct.pack('<BdddI2I2I4I4', 5, log.keep_us, log.kept_us, newest_us, log.keep_tokens, log.base, from, to)
  if is_whole then
    redis.call('SET', key, table.concat({ head, entries, more }), 'PX', expiry_ms)
  else
    redis.call('SETRANGE', key, 0, head)
    if more ~= '' then redis.call('SETRANGE', key, LOG_HEAD + 8 * log.to, more) end
    redis.call('PEXPIRE', key, expiry_ms)
  end
  return expiry_ms
end
local function charge_window(key, now_us, policy, window)
  if policy[1] == 'l' then charge_sliding_log(key, window[3], now_us, window[4]) end
end
local function write_window(key, now_us, policy, window)
  if policy[1] == 'f' then
    return write_fixed_window(key, now_us, policy[3], window[3], window[4], window[6], window[7])
  elseif policy[1] == 'c' then
    return write_sliding_counter(key, now_us, policy[3], window[3], window[4], window[5], window[6], window[7])
  end
  return write_sliding_log(key, now_us, window[3])
end
local function reply_token_bucket(reply, n, now_us, level, time_us, older, older_death_us, newer, newer_death_us,
  tokens, newer_id, life_us, contended)
  local flag, first = 32 * tokens, n + 1
  n = n + 2
  reply[n] = level
  if time_us ~= now_us then
    flag, n = flag + 1, n + 1
    reply[n] = time_us
  end
  if older > 0 then
    flag, n = flag + 2, n + 2
    reply[n - 1], reply[n] = older, older_death_us
  end
  if newer > 0 and (newer ~= tokens or newer_death_us ~= now_us + life_us) then
    flag, n = flag + 4, n + 2
    reply[n - 1], reply[n] = newer, newer_death_us
  end
  if tokens > 0 and newer_id ~= now_us then
    flag, n = flag + 8, n + 1
    reply[n] = newer_id
  end
  if contended then flag = flag + 16 end
  reply[first] = flag
  return n
end
local function reply_fault(reply, n, code)
  reply[n + 1], reply[n + 2] = -1, code
  return n + 2
end
local function reply_block(reply, n, until_us)
  if not until_us then return n end
  reply[n + 1], reply[n + 2] = -2, until_us
  return n + 2
end
local now_us = server_time_us()
local argv = cjson.decode(ARGV[1])
local policies, slot = read_policies(argv)
local values = policies.has_log and {} or redis.call('MGET', unpack(KEYS))
local reply, n, until_us = { now_us }, 1, nil
if argv[#argv] > 0 then until_us = now_us + argv[#argv] end
for i = 1, #KEYS do
  local policy = policies[argv[slot]]
  slot = slot + 1
  if values[i] == nil then values[i] = value_of(KEYS[i], policy) end
  local value, _, _, block_bytes = without_block(KEYS[i], values[i], now_us, policy[1])
  local expiry_ms
  if is_foreign(KEYS[i], value) then
    n = reply_fault(reply, n, fault_of(values[i]))
  elseif policy[1] ~= 't' then
    local window = read_window(KEYS[i], value, now_us, policy, block_bytes)
    if window then
      n = reply_block(reply, n, until_us)
      n = reply_window(reply, n, KEYS[i], policy, window, nil, 0)
      expiry_ms = write_window(KEYS[i], now_us, policy, window)
    else
      n = reply_fault(reply, n, fault_of(values[i]))
    end
  else
    local level, time_us, full_us, older, older_id, older_death_us, newer, newer_id, newer_death_us, demand =
      read_token_bucket(value, now_us, policy[2], policy[3], policy[4], policy[5])
    if level then
      n = reply_block(reply, n, until_us)
      expiry_ms = write_token_bucket(KEYS[i], now_us, policy[2], level, time_us, full_us, older, older_id,
        older_death_us, newer, newer_id, newer_death_us, demand)
      n = reply_token_bucket(reply, n, now_us, level, time_us, older, older_death_us,
        newer, newer_death_us, 0)
    else
      n = reply_fault(reply, n, fault_of(values[i]))
    end
  end
  if until_us and expiry_ms then write_block(KEYS[i], now_us, now_us, until_us, expiry_ms) end
end
return reply
`,
};

/** lua/peek.lua: Reads buckets as they stand now. */
export const peek: GeneratedScript<{ readonly head: 1; readonly bucket: 2 }> = {
  name: "peek",
  sha1: "afdd6ed6a9371a83585a0d85c54366cb8ca0cb14",
  arity: { head: 1, bucket: 2 },
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
  for i = 1, argv[1] do
    local slot = 5 * i - 3
    policies[i] = { argv[slot], argv[slot + 1], argv[slot + 2], argv[slot + 3], argv[slot + 4] }
    if argv[slot] == 'l' then policies.has_log = true end
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
  if not value then return start_us, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local stored_us, used
  if form == 3 and #value == 17 then
    stored_us, used = struct.unpack('<dd', value, 2)
  elseif form == 6 and #value == 33 then
    stored_us, used, leased, lease_id = struct.unpack('<dddd', value, 2)
  else
    return nil
  end
  if not (stored_us >= 0 and stored_us <= LARGEST and used >= 0 and used <= LARGEST and leased >= 0 and leased <= used
    and lease_id >= 0 and lease_id <= LARGEST) then return nil end
  if stored_us > now_us then
    if leased > 0 then start_us = now_us end
    return start_us, used, leased, lease_id
  end
  if now_us - stored_us >= period_us then return start_us, 0, 0, 0 end
  return stored_us, used, leased, lease_id
end
local function quotient_up(a, b, divisor)
  local product = a * b
  if product <= 9007199254740991 then return ceil(product / divisor) end
  local quotient, rest = 0, 0
  for bits = 42, 0, -7 do
    local part = rest * 128 + floor(a / 2 ^ bits) % 128 * b
    local whole = floor(part / divisor)
    quotient, rest = quotient * 128 + whole, part - whole * divisor
  end
  if rest > 0 then return quotient + 1 end
  return quotient
end
local function read_sliding_counter(value, now_us, period_us)
  if not value then return now_us, 0, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local start_us, previous, current
  if form == 4 and #value == 25 then
    start_us, previous, current = struct.unpack('<ddd', value, 2)
  elseif form == 7 and #value == 41 then
    start_us, previous, current, leased, lease_id = struct.unpack('<ddddd', value, 2)
  else
    return nil
  end
  if not (start_us >= 0 and start_us <= LARGEST and previous >= 0 and previous <= 35184372088832 and current >= 0
    and current <= 35184372088832 and leased >= 0 and leased <= current and lease_id >= 0
    and lease_id <= LARGEST) then return nil end
  if start_us > now_us then start_us = now_us end
  local windows = floor((now_us - start_us) / period_us)
  if windows == 0 then return start_us, current, previous, leased, lease_id end
  if windows == 1 then return start_us + period_us, 0, current, 0, 0 end
  return now_us, 0, 0, 0, 0
end
local function carried_over(start_us, previous, now_us, period_us)
  if previous == 0 then return 0 end
  return quotient_up(previous, start_us + period_us - now_us, period_us)
end
local LOG_HEAD, TIMES, COUNTS = 37, 281474976710656, 65536
local function log_entry(key, log, index)
  if index == log.to then return log.more_us, log.more_count end
  local us = log.times[index]
  if us then return us, log.counts[index] end
  local at = log.at + 8 * index
  local low, count = struct.unpack('<I6I2', redis.call('GETRANGE', key, at, at + 7))
  us = log.newest_us - (log.newest_us - low) % TIMES
  log.times[index], log.counts[index] = us, count
  return us, count
end
local function log_entry_after(key, log, from, us)
  local step, to = 1, log.length
  while from + step <= to and log_entry(key, log, from + step - 1) <= us do from, step = from + step, 2 * step end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_entry(key, log, middle) > us then to = middle else from = middle + 1 end
  end
  return from
end
local function log_tokens(key, log, from, index, since)
  if index < from then return 0 end
  local _, count = log_entry(key, log, index)
  return (count - since) % COUNTS
end
local function log_entry_of(key, log, from, tokens, since)
  local step, to, first = 1, log.length, from
  while from + step <= to and log_tokens(key, log, first, from + step - 1, since) < tokens do
    from, step = from + step, 2 * step
  end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_tokens(key, log, first, middle, since) >= tokens then to = middle else from = middle + 1 end
  end
  return from
end
local function set_last_entry(log, to, us, count)
  log.to, log.length, log.more_us, log.more_count = to, to + 1, us, count % COUNTS
end
local function cut_log(log, length)
  if length <= log.to then log.to, log.more_us = length, nil end
  log.length = length
end
local function advance_log(key, log, now_us, period_us)
  if log.length > 0 and log.newest_us > now_us then
    local _, count = log_entry(key, log, log.length - 1)
    set_last_entry(log, log_entry_after(key, log, log.from, now_us - 1), now_us, count)
  end
  local from, keep_us = log.from, log.keep_us
  log.from = log_entry_after(key, log, from, now_us - keep_us)
  if log.from > from then
    local _, count = log_entry(key, log, log.from - 1)
    log.base = count
  end
  log.kept = log_tokens(key, log, log.from, log.length - 1, log.base)
  if log.kept > 2 * log.keep_tokens then
    local surplus = log.kept - 2 * log.keep_tokens
    log.from = log_entry_of(key, log, log.from, surplus + 1, log.base)
    log.base, log.kept = (log.base + surplus) % COUNTS, 2 * log.keep_tokens
  end
  log.first, log.before, log.used = log.from, log.base, log.kept
  if keep_us > period_us then
    log.first = log_entry_after(key, log, log.from, now_us - period_us)
    if log.first > log.from then
      local _, count = log_entry(key, log, log.first - 1)
      log.before, log.used = count, log_tokens(key, log, log.first, log.length - 1, count)
    end
  end
end
local function read_sliding_log(key, head, now_us, limit, period_us, block_bytes)
  if not head then
    return { at = LOG_HEAD, from = 0, to = 0, length = 0, base = 0, newest_us = now_us, keep_us = period_us,
      keep_tokens = limit, kept_us = now_us, kept = 0, first = 0, before = 0, used = 0 }
  end
  if #head ~= LOG_HEAD or string.byte(head) ~= 5 then return nil end
  local keep_us, kept_us, newest_us, keep_tokens, base, from, to = struct.unpack('<dddI2I2I4I4', head, 2)
  if not (keep_us >= 1 and keep_us <= 35184372088832 and kept_us >= 0 and kept_us <= LARGEST and newest_us >= 0
    and newest_us <= LARGEST and from <= to) then return nil end
  local log = { at = LOG_HEAD + block_bytes, from = from, to = to, length = to, base = base, newest_us = newest_us,
    times = {}, counts = {} }
  if from < to then
    local last = redis.call('GETRANGE', key, log.at + 8 * to - 8, log.at + 8 * to - 1)
    if #last ~= 8 then return nil end
    local low, count = struct.unpack('<I6I2', last)
    if low ~= newest_us % TIMES then return nil end
    log.times[to - 1], log.counts[to - 1] = newest_us, count
  end
  if kept_us > now_us then kept_us = now_us end
  if period_us >= keep_us or now_us - kept_us >= keep_us then
    if period_us < keep_us then keep_tokens = 0 end
    keep_us, kept_us = period_us, now_us
  end
  if limit > keep_tokens then keep_tokens = limit end
  log.keep_us, log.kept_us, log.keep_tokens = keep_us, kept_us, keep_tokens
  advance_log(key, log, now_us, period_us)
  return log
end
local function reply_sliding_log(reply, n, key, log, limit, costs)
  local used, start = log.used, n + 3
  reply[n + 1], reply[n + 2], n = 0, used, start
  if used > 0 then
    local marks = { max(1, used + 1 - limit), used }
    if costs then
      for i = 1, #costs do
        local cost = costs[i]
        if cost > 0 and cost <= limit and used + cost > limit then marks[#marks + 1] = used + cost - limit end
      end
      table.sort(marks)
    end
    local index, told = log.first, 0
    for i = 1, #marks do
      if marks[i] > told then
        local found = log.length - 1
        if marks[i] < used then found = log_entry_of(key, log, index, marks[i] - told, (log.before + told) % COUNTS) end
        if found > index then
          local between = log_tokens(key, log, log.first, found - 1, log.before)
          reply[n + 1], reply[n + 2] = log_entry(key, log, found - 1), between - told
          if found > index + 1 then reply[n + 2] = told - between end
          n, told = n + 2, between
        end
        local through = log_tokens(key, log, log.first, found, log.before)
        reply[n + 1], reply[n + 2] = log_entry(key, log, found), through - told
        n, told, index = n + 2, through, found + 1
      end
    end
  end
  reply[start] = (n - start) / 2
  return n
end
local function value_of(key, policy)
  local value
  if policy[1] == 'l' then
    value = redis.pcall('GETRANGE', key, 0, LOG_HEAD - 1)
  else
    value = redis.pcall('GET', key)
  end
  if type(value) == 'table' then
    if not string.find(value.err, 'WRONGTYPE', 1, true) then error(value.err, 0) end
    return false
  end
  if value == '' and redis.call('EXISTS', key) == 0 then return false end
  return value
end
local function read_window(key, value, now_us, policy, block_bytes)
  local kind, limit, period_us = policy[1], policy[2], policy[3]
  if kind == 'f' then
    local start_us, used, leased, lease_id = read_fixed_window(value, now_us, period_us, policy[4])
    return start_us and { limit - used, false, start_us, used, 0, leased, lease_id }
  elseif kind == 'c' then
    local start_us, current, previous, leased, lease_id = read_sliding_counter(value, now_us, period_us)
    if not start_us then return nil end
    local carried = carried_over(start_us, previous, now_us, period_us)
    return { limit - current - carried, false, start_us, current, previous, leased, lease_id }
  end
  local log = read_sliding_log(key, value, now_us, limit, period_us, block_bytes)
  return log and { limit - log.used, false, log, 0 }
end
local function reply_window(reply, n, key, policy, window, costs, tokens, now_us)
  if policy[1] == 'l' then return reply_sliding_log(reply, n, key, window[3], policy[2], costs) end
  local flag, first = 32 * tokens, n + 1
  reply[n + 2], reply[n + 3], n = window[4], window[3], n + 3
  if policy[1] == 'c' then
    n = n + 1
    reply[n] = window[5]
  end
  if window[6] ~= tokens then
    flag, n = flag + 4, n + 1
    reply[n] = window[6]
  end
  if tokens > 0 and window[7] ~= now_us then
    flag, n = flag + 8, n + 1
    reply[n] = window[7]
  end
  reply[first] = flag
  return n
end
local function without_block(key, value, now_us, kind)
  if not value or string.byte(value) ~= 9 or #value < 18 then return value, nil, nil, 0 end
  local _, from_us, until_us = struct.unpack('<Bdd', value)
  if not (from_us >= 0 and from_us <= LARGEST and until_us >= 0 and until_us <= LARGEST) then
    return value, nil, nil, 0
  end
  if kind == 'l' then
    value = redis.call('GETRANGE', key, 17, 16 + LOG_HEAD)
  else
    value = string.sub(value, 18)
  end
  if from_us > now_us then from_us, until_us = now_us, until_us - (from_us - now_us) end
  if until_us <= now_us then return value, nil, nil, 17 end
  return value, from_us, until_us, 17
end
local function reply_token_bucket(reply, n, now_us, level, time_us, older, older_death_us, newer, newer_death_us,
  tokens, newer_id, life_us, contended)
  local flag, first = 32 * tokens, n + 1
  n = n + 2
  reply[n] = level
  if time_us ~= now_us then
    flag, n = flag + 1, n + 1
    reply[n] = time_us
  end
  if older > 0 then
    flag, n = flag + 2, n + 2
    reply[n - 1], reply[n] = older, older_death_us
  end
  if newer > 0 and (newer ~= tokens or newer_death_us ~= now_us + life_us) then
    flag, n = flag + 4, n + 2
    reply[n - 1], reply[n] = newer, newer_death_us
  end
  if tokens > 0 and newer_id ~= now_us then
    flag, n = flag + 8, n + 1
    reply[n] = newer_id
  end
  if contended then flag = flag + 16 end
  reply[first] = flag
  return n
end
local function reply_fault(reply, n, code)
  reply[n + 1], reply[n + 2] = -1, code
  return n + 2
end
local function reply_block(reply, n, until_us)
  if not until_us then return n end
  reply[n + 1], reply[n + 2] = -2, until_us
  return n + 2
end
local now_us = server_time_us()
local argv = cjson.decode(ARGV[1])
local policies, slot = read_policies(argv)
local values = policies.has_log and {} or redis.call('MGET', unpack(KEYS))
local reply, n = { now_us }, 1
for i = 1, #KEYS do
  local policy = policies[argv[slot]]
  slot = slot + 1
  if values[i] == nil then values[i] = value_of(KEYS[i], policy) end
  local value, _, until_us, block_bytes = without_block(KEYS[i], values[i], now_us, policy[1])
  if is_foreign(KEYS[i], value) then
    n = reply_fault(reply, n, fault_of(values[i]))
  elseif policy[1] ~= 't' then
    local window = read_window(KEYS[i], value, now_us, policy, block_bytes)
    if window then
      n = reply_block(reply, n, until_us)
      n = reply_window(reply, n, KEYS[i], policy, window, nil, 0)
    else
      n = reply_fault(reply, n, fault_of(values[i]))
    end
  else
    local level, time_us, _, older, _, older_death_us, newer, _, newer_death_us =
      read_token_bucket(value, now_us, policy[2], policy[3], policy[4], policy[5])
    if level then
      n = reply_block(reply, n, until_us)
      n = reply_token_bucket(reply, n, now_us, level, time_us, older, older_death_us,
        newer, newer_death_us, 0)
    else
      n = reply_fault(reply, n, fault_of(values[i]))
    end
  end
end
return reply
`,
};

/** lua/reset.lua: Makes buckets as if unused, but for tokens out on lease, which still count until they are settled or die. A block ends. A bucket that cannot be read is replaced. */
export const reset: GeneratedScript<{ readonly head: 1; readonly bucket: 2 }> = {
  name: "reset",
  sha1: "d04d801c7b1adaee62f0cea030ac40e03c9007a5",
  arity: { head: 1, bucket: 2 },
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
  for i = 1, argv[1] do
    local slot = 5 * i - 3
    policies[i] = { argv[slot], argv[slot + 1], argv[slot + 2], argv[slot + 3], argv[slot + 4] }
    if argv[slot] == 'l' then policies.has_log = true end
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
  local expiry_ms = token_bucket_expiry_ms(full_us, level, escrow_us)
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function read_fixed_window(value, now_us, period_us, aligned)
  local start_us = now_us
  if aligned == 1 then start_us = now_us - now_us % period_us end
  if not value then return start_us, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local stored_us, used
  if form == 3 and #value == 17 then
    stored_us, used = struct.unpack('<dd', value, 2)
  elseif form == 6 and #value == 33 then
    stored_us, used, leased, lease_id = struct.unpack('<dddd', value, 2)
  else
    return nil
  end
  if not (stored_us >= 0 and stored_us <= LARGEST and used >= 0 and used <= LARGEST and leased >= 0 and leased <= used
    and lease_id >= 0 and lease_id <= LARGEST) then return nil end
  if stored_us > now_us then
    if leased > 0 then start_us = now_us end
    return start_us, used, leased, lease_id
  end
  if now_us - stored_us >= period_us then return start_us, 0, 0, 0 end
  return stored_us, used, leased, lease_id
end
local function quotient_up(a, b, divisor)
  local product = a * b
  if product <= 9007199254740991 then return ceil(product / divisor) end
  local quotient, rest = 0, 0
  for bits = 42, 0, -7 do
    local part = rest * 128 + floor(a / 2 ^ bits) % 128 * b
    local whole = floor(part / divisor)
    quotient, rest = quotient * 128 + whole, part - whole * divisor
  end
  if rest > 0 then return quotient + 1 end
  return quotient
end
local function read_sliding_counter(value, now_us, period_us)
  if not value then return now_us, 0, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local start_us, previous, current
  if form == 4 and #value == 25 then
    start_us, previous, current = struct.unpack('<ddd', value, 2)
  elseif form == 7 and #value == 41 then
    start_us, previous, current, leased, lease_id = struct.unpack('<ddddd', value, 2)
  else
    return nil
  end
  if not (start_us >= 0 and start_us <= LARGEST and previous >= 0 and previous <= 35184372088832 and current >= 0
    and current <= 35184372088832 and leased >= 0 and leased <= current and lease_id >= 0
    and lease_id <= LARGEST) then return nil end
  if start_us > now_us then start_us = now_us end
  local windows = floor((now_us - start_us) / period_us)
  if windows == 0 then return start_us, current, previous, leased, lease_id end
  if windows == 1 then return start_us + period_us, 0, current, 0, 0 end
  return now_us, 0, 0, 0, 0
end
local function carried_over(start_us, previous, now_us, period_us)
  if previous == 0 then return 0 end
  return quotient_up(previous, start_us + period_us - now_us, period_us)
end
local LOG_HEAD, TIMES, COUNTS = 37, 281474976710656, 65536
local function log_entry(key, log, index)
  if index == log.to then return log.more_us, log.more_count end
  local us = log.times[index]
  if us then return us, log.counts[index] end
  local at = log.at + 8 * index
  local low, count = struct.unpack('<I6I2', redis.call('GETRANGE', key, at, at + 7))
  us = log.newest_us - (log.newest_us - low) % TIMES
  log.times[index], log.counts[index] = us, count
  return us, count
end
local function log_entry_after(key, log, from, us)
  local step, to = 1, log.length
  while from + step <= to and log_entry(key, log, from + step - 1) <= us do from, step = from + step, 2 * step end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_entry(key, log, middle) > us then to = middle else from = middle + 1 end
  end
  return from
end
local function log_tokens(key, log, from, index, since)
  if index < from then return 0 end
  local _, count = log_entry(key, log, index)
  return (count - since) % COUNTS
end
local function log_entry_of(key, log, from, tokens, since)
  local step, to, first = 1, log.length, from
  while from + step <= to and log_tokens(key, log, first, from + step - 1, since) < tokens do
    from, step = from + step, 2 * step
  end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_tokens(key, log, first, middle, since) >= tokens then to = middle else from = middle + 1 end
  end
  return from
end
local function set_last_entry(log, to, us, count)
  log.to, log.length, log.more_us, log.more_count = to, to + 1, us, count % COUNTS
end
local function cut_log(log, length)
  if length <= log.to then log.to, log.more_us = length, nil end
  log.length = length
end
local function advance_log(key, log, now_us, period_us)
  if log.length > 0 and log.newest_us > now_us then
    local _, count = log_entry(key, log, log.length - 1)
    set_last_entry(log, log_entry_after(key, log, log.from, now_us - 1), now_us, count)
  end
  local from, keep_us = log.from, log.keep_us
  log.from = log_entry_after(key, log, from, now_us - keep_us)
  if log.from > from then
    local _, count = log_entry(key, log, log.from - 1)
    log.base = count
  end
  log.kept = log_tokens(key, log, log.from, log.length - 1, log.base)
  if log.kept > 2 * log.keep_tokens then
    local surplus = log.kept - 2 * log.keep_tokens
    log.from = log_entry_of(key, log, log.from, surplus + 1, log.base)
    log.base, log.kept = (log.base + surplus) % COUNTS, 2 * log.keep_tokens
  end
  log.first, log.before, log.used = log.from, log.base, log.kept
  if keep_us > period_us then
    log.first = log_entry_after(key, log, log.from, now_us - period_us)
    if log.first > log.from then
      local _, count = log_entry(key, log, log.first - 1)
      log.before, log.used = count, log_tokens(key, log, log.first, log.length - 1, count)
    end
  end
end
local function read_sliding_log(key, head, now_us, limit, period_us, block_bytes)
  if not head then
    return { at = LOG_HEAD, from = 0, to = 0, length = 0, base = 0, newest_us = now_us, keep_us = period_us,
      keep_tokens = limit, kept_us = now_us, kept = 0, first = 0, before = 0, used = 0 }
  end
  if #head ~= LOG_HEAD or string.byte(head) ~= 5 then return nil end
  local keep_us, kept_us, newest_us, keep_tokens, base, from, to = struct.unpack('<dddI2I2I4I4', head, 2)
  if not (keep_us >= 1 and keep_us <= 35184372088832 and kept_us >= 0 and kept_us <= LARGEST and newest_us >= 0
    and newest_us <= LARGEST and from <= to) then return nil end
  local log = { at = LOG_HEAD + block_bytes, from = from, to = to, length = to, base = base, newest_us = newest_us,
    times = {}, counts = {} }
  if from < to then
    local last = redis.call('GETRANGE', key, log.at + 8 * to - 8, log.at + 8 * to - 1)
    if #last ~= 8 then return nil end
    local low, count = struct.unpack('<I6I2', last)
    if low ~= newest_us % TIMES then return nil end
    log.times[to - 1], log.counts[to - 1] = newest_us, count
  end
  if kept_us > now_us then kept_us = now_us end
  if period_us >= keep_us or now_us - kept_us >= keep_us then
    if period_us < keep_us then keep_tokens = 0 end
    keep_us, kept_us = period_us, now_us
  end
  if limit > keep_tokens then keep_tokens = limit end
  log.keep_us, log.kept_us, log.keep_tokens = keep_us, kept_us, keep_tokens
  advance_log(key, log, now_us, period_us)
  return log
end
local function reply_sliding_log(reply, n, key, log, limit, costs)
  local used, start = log.used, n + 3
  reply[n + 1], reply[n + 2], n = 0, used, start
  if used > 0 then
    local marks = { max(1, used + 1 - limit), used }
    if costs then
      for i = 1, #costs do
        local cost = costs[i]
        if cost > 0 and cost <= limit and used + cost > limit then marks[#marks + 1] = used + cost - limit end
      end
      table.sort(marks)
    end
    local index, told = log.first, 0
    for i = 1, #marks do
      if marks[i] > told then
        local found = log.length - 1
        if marks[i] < used then found = log_entry_of(key, log, index, marks[i] - told, (log.before + told) % COUNTS) end
        if found > index then
          local between = log_tokens(key, log, log.first, found - 1, log.before)
          reply[n + 1], reply[n + 2] = log_entry(key, log, found - 1), between - told
          if found > index + 1 then reply[n + 2] = told - between end
          n, told = n + 2, between
        end
        local through = log_tokens(key, log, log.first, found, log.before)
        reply[n + 1], reply[n + 2] = log_entry(key, log, found), through - told
        n, told, index = n + 2, through, found + 1
      end
    end
  end
  reply[start] = (n - start) / 2
  return n
end
local function value_of(key, policy)
  local value
  if policy[1] == 'l' then
    value = redis.pcall('GETRANGE', key, 0, LOG_HEAD - 1)
  else
    value = redis.pcall('GET', key)
  end
  if type(value) == 'table' then
    if not string.find(value.err, 'WRONGTYPE', 1, true) then error(value.err, 0) end
    return false
  end
  if value == '' and redis.call('EXISTS', key) == 0 then return false end
  return value
end
local function read_window(key, value, now_us, policy, block_bytes)
  local kind, limit, period_us = policy[1], policy[2], policy[3]
  if kind == 'f' then
    local start_us, used, leased, lease_id = read_fixed_window(value, now_us, period_us, policy[4])
    return start_us and { limit - used, false, start_us, used, 0, leased, lease_id }
  elseif kind == 'c' then
    local start_us, current, previous, leased, lease_id = read_sliding_counter(value, now_us, period_us)
    if not start_us then return nil end
    local carried = carried_over(start_us, previous, now_us, period_us)
    return { limit - current - carried, false, start_us, current, previous, leased, lease_id }
  end
  local log = read_sliding_log(key, value, now_us, limit, period_us, block_bytes)
  return log and { limit - log.used, false, log, 0 }
end
local function reply_window(reply, n, key, policy, window, costs, tokens, now_us)
  if policy[1] == 'l' then return reply_sliding_log(reply, n, key, window[3], policy[2], costs) end
  local flag, first = 32 * tokens, n + 1
  reply[n + 2], reply[n + 3], n = window[4], window[3], n + 3
  if policy[1] == 'c' then
    n = n + 1
    reply[n] = window[5]
  end
  if window[6] ~= tokens then
    flag, n = flag + 4, n + 1
    reply[n] = window[6]
  end
  if tokens > 0 and window[7] ~= now_us then
    flag, n = flag + 8, n + 1
    reply[n] = window[7]
  end
  reply[first] = flag
  return n
end
local function without_block(key, value, now_us, kind)
  if not value or string.byte(value) ~= 9 or #value < 18 then return value, nil, nil, 0 end
  local _, from_us, until_us = struct.unpack('<Bdd', value)
  if not (from_us >= 0 and from_us <= LARGEST and until_us >= 0 and until_us <= LARGEST) then
    return value, nil, nil, 0
  end
  if kind == 'l' then
    value = redis.call('GETRANGE', key, 17, 16 + LOG_HEAD)
  else
    value = string.sub(value, 18)
  end
  if from_us > now_us then from_us, until_us = now_us, until_us - (from_us - now_us) end
  if until_us <= now_us then return value, nil, nil, 17 end
  return value, from_us, until_us, 17
end
local function write_fixed_window(key, now_us, period_us, start_us, used, leased, lease_id)
  local value
  if leased == 0 then
    value = struct.pack('<Bdd', 3, start_us, used)
  else
    value = struct.pack('<Bdddd', 6, start_us, used, leased, lease_id)
  end
  local expiry_ms = ceil((start_us + period_us - now_us) / 1000) + 1
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function write_sliding_counter(key, now_us, period_us, start_us, current, previous, leased, lease_id)
  local value
  if leased == 0 then
    value = struct.pack('<Bddd', 4, start_us, previous, current)
  else
    value = struct.pack('<Bddddd', 7, start_us, previous, current, leased, lease_id)
  end
  local expiry_ms = ceil((start_us + 2 * period_us - now_us) / 1000) + 1
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function charge_sliding_log(key, log, now_us, tokens)
  if tokens == 0 then return end
  local us, count = nil, log.base
  if log.length > log.from then us, count = log_entry(key, log, log.length - 1) end
  set_last_entry(log, us == now_us and log.length - 1 or log.length, now_us, count + tokens)
  log.kept, log.used = log.kept + tokens, log.used + tokens
end
local function write_sliding_log(key, now_us, log)
  local newest_us, live, more = now_us, log.length - log.from, ''
  if live > 0 then newest_us = log_entry(key, log, log.length - 1) end
  if log.length > log.to then more = struct.pack('<I6I2', log.more_us % TIMES, log.more_count) end
  local expiry_ms = ceil((newest_us + log.keep_us - now_us) / 1000) + 1
  local is_whole = live < 2 or log.from >= 64 and 2 * log.from >= log.to or log.at > LOG_HEAD
  local from, to, entries = log.from, log.length, ''
  if is_whole then
    from, to = 0, live
    if log.to > log.from then
      entries = redis.call('GETRANGE', key, log.at + 8 * log.from, log.at + 8 * log.to - 1)
    end
  end
  local head =
    struct.pack('<BdddI2I2I4I4', 5, log.keep_us, log.kept_us, newest_us, log.keep_tokens, log.base, from, to)
  if is_whole then
    redis.call('SET', key, table.concat({ head, entries, more }), 'PX', expiry_ms)
  else
    redis.call('SETRANGE', key, 0, head)
    if more ~= '' then redis.call('SETRANGE', key, LOG_HEAD + 8 * log.to, more) end
    redis.call('PEXPIRE', key, expiry_ms)
  end
  return expiry_ms
end
local function charge_window(key, now_us, policy, window)
  if policy[1] == 'l' then charge_sliding_log(key, window[3], now_us, window[4]) end
end
local function write_window(key, now_us, policy, window)
  if policy[1] == 'f' then
    return write_fixed_window(key, now_us, policy[3], window[3], window[4], window[6], window[7])
  elseif policy[1] == 'c' then
    return write_sliding_counter(key, now_us, policy[3], window[3], window[4], window[5], window[6], window[7])
  end
  return write_sliding_log(key, now_us, window[3])
end
local function reset_window(policy, window)
  if policy[1] == 'l' then
    local log = window[3]
    cut_log(log, log.from)
    log.kept, log.used = 0, 0
  else
    window[4], window[5] = window[6], 0
  end
end
local function reply_token_bucket(reply, n, now_us, level, time_us, older, older_death_us, newer, newer_death_us,
  tokens, newer_id, life_us, contended)
  local flag, first = 32 * tokens, n + 1
  n = n + 2
  reply[n] = level
  if time_us ~= now_us then
    flag, n = flag + 1, n + 1
    reply[n] = time_us
  end
  if older > 0 then
    flag, n = flag + 2, n + 2
    reply[n - 1], reply[n] = older, older_death_us
  end
  if newer > 0 and (newer ~= tokens or newer_death_us ~= now_us + life_us) then
    flag, n = flag + 4, n + 2
    reply[n - 1], reply[n] = newer, newer_death_us
  end
  if tokens > 0 and newer_id ~= now_us then
    flag, n = flag + 8, n + 1
    reply[n] = newer_id
  end
  if contended then flag = flag + 16 end
  reply[first] = flag
  return n
end
local function reply_fault(reply, n, code)
  reply[n + 1], reply[n + 2] = -1, code
  return n + 2
end
local function reply_block(reply, n, until_us)
  if not until_us then return n end
  reply[n + 1], reply[n + 2] = -2, until_us
  return n + 2
end
local now_us = server_time_us()
local argv = cjson.decode(ARGV[1])
local policies, slot = read_policies(argv)
local values = policies.has_log and {} or redis.call('MGET', unpack(KEYS))
local reply, n = { now_us }, 1
for i = 1, #KEYS do
  local policy = policies[argv[slot]]
  slot = slot + 1
  if values[i] == nil then values[i] = value_of(KEYS[i], policy) end
  local value, _, _, block_bytes = without_block(KEYS[i], values[i], now_us, policy[1])
  if policy[1] ~= 't' then
    local window = read_window(KEYS[i], value, now_us, policy, block_bytes)
      or read_window(KEYS[i], false, now_us, policy, 0)
    reset_window(policy, window)
    n = reply_window(reply, n, KEYS[i], policy, window, nil, 0)
    write_window(KEYS[i], now_us, policy, window)
  else
    local scale, per_tick, tick_us, burst = policy[2], policy[3], policy[4], policy[5]
    if not read_token_bucket(value, now_us, scale, per_tick, tick_us, burst) then value = false end
    local _, time_us, full_us, older, older_id, older_death_us, newer, newer_id, newer_death_us, demand =
      read_token_bucket(value, now_us, scale, per_tick, tick_us, burst)
    local level = math.max(0, (burst - older - newer) * scale)
    write_token_bucket(KEYS[i], now_us, scale, level, time_us, full_us, older, older_id, older_death_us, newer,
      newer_id, newer_death_us, demand)
    n = reply_token_bucket(reply, n, now_us, level, time_us, older, older_death_us, newer, newer_death_us, 0)
  end
end
return reply
`,
};

/** lua/take.lua: Takes tokens: settles what lease holders report, serves asks in order, each on all its buckets or on none, and leases what is wished for, in one atomic step on the server's clock. A refused ask takes nothing. */
export const take: GeneratedScript<{ readonly head: 1; readonly bucket: 2; readonly run: 1 }> = {
  name: "take",
  sha1: "43ff6a79f685e0e661308d98fd7ece39e7688cc9",
  arity: { head: 1, bucket: 2, run: 1 },
  text: `-- spillway: take
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
local function take_counter(key, args, now_us)
  local value, period_us, cost, served = redis.pcall('GET', key), args[3], args[4], args[5]
  local start_us, previous, current, carried = now_us, 0, 0, 0
  if value then
    if #value ~= 25 then return nil end
    local byte
    byte, start_us, previous, current = struct.unpack('<Bddd', value)
    if not (byte == 4 and start_us >= 0 and start_us <= now_us and previous >= 0 and previous <= 35184372088832
      and current >= 0 and current <= 35184372088832) then return nil end
    if now_us - start_us >= period_us then
      if now_us - start_us < 2 * period_us then
        start_us, previous, current = start_us + period_us, current, 0
      else
        start_us, previous, current = now_us, 0, 0
      end
    end
    if previous > 0 then
      carried = previous * (start_us + period_us - now_us)
      if carried > 9007199254740991 then return nil end
      carried = carried / period_us
      carried = carried + -carried % 1
    end
  end
  if cost > 0 then
    local most = (args[2] - current - carried) / cost
    most = most - most % 1
    if most < 0 then most = 0 end
    if most < served then served = most end
    current = current + served * cost
  end
  local expiry_ms = (start_us + 2 * period_us - now_us) / 1000
  redis.call('SET', key, struct.pack('<Bddd', 4, start_us, previous, current), 'PX', expiry_ms + -expiry_ms % 1 + 1)
  return { now_us, 0, current, start_us, previous, served }
end
  local reply = take_counter(KEYS[1], given, call_us)
  if reply then return reply end
end
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
if letter == 'r' then
  local NOBODY = '\\1\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0'
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
local function take_window(told, last, bytes, args, at, lease_us, now_us, price, count, asked)
  local limit, period_us, start_us, used, previous, leased, lease_id = -args[at - 3], args[at - 2], now_us, 0, 0, 0, 0
  local is_counter, carried = args[at - 1] == 2, 0
  if args[at - 1] == 1 then start_us = now_us - now_us % period_us end
  if bytes then
    local byte, length, out, out_id = 3, #bytes, 0, 0
    local form, stored_us, count_before
    if is_counter then
      if length == 25 then
        byte, form, stored_us, previous, count_before = 4, struct.unpack('<Bddd', bytes)
      elseif length == 41 then
        byte, form, stored_us, previous, count_before, out, out_id = 7, struct.unpack('<Bddddd', bytes)
      end
    elseif length == 17 then
      form, stored_us, count_before = struct.unpack('<Bdd', bytes)
    elseif length == 33 then
      byte, form, stored_us, count_before, out, out_id = 6, struct.unpack('<Bdddd', bytes)
    end
    if not (form == byte and stored_us >= 0 and stored_us <= now_us and previous >= 0 and previous <= 35184372088832
      and count_before >= 0 and count_before <= 35184372088832 and out >= 0 and out <= count_before and out_id >= 0
      and out_id <= 9007199254740992) then return nil end
    if now_us - stored_us < period_us then
      start_us, used, leased, lease_id = stored_us, count_before, out, out_id
    elseif is_counter and now_us - stored_us < 2 * period_us then
      start_us, previous = stored_us + period_us, count_before
    else
      previous = 0
    end
    if previous > 0 then
      carried = previous * (start_us + period_us - now_us)
      if carried > 9007199254740991 then return nil end
      carried = carried / period_us
      carried = carried + -carried % 1
    end
  end
  for s = at + 2, at + 1 + 3 * args[at + 1], 3 do
    if leased > 0 and lease_id == args[s] then
      local closed, returned = args[s + 1], args[s + 2]
      if closed > leased then closed = leased end
      if returned > closed then returned = closed end
      leased, used = leased - closed, used - returned
    end
  end
  local tokens, wish, rest_us = 0, args[at], start_us + period_us - now_us
  if price > 0 then
    local most = (limit - used - carried) / price
    most = most - most % 1
    if most < 0 then most = 0 end
    if most < count then count = most end
    used = used + count * price
  end
  if wish > 0 and count >= asked and 4 * rest_us >= lease_us then
    tokens = (limit - used - carried) / 4
    if tokens > wish then tokens = wish end
    tokens = tokens - tokens % 1
    if tokens < 0 then tokens = 0 end
    if tokens > 0 and leased == 0 then lease_id = now_us end
    leased, used = leased + tokens, used + tokens
  end
  local flag, first = 32 * tokens, last + 1
  told[last + 2], told[last + 3], last = used, start_us, last + 3
  if is_counter then
    rest_us, last = rest_us + period_us, last + 1
    told[last] = previous
  end
  if leased > 0 then
    if leased ~= tokens then
      flag, last = flag + 4, last + 1
      told[last] = leased
    end
    if tokens > 0 and lease_id ~= now_us then
      flag, last = flag + 8, last + 1
      told[last] = lease_id
    end
    if is_counter then
      bytes = struct.pack('<Bddddd', 7, start_us, previous, used, leased, lease_id)
    else
      bytes = struct.pack('<Bdddd', 6, start_us, used, leased, lease_id)
    end
  elseif is_counter then
    bytes = struct.pack('<Bddd', 4, start_us, previous, used)
  else
    bytes = struct.pack('<Bdd', 3, start_us, used)
  end
  told[first] = flag
  return count, bytes, rest_us / 1000, last
end
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
  for i = 1, argv[1] do
    local slot = 5 * i - 3
    policies[i] = { argv[slot], argv[slot + 1], argv[slot + 2], argv[slot + 3], argv[slot + 4] }
    if argv[slot] == 'l' then policies.has_log = true end
  end
  return policies, 2 + 5 * #policies
end
local function long_form(args, bucket_count)
  local form = args[1]
  if form == 's' then return { 1, 't', args[2], args[3], 1, args[4], 1, args[6], 1, 1, args[5] } end
  if form == 'c' then return { 1, 'c', args[2], args[3], 0, 0, 1, args[5], 1, 1, args[4] } end
  if form == 'm' then
    local long = { 1, 't', args[2], args[3], 1, args[4] }
    for i = 1, bucket_count do
      local run, asks = 3 + 4 * i + bucket_count, args[6]
      if args[7] then asks = args[5 + i] end
      long[6 + i], long[run], long[run + 1], long[run + 2], long[run + 3] = 1, asks, 1, i, args[5]
    end
    return long
  end
  if form ~= 'r' then return args end
  local long, life_us, asks, slot, n = { bucket_count }, args[2], args[3], 5, 1 + 5 * bucket_count
  if life_us > 0 then slot = 7 end
  for i = 1, bucket_count do
    local policy = 5 * i - 3
    if args[slot] < 0 and args[slot + 2] == 2 then
      long[policy], long[policy + 1], long[policy + 2], long[policy + 3], long[policy + 4] =
        'c', -args[slot], args[slot + 1], 0, 0
    elseif args[slot] < 0 then
      long[policy], long[policy + 1], long[policy + 2], long[policy + 3], long[policy + 4] =
        'f', -args[slot], args[slot + 1], args[slot + 2], 0
    else
      long[policy], long[policy + 1], long[policy + 2], long[policy + 3], long[policy + 4] =
        't', args[slot], args[slot + 1], 1, args[slot + 2]
    end
    slot, n = slot + 3, n + 1
    long[n] = i
    if life_us > 0 then
      long[n], long[n + 1], long[n + 2], long[n + 3], long[n + 4] = -i, args[slot], life_us, args[5], args[6]
      local rest = 1 + 3 * args[slot + 1]
      for k = 1, rest do long[n + 4 + k] = args[slot + k] end
      slot, n = slot + 1 + rest, n + 4 + rest
    end
  end
  if asks >= 0 then
    long[n + 1], long[n + 2] = asks, bucket_count
    for i = 1, bucket_count do long[n + 2 * i + 1], long[n + 2 * i + 2] = i, args[4] end
  end
  return long
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
  local expiry_ms = token_bucket_expiry_ms(full_us, level, escrow_us)
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function read_fixed_window(value, now_us, period_us, aligned)
  local start_us = now_us
  if aligned == 1 then start_us = now_us - now_us % period_us end
  if not value then return start_us, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local stored_us, used
  if form == 3 and #value == 17 then
    stored_us, used = struct.unpack('<dd', value, 2)
  elseif form == 6 and #value == 33 then
    stored_us, used, leased, lease_id = struct.unpack('<dddd', value, 2)
  else
    return nil
  end
  if not (stored_us >= 0 and stored_us <= LARGEST and used >= 0 and used <= LARGEST and leased >= 0 and leased <= used
    and lease_id >= 0 and lease_id <= LARGEST) then return nil end
  if stored_us > now_us then
    if leased > 0 then start_us = now_us end
    return start_us, used, leased, lease_id
  end
  if now_us - stored_us >= period_us then return start_us, 0, 0, 0 end
  return stored_us, used, leased, lease_id
end
local function quotient_up(a, b, divisor)
  local product = a * b
  if product <= 9007199254740991 then return ceil(product / divisor) end
  local quotient, rest = 0, 0
  for bits = 42, 0, -7 do
    local part = rest * 128 + floor(a / 2 ^ bits) % 128 * b
    local whole = floor(part / divisor)
    quotient, rest = quotient * 128 + whole, part - whole * divisor
  end
  if rest > 0 then return quotient + 1 end
  return quotient
end
local function read_sliding_counter(value, now_us, period_us)
  if not value then return now_us, 0, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local start_us, previous, current
  if form == 4 and #value == 25 then
    start_us, previous, current = struct.unpack('<ddd', value, 2)
  elseif form == 7 and #value == 41 then
    start_us, previous, current, leased, lease_id = struct.unpack('<ddddd', value, 2)
  else
    return nil
  end
  if not (start_us >= 0 and start_us <= LARGEST and previous >= 0 and previous <= 35184372088832 and current >= 0
    and current <= 35184372088832 and leased >= 0 and leased <= current and lease_id >= 0
    and lease_id <= LARGEST) then return nil end
  if start_us > now_us then start_us = now_us end
  local windows = floor((now_us - start_us) / period_us)
  if windows == 0 then return start_us, current, previous, leased, lease_id end
  if windows == 1 then return start_us + period_us, 0, current, 0, 0 end
  return now_us, 0, 0, 0, 0
end
local function carried_over(start_us, previous, now_us, period_us)
  if previous == 0 then return 0 end
  return quotient_up(previous, start_us + period_us - now_us, period_us)
end
local LOG_HEAD, TIMES, COUNTS = 37, 281474976710656, 65536
local function log_entry(key, log, index)
  if index == log.to then return log.more_us, log.more_count end
  local us = log.times[index]
  if us then return us, log.counts[index] end
  local at = log.at + 8 * index
  local low, count = struct.unpack('<I6I2', redis.call('GETRANGE', key, at, at + 7))
  us = log.newest_us - (log.newest_us - low) % TIMES
  log.times[index], log.counts[index] = us, count
  return us, count
end
local function log_entry_after(key, log, from, us)
  local step, to = 1, log.length
  while from + step <= to and log_entry(key, log, from + step - 1) <= us do from, step = from + step, 2 * step end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_entry(key, log, middle) > us then to = middle else from = middle + 1 end
  end
  return from
end
local function log_tokens(key, log, from, index, since)
  if index < from then return 0 end
  local _, count = log_entry(key, log, index)
  return (count - since) % COUNTS
end
local function log_entry_of(key, log, from, tokens, since)
  local step, to, first = 1, log.length, from
  while from + step <= to and log_tokens(key, log, first, from + step - 1, since) < tokens do
    from, step = from + step, 2 * step
  end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_tokens(key, log, first, middle, since) >= tokens then to = middle else from = middle + 1 end
  end
  return from
end
local function set_last_entry(log, to, us, count)
  log.to, log.length, log.more_us, log.more_count = to, to + 1, us, count % COUNTS
end
local function cut_log(log, length)
  if length <= log.to then log.to, log.more_us = length, nil end
  log.length = length
end
local function advance_log(key, log, now_us, period_us)
  if log.length > 0 and log.newest_us > now_us then
    local _, count = log_entry(key, log, log.length - 1)
    set_last_entry(log, log_entry_after(key, log, log.from, now_us - 1), now_us, count)
  end
  local from, keep_us = log.from, log.keep_us
  log.from = log_entry_after(key, log, from, now_us - keep_us)
  if log.from > from then
    local _, count = log_entry(key, log, log.from - 1)
    log.base = count
  end
  log.kept = log_tokens(key, log, log.from, log.length - 1, log.base)
  if log.kept > 2 * log.keep_tokens then
    local surplus = log.kept - 2 * log.keep_tokens
    log.from = log_entry_of(key, log, log.from, surplus + 1, log.base)
    log.base, log.kept = (log.base + surplus) % COUNTS, 2 * log.keep_tokens
  end
  log.first, log.before, log.used = log.from, log.base, log.kept
  if keep_us > period_us then
    log.first = log_entry_after(key, log, log.from, now_us - period_us)
    if log.first > log.from then
      local _, count = log_entry(key, log, log.first - 1)
      log.before, log.used = count, log_tokens(key, log, log.first, log.length - 1, count)
    end
  end
end
local function read_sliding_log(key, head, now_us, limit, period_us, block_bytes)
  if not head then
    return { at = LOG_HEAD, from = 0, to = 0, length = 0, base = 0, newest_us = now_us, keep_us = period_us,
      keep_tokens = limit, kept_us = now_us, kept = 0, first = 0, before = 0, used = 0 }
  end
  if #head ~= LOG_HEAD or string.byte(head) ~= 5 then return nil end
  local keep_us, kept_us, newest_us, keep_tokens, base, from, to = struct.unpack('<dddI2I2I4I4', head, 2)
  if not (keep_us >= 1 and keep_us <= 35184372088832 and kept_us >= 0 and kept_us <= LARGEST and newest_us >= 0
    and newest_us <= LARGEST and from <= to) then return nil end
  local log = { at = LOG_HEAD + block_bytes, from = from, to = to, length = to, base = base, newest_us = newest_us,
    times = {}, counts = {} }
  if from < to then
    local last = redis.call('GETRANGE', key, log.at + 8 * to - 8, log.at + 8 * to - 1)
    if #last ~= 8 then return nil end
    local low, count = struct.unpack('<I6I2', last)
    if low ~= newest_us % TIMES then return nil end
    log.times[to - 1], log.counts[to - 1] = newest_us, count
  end
  if kept_us > now_us then kept_us = now_us end
  if period_us >= keep_us or now_us - kept_us >= keep_us then
    if period_us < keep_us then keep_tokens = 0 end
    keep_us, kept_us = period_us, now_us
  end
  if limit > keep_tokens then keep_tokens = limit end
  log.keep_us, log.kept_us, log.keep_tokens = keep_us, kept_us, keep_tokens
  advance_log(key, log, now_us, period_us)
  return log
end
local function reply_sliding_log(reply, n, key, log, limit, costs)
  local used, start = log.used, n + 3
  reply[n + 1], reply[n + 2], n = 0, used, start
  if used > 0 then
    local marks = { max(1, used + 1 - limit), used }
    if costs then
      for i = 1, #costs do
        local cost = costs[i]
        if cost > 0 and cost <= limit and used + cost > limit then marks[#marks + 1] = used + cost - limit end
      end
      table.sort(marks)
    end
    local index, told = log.first, 0
    for i = 1, #marks do
      if marks[i] > told then
        local found = log.length - 1
        if marks[i] < used then found = log_entry_of(key, log, index, marks[i] - told, (log.before + told) % COUNTS) end
        if found > index then
          local between = log_tokens(key, log, log.first, found - 1, log.before)
          reply[n + 1], reply[n + 2] = log_entry(key, log, found - 1), between - told
          if found > index + 1 then reply[n + 2] = told - between end
          n, told = n + 2, between
        end
        local through = log_tokens(key, log, log.first, found, log.before)
        reply[n + 1], reply[n + 2] = log_entry(key, log, found), through - told
        n, told, index = n + 2, through, found + 1
      end
    end
  end
  reply[start] = (n - start) / 2
  return n
end
local function value_of(key, policy)
  local value
  if policy[1] == 'l' then
    value = redis.pcall('GETRANGE', key, 0, LOG_HEAD - 1)
  else
    value = redis.pcall('GET', key)
  end
  if type(value) == 'table' then
    if not string.find(value.err, 'WRONGTYPE', 1, true) then error(value.err, 0) end
    return false
  end
  if value == '' and redis.call('EXISTS', key) == 0 then return false end
  return value
end
local function read_window(key, value, now_us, policy, block_bytes)
  local kind, limit, period_us = policy[1], policy[2], policy[3]
  if kind == 'f' then
    local start_us, used, leased, lease_id = read_fixed_window(value, now_us, period_us, policy[4])
    return start_us and { limit - used, false, start_us, used, 0, leased, lease_id }
  elseif kind == 'c' then
    local start_us, current, previous, leased, lease_id = read_sliding_counter(value, now_us, period_us)
    if not start_us then return nil end
    local carried = carried_over(start_us, previous, now_us, period_us)
    return { limit - current - carried, false, start_us, current, previous, leased, lease_id }
  end
  local log = read_sliding_log(key, value, now_us, limit, period_us, block_bytes)
  return log and { limit - log.used, false, log, 0 }
end
local function reply_window(reply, n, key, policy, window, costs, tokens, now_us)
  if policy[1] == 'l' then return reply_sliding_log(reply, n, key, window[3], policy[2], costs) end
  local flag, first = 32 * tokens, n + 1
  reply[n + 2], reply[n + 3], n = window[4], window[3], n + 3
  if policy[1] == 'c' then
    n = n + 1
    reply[n] = window[5]
  end
  if window[6] ~= tokens then
    flag, n = flag + 4, n + 1
    reply[n] = window[6]
  end
  if tokens > 0 and window[7] ~= now_us then
    flag, n = flag + 8, n + 1
    reply[n] = window[7]
  end
  reply[first] = flag
  return n
end
local function write_fixed_window(key, now_us, period_us, start_us, used, leased, lease_id)
  local value
  if leased == 0 then
    value = struct.pack('<Bdd', 3, start_us, used)
  else
    value = struct.pack('<Bdddd', 6, start_us, used, leased, lease_id)
  end
  local expiry_ms = ceil((start_us + period_us - now_us) / 1000) + 1
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function write_sliding_counter(key, now_us, period_us, start_us, current, previous, leased, lease_id)
  local value
  if leased == 0 then
    value = struct.pack('<Bddd', 4, start_us, previous, current)
  else
    value = struct.pack('<Bddddd', 7, start_us, previous, current, leased, lease_id)
  end
  local expiry_ms = ceil((start_us + 2 * period_us - now_us) / 1000) + 1
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
local function charge_sliding_log(key, log, now_us, tokens)
  if tokens == 0 then return end
  local us, count = nil, log.base
  if log.length > log.from then us, count = log_entry(key, log, log.length - 1) end
  set_last_entry(log, us == now_us and log.length - 1 or log.length, now_us, count + tokens)
  log.kept, log.used = log.kept + tokens, log.used + tokens
end
local function write_sliding_log(key, now_us, log)
  local newest_us, live, more = now_us, log.length - log.from, ''
  if live > 0 then newest_us = log_entry(key, log, log.length - 1) end
  if log.length > log.to then more = struct.pack('<I6I2', log.more_us % TIMES, log.more_count) end
  local expiry_ms = ceil((newest_us + log.keep_us - now_us) / 1000) + 1
  local is_whole = live < 2 or log.from >= 64 and 2 * log.from >= log.to or log.at > LOG_HEAD
  local from, to, entries = log.from, log.length, ''
  if is_whole then
    from, to = 0, live
    if log.to > log.from then
      entries = redis.call('GETRANGE', key, log.at + 8 * log.from, log.at + 8 * log.to - 1)
    end
  end
  local head =
    struct.pack('<BdddI2I2I4I4', 5, log.keep_us, log.kept_us, newest_us, log.keep_tokens, log.base, from, to)
  if is_whole then
    redis.call('SET', key, table.concat({ head, entries, more }), 'PX', expiry_ms)
  else
    redis.call('SETRANGE', key, 0, head)
    if more ~= '' then redis.call('SETRANGE', key, LOG_HEAD + 8 * log.to, more) end
    redis.call('PEXPIRE', key, expiry_ms)
  end
  return expiry_ms
end
local function charge_window(key, now_us, policy, window)
  if policy[1] == 'l' then charge_sliding_log(key, window[3], now_us, window[4]) end
end
local function write_window(key, now_us, policy, window)
  if policy[1] == 'f' then
    return write_fixed_window(key, now_us, policy[3], window[3], window[4], window[6], window[7])
  elseif policy[1] == 'c' then
    return write_sliding_counter(key, now_us, policy[3], window[3], window[4], window[5], window[6], window[7])
  end
  return write_sliding_log(key, now_us, window[3])
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
local function lease_size(wish, shelf, contended, left, share)
  local most = share * shelf / 2
  if contended then most = min(left, shelf) end
  return max(0, min(wish, floor(most)))
end
local function granted_lease(tokens, life_us, now_us, older, older_id, older_death_us, newer, newer_id, newer_death_us)
  if older == 0 or newer == 0 then
    local last_id = max(older_id, newer_id)
    if newer > 0 then older, older_id, older_death_us = newer, newer_id, newer_death_us end
    newer, newer_id, newer_death_us = 0, max(now_us, last_id + 1), 0
  end
  if older > 0 and older_death_us > newer_death_us then newer_death_us = older_death_us end
  return older, older_id, older_death_us, newer + tokens, newer_id, max(newer_death_us, now_us + life_us)
end
local function settle_window(window, argv, report)
  for s = report + 5, report + 2 + 3 * argv[report + 4], 3 do
    if window[6] > 0 and window[7] == argv[s] then
      local closed = min(argv[s + 1], window[6])
      local returned = min(argv[s + 2], closed)
      window[6] = window[6] - closed
      window[1], window[4] = window[1] + returned, window[4] - returned
    end
  end
  window.wish, window.life_us = argv[report], argv[report + 1]
end
local function lease_window(window, now_us, period_us)
  if not window.wish or window[2] or window.until_us then return 0 end
  if 4 * (window[3] + period_us - now_us) < window.life_us then return 0 end
  local tokens = max(0, min(window.wish, floor(window[1] / 4)))
  if tokens == 0 then return 0 end
  if window[6] == 0 then window[7] = now_us end
  window[1], window[4], window[6] = window[1] - tokens, window[4] + tokens, window[6] + tokens
  return tokens
end
local LEFT, REFUSED, LEVEL, TIME_US, FULL_US, OLDER, OLDER_ID, OLDER_DEATH_US, NEWER, NEWER_ID, NEWER_DEATH_US, DEMAND =
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
local WISH, LIFE_US, CONTENDED, SHARE, ASKED = 13, 14, 15, 16, 17
local USED, COSTS = 4, 5
local function open_bucket(key, value, now_us, policy, argv, report, block_bytes)
  if is_foreign(key, value) then return false end
  if policy[1] ~= 't' then
    local window = read_window(key, value, now_us, policy, block_bytes)
    if window and report and policy[1] ~= 'l' then settle_window(window, argv, report) end
    return window
  end
  local units_per_token, units_per_tick, tick_us, burst = policy[2], policy[3], policy[4], policy[5]
  local level, time_us, full_us, older, older_id, older_death_us, newer, newer_id, newer_death_us, demand, quiet_us =
    read_token_bucket(value, now_us, units_per_token, units_per_tick, tick_us, burst)
  if not level then return false end
  if not report then
    return { math.huge, false, level, time_us, full_us, older, older_id, older_death_us, newer, newer_id,
      newer_death_us, demand }
  end
  local life_us = argv[report + 1]
  local step = life_us / (life_us + quiet_us / 4)
  demand = demand * step * step * step * step + argv[report + 2]
  for s = report + 5, report + 2 + 3 * argv[report + 4], 3 do
    level, older, newer = settled_lease(argv[s], argv[s + 1], argv[s + 2], level, older, older_id, newer, newer_id,
      units_per_token, burst)
  end
  local left, contended, share =
    budget_of(level, demand, argv[report + 3], life_us, units_per_token, units_per_tick, tick_us, burst)
  return { left, false, level, time_us, full_us, older, older_id, older_death_us, newer, newer_id, newer_death_us,
    demand, argv[report], life_us, contended, share, false }
end
local function serve_run(argv, asks, first, last, buckets, policy_of)
  local served = asks
  for c = first, last, 2 do
    local i, cost = argv[c], argv[c + 1]
    local b = buckets[i]
    if not b or b.until_us then
      served = 0
    elseif cost > 0 then
      local policy, most = policy_of[i], floor(b[LEFT] / cost)
      if policy[1] == 't' then
        local on_shelf = floor(b[LEVEL] / (cost * policy[2]))
        if most < 1 and not b[ASKED] then most = 1 end
        if on_shelf < most then most = on_shelf end
      end
      if most < served then served = most end
    end
  end
  if served < 0 then served = 0 end
  for c = first, last, 2 do
    local i, cost = argv[c], argv[c + 1]
    local b, policy = buckets[i], policy_of[i]
    if b then
      if served < asks then
        b[REFUSED] = true
        if policy[1] == 'l' then
          b[COSTS] = b[COSTS] or {}
          b[COSTS][#b[COSTS] + 1] = cost
        end
      end
      if b[WISH] and asks > 0 and cost > 0 then b[ASKED] = true end
      local charged = served * cost
      b[LEFT] = b[LEFT] - charged
      if policy[1] == 't' then b[LEVEL] = b[LEVEL] - charged * policy[2] else b[USED] = b[USED] + charged end
    end
  end
  return served
end
local function reply_token_bucket(reply, n, now_us, level, time_us, older, older_death_us, newer, newer_death_us,
  tokens, newer_id, life_us, contended)
  local flag, first = 32 * tokens, n + 1
  n = n + 2
  reply[n] = level
  if time_us ~= now_us then
    flag, n = flag + 1, n + 1
    reply[n] = time_us
  end
  if older > 0 then
    flag, n = flag + 2, n + 2
    reply[n - 1], reply[n] = older, older_death_us
  end
  if newer > 0 and (newer ~= tokens or newer_death_us ~= now_us + life_us) then
    flag, n = flag + 4, n + 2
    reply[n - 1], reply[n] = newer, newer_death_us
  end
  if tokens > 0 and newer_id ~= now_us then
    flag, n = flag + 8, n + 1
    reply[n] = newer_id
  end
  if contended then flag = flag + 16 end
  reply[first] = flag
  return n
end
local function reply_fault(reply, n, code)
  reply[n + 1], reply[n + 2] = -1, code
  return n + 2
end
local function reply_block(reply, n, until_us)
  if not until_us then return n end
  reply[n + 1], reply[n + 2] = -2, until_us
  return n + 2
end
local function finish_bucket(reply, n, key, policy, b, now_us)
  local level, older, older_id, older_death_us, newer, newer_id, newer_death_us =
    b[LEVEL], b[OLDER], b[OLDER_ID], b[OLDER_DEATH_US], b[NEWER], b[NEWER_ID], b[NEWER_DEATH_US]
  local tokens, life_us, contended = 0, b[LIFE_US], b[CONTENDED] == 1
  if b[WISH] and not b[REFUSED] and not b.until_us then
    tokens = lease_size(b[WISH], level / policy[2], contended, b[LEFT], b[SHARE])
  end
  if tokens > 0 then
    level, older, older_id, older_death_us, newer, newer_id, newer_death_us = level - tokens * policy[2],
      granted_lease(tokens, life_us, now_us, older, older_id, older_death_us, newer, newer_id, newer_death_us)
  end
  local expiry_ms = write_token_bucket(key, now_us, policy[2], level, b[TIME_US], b[FULL_US], older, older_id,
    older_death_us, newer, newer_id, newer_death_us, b[DEMAND])
  n = reply_token_bucket(reply, n, now_us, level, b[TIME_US], older, older_death_us, newer, newer_death_us,
    tokens, newer_id, life_us, contended)
  return n, expiry_ms
end
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
local function without_block(key, value, now_us, kind)
  if not value or string.byte(value) ~= 9 or #value < 18 then return value, nil, nil, 0 end
  local _, from_us, until_us = struct.unpack('<Bdd', value)
  if not (from_us >= 0 and from_us <= LARGEST and until_us >= 0 and until_us <= LARGEST) then
    return value, nil, nil, 0
  end
  if kind == 'l' then
    value = redis.call('GETRANGE', key, 17, 16 + LOG_HEAD)
  else
    value = string.sub(value, 18)
  end
  if from_us > now_us then from_us, until_us = now_us, until_us - (from_us - now_us) end
  if until_us <= now_us then return value, nil, nil, 17 end
  return value, from_us, until_us, 17
end
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
local function write_block(key, now_us, from_us, end_us, least_ms)
  local value = table.concat({ struct.pack('<Bdd', 9, from_us, end_us), redis.call('GET', key) })
  redis.call('SET', key, value, 'PX', max(least_ms, ceil((end_us - now_us) / 1000) + 1))
end
    write_block(KEYS[i], call_us, b.from_us, until_us, expiry_ms)
  end
end
for i = 1, run do reply[n + i] = served[i] end
if n + run < 8 then reply[n + run + 1] = nil end
return reply
`,
};
