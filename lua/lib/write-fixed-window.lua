-- Writes a window, always with an expiry.
local function write_fixed_window(key, now_us, period_us, start_us, used, from_us, until_us)
  local expiry_ms = ceil((start_us + period_us - now_us) / 1000) + 1
  write_value(key, struct.pack('<Bdd', 3, start_us, used), expiry_ms, now_us, from_us, until_us)
end
