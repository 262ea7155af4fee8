-- Settlement and leasing, as packages/spillway/src/stores/take.ts computes them.

-- Level and escrow after `settled` tokens of a lease are closed, `returned` of which go back on the shelf.
local function settled_lease(id, settled, returned, level, older, older_id, newer, newer_id, units_per_token, burst)
  local closed
  if older_id == id and older > 0 then
    closed = min(settled, older)
    older = older - closed
  elseif newer_id == id and newer > 0 then
    closed = min(settled, newer)
    newer = newer - closed
  else
    return level, older, newer
  end
  local ceiling = max(0, (burst - older - newer) * units_per_token)
  return min(level + min(returned, closed) * units_per_token, ceiling), older, newer
end

-- What one call may take of a bucket, in tokens; whether the bucket is contended; the caller's share of the demand of all.
local function budget_of(level, demand, weight, life_us, units_per_token, units_per_tick, tick_us, burst)
  local tokens, share = level / units_per_token, 1
  if demand > 0 then share = min(1, weight / demand) end
  local per_us = units_per_tick / (units_per_token * tick_us)
  if demand > 0.9 * per_us * life_us then
    local hold_us = min(life_us / 4, burst / (4 * per_us))
    if tokens < min(burst / 2, 2 * per_us * hold_us + 2) then
      return floor(min(1, 2 * share) * tokens), 1, share
    end
  end
  return tokens, 0, share
end
