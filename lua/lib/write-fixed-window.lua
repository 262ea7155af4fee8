-- Writes a window, always with an expiry.
local function write_fixed_window(key, now_us, period_us, start_us, used)
  redis.call('SET', key, struct.pack('<Bdd', 3, start_us, used), 'PX', ceil((start_us + period_us - now_us) / 1000) + 1)
end
