local min = math.min

-- How long a token bucket matters, in whole milliseconds: the longest time to full, as much again for a debt (a policy that
-- this bucket has lived under may repay it slower than this one), the rest of the escrow's life. Never above a hundred years.
local function token_bucket_expiry_ms(full_us, level, escrow_us)
  local us = full_us + escrow_us
  if level < 0 then us = us + full_us end
  return min(ceil(us / 1000) + 1, 3153600000000)
end
