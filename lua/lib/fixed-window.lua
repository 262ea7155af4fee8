-- The fixed window, as packages/spillway/src/algorithms/fixed-window.ts computes it.

-- A window brought to now: its start and what was used of it; nil when none of our scripts wrote the value.
local function read_fixed_window(value, now_us, period_us, aligned)
  local start_us = now_us
  if aligned == 1 then start_us = now_us - now_us % period_us end
  if not value then return start_us, 0 end
  if string.byte(value) ~= 3 or #value ~= 17 then return nil end
  local stored_us, used = struct.unpack('<dd', value, 2)
  -- Comparisons with what is no number are false.
  if not (stored_us >= 0 and stored_us <= LARGEST and used >= 0 and used <= LARGEST) then return nil end
  if stored_us > now_us then return start_us, used end
  if now_us - stored_us >= period_us then return start_us, 0 end
  return stored_us, used
end
