-- Stored values, and how long they matter. The first byte names the form.

local function pack_token_bucket(b)
  if b.older_tokens == 0 and b.newer_tokens == 0 and b.demand == 0 and b.newer_id == 0 then
    return struct.pack('<Bdddd', 1, b.level, b.time_us, b.scale, b.full_us)
  end
  return struct.pack('<Bddddddddddd', 2, b.level, b.time_us, b.scale, b.full_us, b.older_tokens, b.older_id,
    b.older_death_us, b.newer_tokens, b.newer_id, b.newer_death_us, b.demand)
end

local function token_bucket_expiry_ms(b, policy, now_us)
  local escrow_us = 0
  if b.older_tokens > 0 then escrow_us = math.max(escrow_us, b.older_death_us - now_us) end
  if b.newer_tokens > 0 then escrow_us = math.max(escrow_us, b.newer_death_us - now_us) end
  return expiry_ms(b.full_us, b.level, policy.units_per_tick, policy.tick_us, escrow_us)
end

local function pack_fixed_window(b)
  return struct.pack('<Bdd', 3, b.start_us, b.used)
end

-- Writes a bucket that can be read, always with an expiry.
local function write_bucket(key, b, policy, now_us)
  if b.fault then return end
  if policy.kind == 't' then
    redis.call('SET', key, pack_token_bucket(b), 'PX', token_bucket_expiry_ms(b, policy, now_us))
  else
    redis.call('SET', key, pack_fixed_window(b), 'PX', math.ceil((b.start_us + policy.period_us - now_us) / 1000) + 1)
  end
end
