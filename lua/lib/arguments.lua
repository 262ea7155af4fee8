-- Reads the policies that open the arguments: their number, then five values each. A policy is its kind and four numbers;
-- `has_log` says whether one of them counts by a log.
local function read_policies(argv)
  local policies = {}
  for i = 1, argv[1] do
    local slot = 5 * i - 3
    policies[i] = { argv[slot], argv[slot + 1], argv[slot + 2], argv[slot + 3], argv[slot + 4] }
    if argv[slot] == 'l' then policies.has_log = true end
  end
  return policies, 2 + 5 * #policies
end
