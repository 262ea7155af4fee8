-- A block as it is written in front of a value; and how long that is needed, which is at least as long as the block.
local function block_head(now_us, from_us, until_us, expiry_ms)
  if not until_us then return '', expiry_ms end
  return struct.pack('<Bdd', 9, from_us, until_us), max(expiry_ms, ceil((until_us - now_us) / 1000) + 1)
end

-- Writes a value, always with an expiry, behind its block if it has one.
local function write_value(key, value, expiry_ms, now_us, from_us, until_us)
  if until_us then
    local head
    head, expiry_ms = block_head(now_us, from_us, until_us, expiry_ms)
    value = table.concat({ head, value })
  end
  redis.call('SET', key, value, 'PX', expiry_ms)
end
