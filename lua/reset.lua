-- Makes buckets as if unused, but for tokens out on lease, which still count until they are settled or die. A bucket that
-- cannot be read is replaced.
--
-- @arity head=1 bucket=3 lease=7
-- KEYS: one per bucket, all in one slot.
-- ARGV: the policies as in take.lua, then per bucket the number of its policy, from 1.
-- Returns: the server's time in us; per bucket what take.lua returns.
-- Writes: every bucket, with the expiry of take.lua.

-- @include lib/clock
-- @include lib/refill
-- @include lib/expiry
-- @include lib/arguments
-- @include lib/token-bucket
-- @include lib/fixed-window
-- @include lib/buckets
-- @include lib/write

local now_us = server_time_us()
local policies, slot = read_policies()
local values = redis.call('MGET', unpack(KEYS))
local reply = { now_us }
for i = 1, #KEYS do
  local policy = policies[tonumber(ARGV[slot + i - 1])]
  local b = read_bucket(KEYS[i], values[i], policy, now_us)
  if b.fault then
    b = open_bucket(policy, now_us)
    if policy.kind == 't' then advance_token_bucket(b, policy, now_us) end
  elseif policy.kind == 't' then
    b.level = token_bucket_ceiling(b, policy)
  else
    b.used = 0
  end
  write_bucket(KEYS[i], b, policy, now_us)
  reply_bucket(reply, b, policy, nil)
end
return reply
