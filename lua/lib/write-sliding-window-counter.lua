-- Writes a sliding counter, always with an expiry, which it returns. The first byte of the value says whether tokens are on
-- lease.
local function write_sliding_counter(key, now_us, period_us, start_us, current, previous, leased, lease_id)
  local value
  if leased == 0 then
    value = struct.pack('<Bddd', 4, start_us, previous, current)
  else
    value = struct.pack('<Bddddd', 7, start_us, previous, current, leased, lease_id)
  end
  local expiry_ms = ceil((start_us + 2 * period_us - now_us) / 1000) + 1
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
