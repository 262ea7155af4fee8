-- Settlement and leasing on a token bucket, as stores/take.ts computes it.

local function settle_escrow(b, policy, which, settled, returned)
  local held = b[which]
  local closed = math.min(settled, held)
  b[which] = held - closed
  b.level = math.min(b.level + math.min(returned, closed) * policy.units_per_token, token_bucket_ceiling(b, policy))
end

-- Closes leased tokens of one lease; `returned` of them go back on the shelf. Unknown leases are let be.
local function settle_lease(b, policy, id, settled, returned)
  if b.older_id == id and b.older_tokens > 0 then
    settle_escrow(b, policy, 'older_tokens', settled, returned)
  elseif b.newer_id == id and b.newer_tokens > 0 then
    settle_escrow(b, policy, 'newer_tokens', settled, returned)
  end
end

-- Takes one holder's report: demand first, decayed as in take.ts, then its settlements.
local function take_report(b, policy, report)
  local step = report.life_us / (report.life_us + b.quiet_us / 4)
  b.demand = b.demand * step * step * step * step + report.demand
  for i = 1, #report.settlements, 3 do
    settle_lease(b, policy, report.settlements[i], report.settlements[i + 1], report.settlements[i + 2])
  end
end

-- What this call may take of a bucket: { left, contended (1 or 0), share, refused }.
local function budget_of(b, policy, report)
  if not report or b.fault or policy.kind ~= 't' then
    return { left = math.huge, contended = 0, share = 0, refused = false }
  end
  local level = b.level / policy.units_per_token
  local share = 1
  if b.demand > 0 then share = math.min(1, report.weight / b.demand) end
  local per_us = policy.units_per_tick / (policy.units_per_token * policy.tick_us)
  local hold_us = math.min(report.life_us / 4, policy.burst / (4 * per_us))
  local threshold = math.min(policy.burst / 2, 2 * per_us * hold_us + 2)
  if b.demand > 0.9 * per_us * report.life_us and level < threshold then
    return { left = math.floor(math.min(1, 2 * share) * level), contended = 1, share = share, refused = false }
  end
  return { left = level, contended = 0, share = share, refused = false }
end

-- Moves tokens from the level to the escrow; returns the lease's id.
local function grant_lease(b, policy, tokens, life_us, now_us)
  if b.older_tokens == 0 or b.newer_tokens == 0 then
    local last_id = math.max(b.older_id, b.newer_id)
    if b.newer_tokens > 0 then
      b.older_tokens, b.older_id, b.older_death_us = b.newer_tokens, b.newer_id, b.newer_death_us
    end
    b.newer_tokens, b.newer_id, b.newer_death_us = 0, math.max(now_us, last_id + 1), 0
  end
  local older_death_us = 0
  if b.older_tokens > 0 then older_death_us = b.older_death_us end
  b.newer_death_us = math.max(b.newer_death_us, older_death_us, now_us + life_us)
  b.newer_tokens = b.newer_tokens + tokens
  b.level = b.level - tokens * policy.units_per_token
  return b.newer_id
end

-- Leases what the report wishes for, as far as its share goes; nothing where an ask was refused.
local function lease_out(b, policy, report, budget, now_us)
  if not report or b.fault or policy.kind ~= 't' then return nil end
  local level = b.level / policy.units_per_token
  local most = budget.share * level / 2
  if budget.contended == 1 then most = math.min(budget.left, level) end
  local tokens = math.max(0, math.min(report.wish, math.floor(most)))
  if budget.refused then tokens = 0 end
  local id = 0
  if tokens > 0 then id = grant_lease(b, policy, tokens, report.life_us, now_us) end
  return { id = id, tokens = tokens, contended = budget.contended }
end
