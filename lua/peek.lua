-- Reads buckets as they stand now.
--
-- @arity head=1 bucket=3 lease=7
-- KEYS: one per bucket, all in one slot.
-- ARGV: the policies as in take.lua, then per bucket the number of its policy, from 1.
-- Returns: the server's time in us; per bucket what take.lua returns.
-- Writes: nothing.

-- @include lib/clock
-- @include lib/refill
-- @include lib/arguments
-- @include lib/token-bucket
-- @include lib/fixed-window
-- @include lib/buckets

local now_us = server_time_us()
local policies, slot = read_policies()
local values = redis.call('MGET', unpack(KEYS))
local reply = { now_us }
for i = 1, #KEYS do
  local policy = policies[tonumber(ARGV[slot + i - 1])]
  reply_bucket(reply, read_bucket(KEYS[i], values[i], policy, now_us), policy, nil)
end
return reply
