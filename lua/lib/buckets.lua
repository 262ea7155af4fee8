-- Buckets of every algorithm, told apart by policy.kind: 't' token bucket, 'f' fixed window. A bucket that cannot be read
-- is { fault = 1 } (the key holds another type) or { fault = 2 } (a value that none of our scripts wrote).

local function open_bucket(policy, now_us)
  if policy.kind == 't' then return open_token_bucket(policy, now_us) end
  return open_fixed_window(policy, now_us)
end

-- The bucket behind a key as MGET gave it, brought to now. MGET gives nothing for a key of another type.
local function read_bucket(key, value, policy, now_us)
  local b
  if not value then
    if redis.call('EXISTS', key) == 1 then return { fault = 1 } end
    b = open_bucket(policy, now_us)
  elseif policy.kind == 't' then
    b = unpack_token_bucket(value)
  else
    b = unpack_fixed_window(value)
  end
  if not b then return { fault = 2 } end
  if policy.kind == 't' then
    b.quiet_us = math.max(0, now_us - b.time_us)
    advance_token_bucket(b, policy, now_us)
  else
    advance_fixed_window(b, policy, now_us)
  end
  return b
end

-- Appends a bucket's block to a reply: flag and two numbers; a token bucket with escrow or with a lease adds seven.
local function reply_bucket(reply, b, policy, lease)
  local n = #reply
  if b.fault then
    reply[n + 1], reply[n + 2], reply[n + 3] = -1, b.fault, 0
  elseif policy.kind == 'f' then
    reply[n + 1], reply[n + 2], reply[n + 3] = 0, b.used, b.start_us
  elseif not lease and b.older_tokens == 0 and b.newer_tokens == 0 then
    reply[n + 1], reply[n + 2], reply[n + 3] = 0, b.level, b.time_us
  else
    reply[n + 1], reply[n + 2], reply[n + 3] = 1, b.level, b.time_us
    reply[n + 4], reply[n + 5], reply[n + 6], reply[n + 7] =
      b.older_tokens, b.older_death_us, b.newer_tokens, b.newer_death_us
    if lease then
      reply[n + 8], reply[n + 9], reply[n + 10] = lease.id, lease.tokens, lease.contended
    else
      reply[n + 8], reply[n + 9], reply[n + 10] = 0, 0, 0
    end
  end
end
