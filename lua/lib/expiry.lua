-- How long a token bucket matters, in whole milliseconds: the longest time to full, the debt's time, the rest of the escrow's
-- life. Never above a hundred years.
local function token_bucket_expiry_ms(full_us, level, units_per_tick, tick_us, escrow_us)
  local us = full_us + escrow_us
  if level < 0 then us = us + ceil(-level / units_per_tick) * tick_us end
  return math.min(ceil(us / 1000) + 1, 3153600000000)
end
