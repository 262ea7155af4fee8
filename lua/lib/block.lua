-- A block: until it ends, its bucket serves nobody. It stands in front of the value that it holds up: the byte 9, and when it
-- began and when it ends, in us.
local BLOCK_HEAD = 17

-- The value behind a block, and when the block began and ends unless it is over; without a block, the value itself. A block
-- that began ahead of the clock is pulled back to it, and is no longer than it was.
local function without_block(value, now_us)
  if not value or string.byte(value) ~= 9 or #value <= BLOCK_HEAD then return value end
  local _, from_us, until_us = struct.unpack('<Bdd', value)
  -- Comparisons with what is no number are false.
  if not (from_us >= 0 and from_us <= LARGEST and until_us >= 0 and until_us <= LARGEST) then return value end
  if from_us > now_us then from_us, until_us = now_us, until_us - (from_us - now_us) end
  value = string.sub(value, BLOCK_HEAD + 1)
  if until_us <= now_us then return value end
  return value, from_us, until_us
end

-- How many bytes of a stored value stand in front of what is behind its block.
local function block_size(stored, value)
  if not stored then return 0 end
  return #stored - #value
end
