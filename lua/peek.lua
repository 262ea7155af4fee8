-- Reads buckets as they stand now.
--
-- @arity head=1 bucket=2
-- KEYS: one per bucket, all in one slot.
-- ARGV[1]: a JSON array: the policies as in take.lua, then per bucket the number of its policy, from 1.
-- Returns: the server's time in us; per bucket what take.lua returns.
-- Writes: nothing.

-- @include lib/clock
-- @include lib/refill
-- @include lib/arguments
-- @include lib/fault
-- @include lib/token-bucket
-- @include lib/windows
-- @include lib/block
-- @include lib/report

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
