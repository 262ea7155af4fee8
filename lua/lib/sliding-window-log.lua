-- The sliding window log, as packages/spillway/src/algorithms/sliding-window-log.ts computes it. Each entry of tokens of one
-- instant has eight bytes: the low 48 bits of its time, and the low 16 bits of how many tokens were taken up to and with it.
-- So an entry is found by halving, and a log is read and written a few bytes at a time, however long it is: a script that moved
-- all of a log of 10,000 would take thirty times as long.

-- Length of the head, in front of the entries; what times and counts are cut to.
local LOG_HEAD, TIMES, COUNTS = 37, 281474976710656, 65536

-- Time and count of an entry, from 0. A change of this call stands behind the stored entries that are left.
local function log_entry(key, log, index)
  if index == log.to then return log.more_us, log.more_count end
  local us = log.times[index]
  if us then return us, log.counts[index] end
  local at = log.at + 8 * index
  local low, count = struct.unpack('<I6I2', redis.call('GETRANGE', key, at, at + 7))
  us = log.newest_us - (log.newest_us - low) % TIMES
  log.times[index], log.counts[index] = us, count
  return us, count
end

-- The first entry from `from` on that is later than `us`; the end when there is none. Mostly it is near the front.
local function log_entry_after(key, log, from, us)
  local step, to = 1, log.length
  while from + step <= to and log_entry(key, log, from + step - 1) <= us do from, step = from + step, 2 * step end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_entry(key, log, middle) > us then to = middle else from = middle + 1 end
  end
  return from
end

-- Tokens since the count was `since`, up to and with an entry, of which `from` is the first since.
local function log_tokens(key, log, from, index, since)
  if index < from then return 0 end
  local _, count = log_entry(key, log, index)
  return (count - since) % COUNTS
end

-- The first entry from `from` on up to and with which `tokens` were taken since the count was `since`.
local function log_entry_of(key, log, from, tokens, since)
  local step, to, first = 1, log.length, from
  while from + step <= to and log_tokens(key, log, first, from + step - 1, since) < tokens do
    from, step = from + step, 2 * step
  end
  if from + step <= to then to = from + step - 1 end
  while from < to do
    local middle = floor((from + to) / 2)
    if log_tokens(key, log, first, middle, since) >= tokens then to = middle else from = middle + 1 end
  end
  return from
end

-- Puts an entry behind the stored entries before `to`.
local function set_last_entry(log, to, us, count)
  log.to, log.length, log.more_us, log.more_count = to, to + 1, us, count % COUNTS
end

-- Leaves of the log its first `length` entries.
local function cut_log(log, length)
  if length <= log.to then log.to, log.more_us = length, nil end
  log.length = length
end

-- Brings a log to now: tokens of the future become tokens of now, and those that nobody needs any more are let go.
local function advance_log(key, log, now_us, period_us)
  if log.length > 0 and log.newest_us > now_us then
    local _, count = log_entry(key, log, log.length - 1)
    set_last_entry(log, log_entry_after(key, log, log.from, now_us - 1), now_us, count)
  end
  local from, keep_us = log.from, log.keep_us
  log.from = log_entry_after(key, log, from, now_us - keep_us)
  if log.from > from then
    local _, count = log_entry(key, log, log.from - 1)
    log.base = count
  end
  log.kept = log_tokens(key, log, log.from, log.length - 1, log.base)
  if log.kept > 2 * log.keep_tokens then
    local surplus = log.kept - 2 * log.keep_tokens
    log.from = log_entry_of(key, log, log.from, surplus + 1, log.base)
    log.base, log.kept = (log.base + surplus) % COUNTS, 2 * log.keep_tokens
  end
  log.first, log.before, log.used = log.from, log.base, log.kept
  if keep_us > period_us then
    log.first = log_entry_after(key, log, log.from, now_us - period_us)
    if log.first > log.from then
      local _, count = log_entry(key, log, log.first - 1)
      log.before, log.used = count, log_tokens(key, log, log.first, log.length - 1, count)
    end
  end
end

-- A log brought to now under a policy, from its head, or false for one that nobody has used; nil when none of our scripts
-- wrote the value. `block_bytes` stand in front of the head.
local function read_sliding_log(key, head, now_us, limit, period_us, block_bytes)
  if not head then
    return { at = LOG_HEAD, from = 0, to = 0, length = 0, base = 0, newest_us = now_us, keep_us = period_us,
      keep_tokens = limit, kept_us = now_us, kept = 0, first = 0, before = 0, used = 0 }
  end
  if #head ~= LOG_HEAD or string.byte(head) ~= 5 then return nil end
  local keep_us, kept_us, newest_us, keep_tokens, base, from, to = struct.unpack('<dddI2I2I4I4', head, 2)
  -- Comparisons with what is no number are false.
  if not (keep_us >= 1 and keep_us <= 35184372088832 and kept_us >= 0 and kept_us <= LARGEST and newest_us >= 0
    and newest_us <= LARGEST and from <= to) then return nil end
  local log = { at = LOG_HEAD + block_bytes, from = from, to = to, length = to, base = base, newest_us = newest_us,
    times = {}, counts = {} }
  if from < to then
    local last = redis.call('GETRANGE', key, log.at + 8 * to - 8, log.at + 8 * to - 1)
    if #last ~= 8 then return nil end
    local low, count = struct.unpack('<I6I2', last)
    if low ~= newest_us % TIMES then return nil end
    log.times[to - 1], log.counts[to - 1] = newest_us, count
  end
  if kept_us > now_us then kept_us = now_us end
  if period_us >= keep_us or now_us - kept_us >= keep_us then
    if period_us < keep_us then keep_tokens = 0 end
    keep_us, kept_us = period_us, now_us
  end
  if limit > keep_tokens then keep_tokens = limit end
  log.keep_us, log.kept_us, log.keep_tokens = keep_us, kept_us, keep_tokens
  advance_log(key, log, now_us, period_us)
  return log
end

-- Appends to a reply how a log stands: the entries that hold the tokens whose end the costs wait for, the one whose end the next
-- token waits for, and the last one; what is between two of these as one entry, below 0 where it is several.
local function reply_sliding_log(reply, n, key, log, limit, costs)
  local used, start = log.used, n + 3
  reply[n + 1], reply[n + 2], n = 0, used, start
  if used > 0 then
    local marks = { max(1, used + 1 - limit), used }
    if costs then
      for i = 1, #costs do
        local cost = costs[i]
        if cost > 0 and cost <= limit and used + cost > limit then marks[#marks + 1] = used + cost - limit end
      end
      table.sort(marks)
    end
    local index, told = log.first, 0
    for i = 1, #marks do
      if marks[i] > told then
        local found = log.length - 1
        if marks[i] < used then found = log_entry_of(key, log, index, marks[i] - told, (log.before + told) % COUNTS) end
        if found > index then
          local between = log_tokens(key, log, log.first, found - 1, log.before)
          reply[n + 1], reply[n + 2] = log_entry(key, log, found - 1), between - told
          if found > index + 1 then reply[n + 2] = told - between end
          n, told = n + 2, between
        end
        local through = log_tokens(key, log, log.first, found, log.before)
        reply[n + 1], reply[n + 2] = log_entry(key, log, found), through - told
        n, told, index = n + 2, through, found + 1
      end
    end
  end
  reply[start] = (n - start) / 2
  return n
end
