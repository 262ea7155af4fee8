-- Takes tokens now.
local function charge_sliding_log(key, log, now_us, tokens)
  if tokens == 0 then return end
  local us, count = nil, log.base
  if log.length > log.from then us, count = log_entry(key, log, log.length - 1) end
  set_last_entry(log, us == now_us and log.length - 1 or log.length, now_us, count + tokens)
  log.kept, log.used = log.kept + tokens, log.used + tokens
end

-- Writes a log without its block, always with an expiry, which it returns. Runs that are over stay in front until they are as many as those behind them.
local function write_sliding_log(key, now_us, log)
  local newest_us, live, more = now_us, log.length - log.from, ''
  if live > 0 then newest_us = log_entry(key, log, log.length - 1) end
  if log.length > log.to then more = struct.pack('<I6I2', log.more_us % TIMES, log.more_count) end
  local expiry_ms = ceil((newest_us + log.keep_us - now_us) / 1000) + 1
  local is_whole = live < 2 or log.from >= 64 and 2 * log.from >= log.to or log.at > LOG_HEAD
  local from, to, entries = log.from, log.length, ''
  if is_whole then
    from, to = 0, live
    if log.to > log.from then
      entries = redis.call('GETRANGE', key, log.at + 8 * log.from, log.at + 8 * log.to - 1)
    end
  end
  local head =
    struct.pack('<BdddI2I2I4I4', 5, log.keep_us, log.kept_us, newest_us, log.keep_tokens, log.base, from, to)
  if is_whole then
    redis.call('SET', key, table.concat({ head, entries, more }), 'PX', expiry_ms)
  else
    redis.call('SETRANGE', key, 0, head)
    if more ~= '' then redis.call('SETRANGE', key, LOG_HEAD + 8 * log.to, more) end
    redis.call('PEXPIRE', key, expiry_ms)
  end
  return expiry_ms
end
