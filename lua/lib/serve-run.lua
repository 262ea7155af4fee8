-- @include lib/open-bucket

-- Serves a run of equal asks, whose charges stand in slots `first` to `last`: as many as each of their buckets has room for,
-- in one step whatever their number. The first ask on a bucket is served where it fits, though it be more than a contended
-- bucket has for this call. A bucket that is blocked, or cannot be read, serves nobody, whatever the cost. Returns how many were served.
local function serve_run(argv, asks, first, last, buckets, policy_of)
  local served = asks
  for c = first, last, 2 do
    local i, cost = argv[c], argv[c + 1]
    local b = buckets[i]
    if not b or b.until_us then
      served = 0
    elseif cost > 0 then
      local policy, most = policy_of[i], floor(b[LEFT] / cost)
      if policy[1] == 't' then
        local on_shelf = floor(b[LEVEL] / (cost * policy[2]))
        if most < 1 and not b[ASKED] then most = 1 end
        if on_shelf < most then most = on_shelf end
      end
      if most < served then served = most end
    end
  end
  if served < 0 then served = 0 end
  for c = first, last, 2 do
    local i, cost = argv[c], argv[c + 1]
    local b, policy = buckets[i], policy_of[i]
    if b then
      if served < asks then
        b[REFUSED] = true
        if policy[1] == 'l' then
          b[COSTS] = b[COSTS] or {}
          b[COSTS][#b[COSTS] + 1] = cost
        end
      end
      if b[WISH] and asks > 0 and cost > 0 then b[ASKED] = true end
      local charged = served * cost
      b[LEFT] = b[LEFT] - charged
      if policy[1] == 't' then b[LEVEL] = b[LEVEL] - charged * policy[2] else b[USED] = b[USED] + charged end
    end
  end
  return served
end
