-- Writes a window, always with an expiry, which it returns.
local function write_fixed_window(key, now_us, period_us, start_us, used)
  local expiry_ms = ceil((start_us + period_us - now_us) / 1000) + 1
  redis.call('SET', key, struct.pack('<Bdd', 3, start_us, used), 'PX', expiry_ms)
  return expiry_ms
end
