-- Windows of every kind, by their policy: kind, limit, period in us, and for 'f' whether it is aligned.

-- @include lib/fixed-window
-- @include lib/sliding-window-counter
-- @include lib/sliding-window-log

-- What MGET would give for a key, but of a log its head alone: a call about logs asks for one key after another. Whatever is
-- wrong with the server, rather than with the key, ends the call.
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

-- A window brought to now: what is left of its limit, false, and what its kind keeps. In all kinds the fourth is what a call
-- adds its charges to; the sixth is how much of it is on lease, the seventh the lease's id. nil when none of our scripts wrote
-- the value.
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

-- Appends to a reply how a window stands, before it is written; returns the next n. `costs` are those that were refused,
-- `tokens` were leased just now.
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
