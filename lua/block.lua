-- Blocks buckets, so that they serve nobody until then; in place of a block that there is already. What they hold goes on as
-- without it.
--
-- @arity head=1 bucket=2
-- KEYS: one per bucket, all in one slot.
-- ARGV[1]: a JSON array: the policies as in take.lua, per bucket the number of its policy, from 1, then for how many us from
--          now; 0 ends a block.
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
-- @include lib/report

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
