-- The sliding window log, as packages/spillway/src/algorithms/sliding-window-log.ts computes it. Each run of tokens of one
-- instant has eight bytes: the low 48 bits of its time, and the low 16 bits of how many tokens were taken up to and with it.
-- So a run is found by halving, and nothing before or behind it is read.

-- Length of what stands before the runs; what times and counts are cut to.
local LOG_HEAD, TIMES, COUNTS = 29, 281474976710656, 65536

-- Time and count of a run, from 0. A change of this call stands behind the stored runs that are left.
local function log_run(log, index)
  if index == log.to then return log.more_us, log.more_count end
  local low, count = struct.unpack('<I6I2', log.value, LOG_HEAD + 1 + 8 * index)
  return log.newest_us - (log.newest_us - low) % TIMES, count
end

-- The first run from `from` on that is later than `us`; the end when there is none.
local function log_run_after(log, from, us)
  local to = log.length
  -- Mostly the first one is.
  if from < to and log_run(log, from) > us then return from end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_run(log, middle) > us then to = middle else from = middle + 1 end
  end
  return from
end

-- The first run from `from` on up to and with which `tokens` were taken since the count was `since`.
local function log_run_of(log, from, tokens, since)
  local to = log.length
  while from < to do
    local middle = floor((from + to) / 2)
    local _, count = log_run(log, middle)
    if (count - since) % COUNTS >= tokens then to = middle else from = middle + 1 end
  end
  return from
end

-- Tokens since the count was `since`, up to and with a run; `from` is the first run since.
local function log_tokens(log, from, index, since)
  if index < from then return 0 end
  local _, count = log_run(log, index)
  return (count - since) % COUNTS
end

-- Puts a run behind the stored runs before `to`.
local function set_last_run(log, to, us, count)
  log.to, log.length, log.more_us, log.more_count = to, to + 1, us, count % COUNTS
end

-- Leaves of the log its first `length` runs.
local function cut_log(log, length)
  if length <= log.to then log.to, log.more_us = length, nil end
  log.length = length
end

-- A log brought to now under a policy; nil when none of our scripts wrote the value.
local function read_sliding_log(value, now_us, limit, period_us)
  if not value then
    return { value = '', from = 0, to = 0, length = 0, base = 0, newest_us = now_us, keep_us = period_us,
      keep_tokens = limit, kept_us = now_us, kept = 0, first = 0, before = 0, used = 0 }
  end
  local bytes = #value - LOG_HEAD
  if bytes < 0 or bytes % 8 ~= 0 or string.byte(value) ~= 5 then return nil end
  local keep_us, kept_us, newest_us, keep_tokens, base = struct.unpack('<dddI2I2', value, 2)
  -- Comparisons with what is no number are false.
  if not (keep_us >= 1 and keep_us <= 35184372088832 and kept_us >= 0 and kept_us <= LARGEST and newest_us >= 0
    and newest_us <= LARGEST) then return nil end
  if bytes > 0 and struct.unpack('<I6', value, #value - 7) ~= newest_us % TIMES then return nil end
  if kept_us > now_us then kept_us = now_us end
  if period_us >= keep_us or now_us - kept_us >= keep_us then
    if period_us < keep_us then keep_tokens = 0 end
    keep_us, kept_us = period_us, now_us
  end
  if limit > keep_tokens then keep_tokens = limit end
  local log = { value = value, from = 0, to = bytes / 8, length = bytes / 8, base = base, newest_us = newest_us,
    keep_us = keep_us, keep_tokens = keep_tokens, kept_us = kept_us }
  if log.length > 0 and newest_us > now_us then
    local _, count = log_run(log, log.length - 1)
    set_last_run(log, log_run_after(log, 0, now_us - 1), now_us, count)
  end
  log.from = log_run_after(log, 0, now_us - keep_us)
  if log.from > 0 then
    local _, count = log_run(log, log.from - 1)
    log.base = count
  end
  log.kept = log_tokens(log, log.from, log.length - 1, log.base)
  if log.kept > 2 * keep_tokens then
    local surplus = log.kept - 2 * keep_tokens
    log.from = log_run_of(log, log.from, surplus + 1, log.base)
    log.base, log.kept = (log.base + surplus) % COUNTS, 2 * keep_tokens
  end
  log.first, log.before, log.used = log.from, log.base, log.kept
  if keep_us > period_us then
    log.first = log_run_after(log, log.from, now_us - period_us)
    if log.first > log.from then
      local _, count = log_run(log, log.first - 1)
      log.before, log.used = count, log_tokens(log, log.first, log.length - 1, count)
    end
  end
  return log
end

-- Takes tokens now.
local function charge_sliding_log(log, now_us, tokens)
  if tokens == 0 then return end
  local us, count = nil, log.base
  if log.length > log.from then us, count = log_run(log, log.length - 1) end
  set_last_run(log, us == now_us and log.length - 1 or log.length, now_us, count + tokens)
  log.kept, log.used = log.kept + tokens, log.used + tokens
end

-- Gives tokens back, the newest first.
local function refund_sliding_log(log, tokens)
  if tokens > log.kept then tokens = log.kept end
  log.kept, log.used = log.kept - tokens, max(0, log.used - tokens)
  if log.kept == 0 then return cut_log(log, log.from) end
  local index = log_run_of(log, log.from, log.kept, log.base)
  local us, count = log_run(log, index)
  if (count - log.base) % COUNTS == log.kept then return cut_log(log, index + 1) end
  set_last_run(log, index, us, log.base + log.kept)
end

-- Appends to a reply how a log stands: the runs that hold the tokens whose end the costs wait for, the one whose end the next
-- token waits for, and the last one; what is between two of these as one run, below 0 where it is several.
local function reply_sliding_log(reply, n, log, limit, costs)
  local used, start = log.used, n + 3
  reply[n + 1], reply[n + 2], n = 0, used, start
  if used > 0 then
    local marks = { max(1, used + 1 - limit), used }
    for _, cost in ipairs(costs or {}) do
      if cost > 0 and cost <= limit and used + cost > limit then marks[#marks + 1] = used + cost - limit end
    end
    table.sort(marks)
    local index, told = log.first, 0
    for _, mark in ipairs(marks) do
      if mark > told then
        local found = log_run_of(log, index, mark, log.before)
        if found > index then
          local between = log_tokens(log, log.first, found - 1, log.before)
          reply[n + 1], reply[n + 2] = log_run(log, found - 1), between - told
          if found > index + 1 then reply[n + 2] = told - between end
          n, told = n + 2, between
        end
        local through = log_tokens(log, log.first, found, log.before)
        reply[n + 1], reply[n + 2] = log_run(log, found), through - told
        n, told, index = n + 2, through, found + 1
      end
    end
  end
  reply[start] = (n - start) / 2
  return n
end
