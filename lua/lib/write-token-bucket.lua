-- Writes a token bucket, always with an expiry, which it returns. The first byte of the value names its form.
local function write_token_bucket(key, now_us, units_per_token, level, time_us, full_us, older, older_id,
  older_death_us, newer, newer_id, newer_death_us, demand)
  local value
  if newer_id == 0 and demand == 0 then
    value = struct.pack('<Bdddd', 1, level, time_us, units_per_token, full_us)
  else
    value = struct.pack('<Bddddddddddd', 2, level, time_us, units_per_token, full_us, older, older_id, older_death_us,
      newer, newer_id, newer_death_us, demand)
  end
  local escrow_us = 0
  if older > 0 then escrow_us = older_death_us - now_us end
  if newer > 0 and newer_death_us - now_us > escrow_us then escrow_us = newer_death_us - now_us end
  local expiry_ms = token_bucket_expiry_ms(full_us, level, escrow_us)
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
