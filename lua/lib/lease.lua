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

-- How many tokens a holder is given of what is on the shelf, and of a contended bucket of what this call may take.
local function lease_size(wish, shelf, contended, left, share)
  local most = share * shelf / 2
  if contended then most = min(left, shelf) end
  return max(0, min(wish, floor(most)))
end

-- The escrow with `tokens` more in it, taken for `life_us`: older and newer group, with the lease's id as that of the newer.
local function granted_lease(tokens, life_us, now_us, older, older_id, older_death_us, newer, newer_id, newer_death_us)
  if older == 0 or newer == 0 then
    local last_id = max(older_id, newer_id)
    if newer > 0 then older, older_id, older_death_us = newer, newer_id, newer_death_us end
    newer, newer_id, newer_death_us = 0, max(now_us, last_id + 1), 0
  end
  if older > 0 and older_death_us > newer_death_us then newer_death_us = older_death_us end
  return older, older_id, older_death_us, newer + tokens, newer_id, max(newer_death_us, now_us + life_us)
end
