-- How long a token bucket matters, in whole milliseconds, and never above a hundred years.
local function expiry_ms(full_us, level, units_per_tick, tick_us, escrow_us)
  local debt_us = math.ceil(math.max(0, -level) / units_per_tick) * tick_us
  return math.min(math.ceil((full_us + debt_us + escrow_us) / 1000) + 1, 3153600000000)
end
