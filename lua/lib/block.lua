-- A block: until it ends, its bucket serves nobody. It stands in front of the value that it holds up: the byte 9, and when it
-- began and when it ends, in us.

-- The value behind a block, of a log its head; when the block began and ends, nil when it is over; and how many bytes it takes in
-- front of the value, 0 without one. A block that began ahead of the clock is pulled back to it, and is no longer than it was.
local function without_block(key, value, now_us, kind)
  if not value or string.byte(value) ~= 9 or #value < 18 then return value, nil, nil, 0 end
  local _, from_us, until_us = struct.unpack('<Bdd', value)
  -- Comparisons with what is no number are false.
  if not (from_us >= 0 and from_us <= LARGEST and until_us >= 0 and until_us <= LARGEST) then
    return value, nil, nil, 0
  end
  if kind == 'l' then
    value = redis.call('GETRANGE', key, 17, 16 + LOG_HEAD)
  else
    value = string.sub(value, 18)
  end
  if from_us > now_us then from_us, until_us = now_us, until_us - (from_us - now_us) end
  if until_us <= now_us then return value, nil, nil, 17 end
  return value, from_us, until_us, 17
end
