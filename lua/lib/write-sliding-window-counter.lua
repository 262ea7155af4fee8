-- Writes a sliding counter, always with an expiry, which it returns.
local function write_sliding_counter(key, now_us, period_us, start_us, current, previous)
  local expiry_ms = ceil((start_us + 2 * period_us - now_us) / 1000) + 1
  redis.call('SET', key, struct.pack('<Bddd', 4, start_us, previous, current), 'PX', expiry_ms)
  return expiry_ms
end
