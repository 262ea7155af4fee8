-- Tokens given back or taken without asking.

local function adjust_token_bucket(b, policy, tokens)
  local moved = b.level + tokens * policy.units_per_token
  if tokens > 0 then
    b.level = math.max(b.level, math.min(moved, token_bucket_ceiling(b, policy)))
  else
    b.level = math.max(moved, -policy.burst * policy.units_per_token)
  end
end

local function adjust_fixed_window(b, policy, tokens)
  if tokens > 0 then
    b.used = math.max(0, b.used - tokens)
  else
    b.used = math.max(b.used, math.min(b.used - tokens, 2 * policy.limit))
  end
end
