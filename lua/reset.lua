-- Makes buckets as if unused, but for tokens out on lease, which still count until they are settled or die. A block ends. A
-- bucket that cannot be read is replaced.
--
-- @arity head=1 bucket=2
-- KEYS: one per bucket, all in one slot.
-- ARGV[1]: a JSON array: the policies as in take.lua, then per bucket the number of its policy, from 1.
-- Returns: the server's time in us; per bucket what take.lua returns.
-- Writes: every bucket, with the expiry of take.lua.

-- @include lib/clock
-- @include lib/refill
-- @include lib/expiry
-- @include lib/arguments
-- @include lib/token-bucket
-- @include lib/write-token-bucket
-- @include lib/windows
-- @include lib/block
-- @include lib/write-windows
-- @include lib/reset-window
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
