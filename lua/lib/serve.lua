-- Serving an ask.

local function bucket_fits(b, policy, cost)
  if cost == 0 then return true end
  if policy.kind == 't' then return cost * policy.units_per_token <= b.level end
  return b.used + cost <= policy.limit
end

local function charge_bucket(b, policy, cost)
  if policy.kind == 't' then
    b.level = b.level - cost * policy.units_per_token
  else
    b.used = b.used + cost
  end
end
