-- Writes a log, always with an expiry.
local function write_sliding_log(key, now_us, log)
  local newest_us = now_us
  if log.length > log.from then newest_us = log_run(log, log.length - 1) end
  local runs = string.sub(log.value, LOG_HEAD + 1 + 8 * log.from, LOG_HEAD + 8 * log.to)
  local value
  if log.length > log.to then
    value = struct.pack('<BdddI2I2c0I6I2', 5, log.keep_us, log.kept_us, newest_us, log.keep_tokens, log.base, runs,
      log.more_us % TIMES, log.more_count)
  else
    value = struct.pack('<BdddI2I2c0', 5, log.keep_us, log.kept_us, newest_us, log.keep_tokens, log.base, runs)
  end
  redis.call('SET', key, value, 'PX', ceil((newest_us + log.keep_us - now_us) / 1000) + 1)
end
