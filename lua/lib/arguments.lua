-- Reads the policies that open the arguments: their number, then five values each. Returns them and the next slot.
local function read_policies()
  local policies = {}
  local slot = 2
  for i = 1, tonumber(ARGV[1]) do
    local kind = ARGV[slot]
    local a, b, c, d = tonumber(ARGV[slot + 1]), tonumber(ARGV[slot + 2]), tonumber(ARGV[slot + 3]),
      tonumber(ARGV[slot + 4])
    if kind == 't' then
      policies[i] = { kind = kind, units_per_token = a, units_per_tick = b, tick_us = c, burst = d }
    elseif kind == 'f' then
      policies[i] = { kind = kind, limit = a, period_us = b, aligned = c == 1 }
    else
      error('unknown kind of policy')
    end
    slot = slot + 5
  end
  return policies, slot
end
