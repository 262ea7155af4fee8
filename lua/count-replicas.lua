-- Counts the processes at work under one prefix: notes that one is, and forgets those not heard of lately.
--
-- @arity head=1 count=1
-- KEYS: the set of processes.
-- ARGV: this process's id; how long it counts without being heard of again, in ms.
-- Returns: the server's time in us; how many processes are at work.
-- Writes: the set, which expires when its last process would be forgotten.

-- @include lib/clock

local now_us = server_time_us()
local now_ms = math.floor(now_us / 1000)
local life_ms = ARGV[2] + 0
redis.call('ZADD', KEYS[1], now_ms, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now_ms - life_ms)
redis.call('ZREMRANGEBYSCORE', KEYS[1], now_ms + life_ms, '+inf')
redis.call('PEXPIRE', KEYS[1], life_ms)
return { now_us, redis.call('ZCARD', KEYS[1]) }
