-- Writes a sliding counter, always with an expiry.
local function write_sliding_counter(key, now_us, period_us, start_us, current, previous, from_us, until_us)
  local expiry_ms = ceil((start_us + 2 * period_us - now_us) / 1000) + 1
  write_value(key, struct.pack('<Bddd', 4, start_us, previous, current), expiry_ms, now_us, from_us, until_us)
end
