-- Allots to each process its share of the limits, for the time when Redis is away; shares in use never sum to more than the whole.
--
-- @arity head=1 allotment=5
-- KEYS: the ledger of the processes that use a prefix.
-- ARGV:
--   1   the process's id, not `*`
--   2   number of the beat, rising; one that is not above the last changes nothing and is answered alike
--   3   how long a process counts without being heard of, in ms
--   4   its share by demand, the most that it uses from now on, in billionths
--   5   its even share, the same
--   6   its demand, in a unit that all use
--   7   how many processes there are at least
--   8   1 when it leaves, else 0
-- Returns: the server's time in us; how many processes are at work; the share by demand and the even share that this one may use;
--   what would be its share by demand if nobody held it still; the demand of all.
-- Writes: the ledger, a hash: one field for each process and `*` for their sums. It expires with the last of them.

-- @include lib/clock
-- @include lib/share-entry

local WHOLE, SLACK = 1000000000, 1.05

local now_us = server_time_us()
local now_ms = math.floor(now_us / 1000)
local id, number, life_ms = ARGV[1], ARGV[2] + 0, ARGV[3] + 0
local used_share, used_even, asked, replicas = ARGV[4] + 0, ARGV[5] + 0, ARGV[6] + 0, ARGV[7] + 0
local leaves = ARGV[8] == '1'

local values = redis.call('HMGET', KEYS[1], '*', id)
local count, share, even, demand, swept_ms, end_ms = read_totals(values[1])
if not count or now_ms < swept_ms or now_ms - swept_ms >= life_ms / 4 then
  count, share, even, demand, swept_ms, end_ms = 0, 0, 0, 0, now_ms, now_ms
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local last, its_share, its_even, its_demand, heard_ms, its_life_ms = read_entry(all[i + 1])
    if last and math.abs(now_ms - heard_ms) < its_life_ms then
      end_ms = math.max(end_ms, heard_ms + its_life_ms)
      count, share, even, demand = count + 1, share + its_share, even + its_even, demand + its_demand
    elseif all[i] ~= '*' then
      redis.call('HDEL', KEYS[1], all[i])
      if all[i] == id then values[2] = false end
    end
  end
end

local function pool_of(processes)
  if processes >= replicas then return WHOLE end
  return math.floor(WHOLE * processes / replicas)
end

local function due_of(pool)
  if demand <= 0 then return 0 end
  return math.min(pool, math.floor(pool * (asked / demand)))
end

local last, old_share, old_even, old_demand, _, _, offered_share, offered_even = read_entry(values[2])
if not last or number > last then
  if last then count, share, even, demand = count - 1, share - old_share, even - old_even, demand - old_demand end
  if leaves then
    redis.call('HDEL', KEYS[1], id)
    offered_share, offered_even = 0, 0
  else
    count, demand = count + 1, demand + asked
    local pool = pool_of(count)
    local wanted = due_of(pool)
    if used_share > wanted and used_share <= wanted * SLACK then wanted = used_share end
    offered_share = math.max(0, math.min(wanted, pool - share))
    offered_even = math.max(0, math.min(math.floor(WHOLE / math.max(count, replicas)), WHOLE - even))
    local top_share, top_even = math.max(used_share, offered_share), math.max(used_even, offered_even)
    share, even = share + top_share, even + top_even
    redis.call('HSET', KEYS[1], id,
      struct.pack(ENTRY, number, top_share, top_even, asked, now_ms, life_ms, offered_share, offered_even))
  end
  end_ms = math.max(end_ms, now_ms + life_ms)
end
redis.call('HSET', KEYS[1], '*', struct.pack(TOTALS, count, share, even, demand, swept_ms, end_ms))
redis.call('PEXPIRE', KEYS[1], math.max(1, end_ms - now_ms))
local due = 0
if not leaves then due = due_of(pool_of(count)) end
return { now_us, count, offered_share, offered_even, due, demand }
