-- Gives tokens back (a refund), never above full, or takes them without asking (a penalty), at most one capacity deep.
--
-- @arity head=1 bucket=3 lease=7
-- KEYS: one per bucket, all in one slot.
-- ARGV: the policies as in take.lua, then per bucket the number of its policy, from 1, and the tokens: above 0 to give back.
-- Returns: the server's time in us; per bucket what take.lua returns.
-- Writes: every readable bucket, with the expiry of take.lua.

-- @include lib/clock
-- @include lib/refill
-- @include lib/expiry
-- @include lib/arguments
-- @include lib/token-bucket
-- @include lib/fixed-window
-- @include lib/buckets
-- @include lib/write
-- @include lib/adjust

local now_us = server_time_us()
local policies, slot = read_policies()
local values = redis.call('MGET', unpack(KEYS))
local reply = { now_us }
for i = 1, #KEYS do
  local policy, tokens = policies[tonumber(ARGV[slot])], tonumber(ARGV[slot + 1])
  slot = slot + 2
  local b = read_bucket(KEYS[i], values[i], policy, now_us)
  if not b.fault then
    if policy.kind == 't' then
      adjust_token_bucket(b, policy, tokens)
    else
      adjust_fixed_window(b, policy, tokens)
    end
  end
  write_bucket(KEYS[i], b, policy, now_us)
  reply_bucket(reply, b, policy, nil)
end
return reply
