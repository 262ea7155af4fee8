-- Gives tokens of a log back, the newest first.
local function refund_sliding_log(key, log, tokens)
  if tokens > log.kept then tokens = log.kept end
  log.kept, log.used = log.kept - tokens, max(0, log.used - tokens)
  if log.kept == 0 then return cut_log(log, log.from) end
  local index = log_entry_of(key, log, log.from, log.kept, log.base)
  local us, count = log_entry(key, log, index)
  if (count - log.base) % COUNTS == log.kept then return cut_log(log, index + 1) end
  set_last_entry(log, index, us, log.base + log.kept)
end

-- Gives tokens of a window back, the newest first and no more than were taken and are not out on lease, or takes them without
-- asking, until as many as twice the limit count.
local function adjust_window(key, policy, now_us, window, tokens)
  local limit = policy[2]
  if policy[1] == 'l' then
    local log = window[3]
    if tokens > 0 then
      refund_sliding_log(key, log, tokens)
    else
      charge_sliding_log(key, log, now_us, max(0, min(-tokens, 2 * limit - log.used)))
    end
  elseif tokens > 0 then
    local current = max(window[6], window[4] - tokens)
    if policy[1] == 'c' then window[5] = max(0, window[5] - (tokens - (window[4] - current))) end
    window[4] = current
  else
    local carried = 0
    if policy[1] == 'c' then carried = carried_over(window[3], window[5], now_us, policy[3]) end
    window[4] = max(window[4], min(window[4] - tokens, 2 * limit - carried))
  end
end
