-- A bucket as a table of the slots below, brought to now; false when it cannot be read. `report` is the slot of its lease
-- report among the arguments, if it has one. A blocked bucket has the times of its block beside its slots: `from_us`, `until_us`.

-- Slots of a bucket's table.
local LEFT, REFUSED, LEVEL, TIME_US, FULL_US, OLDER, OLDER_ID, OLDER_DEATH_US, NEWER, NEWER_ID, NEWER_DEATH_US, DEMAND =
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
local WISH, LIFE_US, CONTENDED, SHARE, ASKED = 13, 14, 15, 16, 17
-- Of a window's, beside what is left and whether an ask was refused: what is charged, and of a log's the costs refused.
local USED, COSTS = 4, 5

local function open_bucket(key, value, now_us, policy, argv, report, block_bytes)
  if is_foreign(key, value) then return false end
  if policy[1] ~= 't' then
    local window = read_window(key, value, now_us, policy, block_bytes)
    if window and report and policy[1] ~= 'l' then settle_window(window, argv, report) end
    return window
  end
  local units_per_token, units_per_tick, tick_us, burst = policy[2], policy[3], policy[4], policy[5]
  local level, time_us, full_us, older, older_id, older_death_us, newer, newer_id, newer_death_us, demand, quiet_us =
    read_token_bucket(value, now_us, units_per_token, units_per_tick, tick_us, burst)
  if not level then return false end
  if not report then
    return { math.huge, false, level, time_us, full_us, older, older_id, older_death_us, newer, newer_id,
      newer_death_us, demand }
  end
  local life_us = argv[report + 1]
  local step = life_us / (life_us + quiet_us / 4)
  demand = demand * step * step * step * step + argv[report + 2]
  for s = report + 5, report + 2 + 3 * argv[report + 4], 3 do
    level, older, newer = settled_lease(argv[s], argv[s + 1], argv[s + 2], level, older, older_id, newer, newer_id,
      units_per_token, burst)
  end
  local left, contended, share =
    budget_of(level, demand, argv[report + 3], life_us, units_per_token, units_per_tick, tick_us, burst)
  return { left, false, level, time_us, full_us, older, older_id, older_death_us, newer, newer_id, newer_death_us,
    demand, argv[report], life_us, contended, share, false }
end
