-- Writes a log, always with an expiry.
local function write_sliding_log(key, now_us, log)
  local newest_us = now_us
  if log.length > log.from then newest_us = log_run(log, log.length - 1) end
  local head = struct.pack('<BdddI2I2', 5, log.keep_us, log.kept_us, newest_us, log.keep_tokens, log.base)
  local runs, more = string.sub(log.value, LOG_HEAD + 1 + 8 * log.from, LOG_HEAD + 8 * log.to), ''
  if log.length > log.to then more = struct.pack('<I6I2', log.more_us % TIMES, log.more_count) end
  -- Not by struct.pack, which goes through a string byte by byte.
  redis.call('SET', key, table.concat({ head, runs, more }), 'PX', ceil((newest_us + log.keep_us - now_us) / 1000) + 1)
end
