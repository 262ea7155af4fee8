-- A window with a report, as a short call of take.lua is about it: its policy stands before slot `at`, its report from there on.
-- Returns how many asks were served, the value to write, its expiry, and where the reply then ends; nil where the stored value is
-- unusual.
local function take_window(told, last, bytes, args, at, lease_us, now_us, price, count, asked)
  local limit, period_us, start_us, used, previous, leased, lease_id = -args[at - 3], args[at - 2], now_us, 0, 0, 0, 0
  local is_counter, carried = args[at - 1] == 2, 0
  if args[at - 1] == 1 then start_us = now_us - now_us % period_us end
  if bytes then
    local byte, length, out, out_id = 3, #bytes, 0, 0
    local form, stored_us, count_before
    if is_counter then
      if length == 25 then
        byte, form, stored_us, previous, count_before = 4, struct.unpack('<Bddd', bytes)
      elseif length == 41 then
        byte, form, stored_us, previous, count_before, out, out_id = 7, struct.unpack('<Bddddd', bytes)
      end
    elseif length == 17 then
      form, stored_us, count_before = struct.unpack('<Bdd', bytes)
    elseif length == 33 then
      byte, form, stored_us, count_before, out, out_id = 6, struct.unpack('<Bdddd', bytes)
    end
    -- Comparisons with what is no number are false.
    if not (form == byte and stored_us >= 0 and stored_us <= now_us and previous >= 0 and previous <= 35184372088832
      and count_before >= 0 and count_before <= 35184372088832 and out >= 0 and out <= count_before and out_id >= 0
      and out_id <= 9007199254740992) then return nil end
    if now_us - stored_us < period_us then
      start_us, used, leased, lease_id = stored_us, count_before, out, out_id
    elseif is_counter and now_us - stored_us < 2 * period_us then
      start_us, previous = stored_us + period_us, count_before
    else
      previous = 0
    end
    if previous > 0 then
      carried = previous * (start_us + period_us - now_us)
      if carried > 9007199254740991 then return nil end
      carried = carried / period_us
      carried = carried + -carried % 1
    end
  end
  for s = at + 2, at + 1 + 3 * args[at + 1], 3 do
    if leased > 0 and lease_id == args[s] then
      local closed, returned = args[s + 1], args[s + 2]
      if closed > leased then closed = leased end
      if returned > closed then returned = closed end
      leased, used = leased - closed, used - returned
    end
  end
  local tokens, wish, rest_us = 0, args[at], start_us + period_us - now_us
  if price > 0 then
    local most = (limit - used - carried) / price
    most = most - most % 1
    if most < 0 then most = 0 end
    if most < count then count = most end
    used = used + count * price
  end
  if wish > 0 and count >= asked and 4 * rest_us >= lease_us then
    tokens = (limit - used - carried) / 4
    if tokens > wish then tokens = wish end
    tokens = tokens - tokens % 1
    if tokens < 0 then tokens = 0 end
    if tokens > 0 and leased == 0 then lease_id = now_us end
    leased, used = leased + tokens, used + tokens
  end
  local flag, first = 32 * tokens, last + 1
  told[last + 2], told[last + 3], last = used, start_us, last + 3
  if is_counter then
    rest_us, last = rest_us + period_us, last + 1
    told[last] = previous
  end
  if leased > 0 then
    if leased ~= tokens then
      flag, last = flag + 4, last + 1
      told[last] = leased
    end
    if tokens > 0 and lease_id ~= now_us then
      flag, last = flag + 8, last + 1
      told[last] = lease_id
    end
    if is_counter then
      bytes = struct.pack('<Bddddd', 7, start_us, previous, used, leased, lease_id)
    else
      bytes = struct.pack('<Bdddd', 6, start_us, used, leased, lease_id)
    end
  elseif is_counter then
    bytes = struct.pack('<Bddd', 4, start_us, previous, used)
  else
    bytes = struct.pack('<Bdd', 3, start_us, used)
  end
  told[first] = flag
  return count, bytes, rest_us / 1000, last
end
