-- Puts a block in front of what was just written, and is needed for `least_ms`.
local function write_block(key, now_us, from_us, end_us, least_ms)
  local value = table.concat({ struct.pack('<Bdd', 9, from_us, end_us), redis.call('GET', key) })
  redis.call('SET', key, value, 'PX', max(least_ms, ceil((end_us - now_us) / 1000) + 1))
end
