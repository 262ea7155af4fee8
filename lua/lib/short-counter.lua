-- A call about one sliding window counter, as take.lua is given it in its short form; nothing where the stored value is
-- unusual, and then nothing is written.
local function take_counter(key, args, now_us)
  local value, period_us, cost, served = redis.pcall('GET', key), args[3], args[4], args[5]
  local start_us, previous, current, carried = now_us, 0, 0, 0
  if value then
    if #value ~= 25 then return nil end
    -- Comparisons with what is no number are false.
    local byte
    byte, start_us, previous, current = struct.unpack('<Bddd', value)
    if not (byte == 4 and start_us >= 0 and start_us <= now_us and previous >= 0 and previous <= 35184372088832
      and current >= 0 and current <= 35184372088832) then return nil end
    if now_us - start_us >= period_us then
      if now_us - start_us < 2 * period_us then
        start_us, previous, current = start_us + period_us, current, 0
      else
        start_us, previous, current = now_us, 0, 0
      end
    end
    if previous > 0 then
      carried = previous * (start_us + period_us - now_us)
      if carried > 9007199254740991 then return nil end
      carried = carried / period_us
      carried = carried + -carried % 1
    end
  end
  if cost > 0 then
    local most = (args[2] - current - carried) / cost
    most = most - most % 1
    if most < 0 then most = 0 end
    if most < served then served = most end
    current = current + served * cost
  end
  local expiry_ms = (start_us + 2 * period_us - now_us) / 1000
  redis.call('SET', key, struct.pack('<Bddd', 4, start_us, previous, current), 'PX', expiry_ms + -expiry_ms % 1 + 1)
  return { now_us, 0, current, start_us, previous, served }
end
