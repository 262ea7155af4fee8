-- The sliding window counter, as packages/spillway/src/algorithms/sliding-window-counter.ts computes it.

-- @include lib/exact-quotient

-- Two windows brought to now: where the current one begins, its tokens and those of the previous one, how many of the current
-- ones are on lease, and the lease's id; nil when none of our scripts wrote the value.
local function read_sliding_counter(value, now_us, period_us)
  if not value then return now_us, 0, 0, 0, 0 end
  local form, leased, lease_id = string.byte(value), 0, 0
  local start_us, previous, current
  if form == 4 and #value == 25 then
    start_us, previous, current = struct.unpack('<ddd', value, 2)
  elseif form == 7 and #value == 41 then
    start_us, previous, current, leased, lease_id = struct.unpack('<ddddd', value, 2)
  else
    return nil
  end
  -- Comparisons with what is no number are false.
  if not (start_us >= 0 and start_us <= LARGEST and previous >= 0 and previous <= 35184372088832 and current >= 0
    and current <= 35184372088832 and leased >= 0 and leased <= current and lease_id >= 0
    and lease_id <= LARGEST) then return nil end
  if start_us > now_us then start_us = now_us end
  local windows = floor((now_us - start_us) / period_us)
  if windows == 0 then return start_us, current, previous, leased, lease_id end
  if windows == 1 then return start_us + period_us, 0, current, 0, 0 end
  return now_us, 0, 0, 0, 0
end

-- What the previous window still counts for.
local function carried_over(start_us, previous, now_us, period_us)
  if previous == 0 then return 0 end
  return quotient_up(previous, start_us + period_us - now_us, period_us)
end
