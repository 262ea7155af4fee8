-- Arithmetic of a token bucket on plain numbers, so that the shortest path of take.lua needs no table.

local LARGEST_EXACT = 9007199254740991

-- Level and its time after the ticks up to `at_us`, stopped at `ceiling`. A full bucket keeps no part of a tick.
local function refilled(level, time_us, at_us, ceiling, units_per_tick, tick_us)
  local ticks = math.floor((at_us - time_us) / tick_us)
  level = level + units_per_tick * ticks
  if level >= ceiling then return ceiling, at_us end
  return level, time_us + ticks * tick_us
end

-- A level in another scale, rounded down.
local function rescaled(level, from, to)
  local tokens = math.floor(level / from)
  local rest = (level - tokens * from) * to
  local scaled = math.floor(rest / from)
  if rest > LARGEST_EXACT then scaled = scaled - 1 end
  return tokens * to + math.max(0, scaled)
end

-- Time from empty to full.
local function time_to_full_us(burst, units_per_token, units_per_tick, tick_us)
  return math.ceil(burst * units_per_token / units_per_tick) * tick_us
end
