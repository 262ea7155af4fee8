-- Arithmetic of a token bucket on plain numbers. A policy is its four numbers: units per token, units per tick, tick in us,
-- burst in tokens.

local floor, ceil, max = math.floor, math.ceil, math.max

-- Bounds of what a script can have stored: 2^53 for what is counted exactly, a finite number for what may be longer.
local LARGEST, FINITE = 9007199254740992, 1e300

-- Level and its time after the ticks up to `at_us`, stopped at `ceiling`. A full bucket keeps no part of a tick.
local function refilled(level, time_us, at_us, ceiling, units_per_tick, tick_us)
  local ticks = floor((at_us - time_us) / tick_us)
  level = level + units_per_tick * ticks
  if level >= ceiling then return ceiling, at_us end
  return level, time_us + ticks * tick_us
end

-- A level in another scale, rounded down.
local function rescaled(level, from, to)
  local tokens = floor(level / from)
  local rest = (level - tokens * from) * to
  local scaled = floor(rest / from)
  if rest > 9007199254740991 then scaled = max(0, scaled - 1) end
  return tokens * to + scaled
end
