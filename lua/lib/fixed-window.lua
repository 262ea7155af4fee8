-- The fixed window, as packages/spillway/src/algorithms/fixed-window.ts computes it: start_us and used.

local function window_start_us(policy, now_us)
  if policy.aligned then return now_us - now_us % policy.period_us end
  return now_us
end

local function open_fixed_window(policy, now_us)
  return { start_us = window_start_us(policy, now_us), used = 0 }
end

local function unpack_fixed_window(value)
  if string.byte(value, 1) ~= 3 or #value ~= 17 then return nil end
  local start_us, used = struct.unpack('<dd', value, 2)
  local sum = start_us + used
  if sum - sum ~= 0 or used < 0 then return nil end
  return { start_us = start_us, used = used }
end

local function advance_fixed_window(b, policy, now_us)
  if b.start_us > now_us then b.start_us = window_start_us(policy, now_us) end
  if now_us - b.start_us >= policy.period_us then
    b.start_us = window_start_us(policy, now_us)
    b.used = 0
  end
end
