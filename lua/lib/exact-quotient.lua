-- a * b / divisor rounded up, as packages/spillway/src/algorithms/exact-quotient.ts computes it: to the last digit, though the
-- product may pass 2^53. `a` is below 2^49, `b` and `divisor` are below 2^45.
local function quotient_up(a, b, divisor)
  local product = a * b
  if product <= 9007199254740991 then return ceil(product / divisor) end
  local quotient, rest = 0, 0
  for bits = 42, 0, -7 do
    local part = rest * 128 + floor(a / 2 ^ bits) % 128 * b
    local whole = floor(part / divisor)
    quotient, rest = quotient * 128 + whole, part - whole * divisor
  end
  if rest > 0 then return quotient + 1 end
  return quotient
end
