-- The fixed window, as packages/spillway/src/algorithms/fixed-window.ts computes it.

-- A window brought to now: its start, what was used of it, how much of that is on lease, and the lease's id; nil when none of
-- our scripts wrote the value.
local function read_fixed_window(value, now_us, period_us, aligned)
  local start_us = now_us
  if aligned == 1 then start_us = now_us - now_us % period_us end
  if not value then return start_us, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local stored_us, used
  if form == 3 and #value == 17 then
    stored_us, used = struct.unpack('<dd', value, 2)
  elseif form == 6 and #value == 33 then
    stored_us, used, leased, lease_id = struct.unpack('<dddd', value, 2)
  else
    return nil
  end
  -- Comparisons with what is no number are false.
  if not (stored_us >= 0 and stored_us <= LARGEST and used >= 0 and used <= LARGEST and leased >= 0 and leased <= used
    and lease_id >= 0 and lease_id <= LARGEST) then return nil end
  if stored_us > now_us then
    -- What is out on lease ends with a window that lasts as long as the one it was taken from.
    if leased > 0 then start_us = now_us end
    return start_us, used, leased, lease_id
  end
  if now_us - stored_us >= period_us then return start_us, 0, 0, 0 end
  return stored_us, used, leased, lease_id
end
