-- Writes a window, always with an expiry, which it returns. The first byte of the value says whether tokens are on lease.
local function write_fixed_window(key, now_us, period_us, start_us, used, leased, lease_id)
  local value
  if leased == 0 then
    value = struct.pack('<Bdd', 3, start_us, used)
  else
    value = struct.pack('<Bdddd', 6, start_us, used, leased, lease_id)
  end
  local expiry_ms = ceil((start_us + period_us - now_us) / 1000) + 1
  redis.call('SET', key, value, 'PX', expiry_ms)
  return expiry_ms
end
