-- Settlement and leasing of windows, as packages/spillway/src/algorithms/window-lease.ts computes them, on the tables of
-- lib/windows.

-- Closes the leases that a report names, which stands from slot `report` on: what was returned of them counts no more. Notes
-- what the report wishes for, and for how long.
local function settle_window(window, argv, report)
  for s = report + 5, report + 2 + 3 * argv[report + 4], 3 do
    if window[6] > 0 and window[7] == argv[s] then
      local closed = min(argv[s + 1], window[6])
      local returned = min(argv[s + 2], closed)
      window[6] = window[6] - closed
      window[1], window[4] = window[1] + returned, window[4] - returned
    end
  end
  window.wish, window.life_us = argv[report], argv[report + 1]
end

-- Leases tokens of a window that nobody was refused, which count as used, and returns how many.
local function lease_window(window, now_us, period_us)
  if not window.wish or window[2] or window.until_us then return 0 end
  if 4 * (window[3] + period_us - now_us) < window.life_us then return 0 end
  local tokens = max(0, min(window.wish, floor(window[1] / 4)))
  if tokens == 0 then return 0 end
  if window[6] == 0 then window[7] = now_us end
  window[1], window[4], window[6] = window[1] - tokens, window[4] + tokens, window[6] + tokens
  return tokens
end
