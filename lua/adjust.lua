-- Gives tokens back (a refund), never above full, or takes them without asking (a penalty), at most one capacity deep. A block stays.
--
-- @arity head=1 bucket=2
-- KEYS: one per bucket, all in one slot.
-- ARGV[1]: a JSON array: the policies as in take.lua, then per bucket the number of its policy, from 1, and the tokens: above 0
--          to give back.
-- Returns: the server's time in us; per bucket what take.lua returns.
-- Writes: every readable bucket, with the expiry of take.lua.

-- @include lib/clock
-- @include lib/refill
-- @include lib/expiry
-- @include lib/arguments
-- @include lib/fault
-- @include lib/token-bucket
-- @include lib/write-token-bucket
-- @include lib/windows
-- @include lib/block
-- @include lib/write-block
-- @include lib/write-windows
-- @include lib/adjust-window
-- @include lib/report

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
