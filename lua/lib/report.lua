-- Appends to a reply how a token bucket stands, in the form of take.lua; returns where the reply then ends. Of a lease that
-- was just granted: its tokens (0 without), its id, which is that of the newer escrow, and its life.
local function reply_token_bucket(reply, n, now_us, level, time_us, older, older_death_us, newer, newer_death_us,
  tokens, newer_id, life_us, contended)
  local flag, first = 32 * tokens, n + 1
  n = n + 2
  reply[n] = level
  if time_us ~= now_us then
    flag, n = flag + 1, n + 1
    reply[n] = time_us
  end
  if older > 0 then
    flag, n = flag + 2, n + 2
    reply[n - 1], reply[n] = older, older_death_us
  end
  if newer > 0 and (newer ~= tokens or newer_death_us ~= now_us + life_us) then
    flag, n = flag + 4, n + 2
    reply[n - 1], reply[n] = newer, newer_death_us
  end
  if tokens > 0 and newer_id ~= now_us then
    flag, n = flag + 8, n + 1
    reply[n] = newer_id
  end
  if contended then flag = flag + 16 end
  reply[first] = flag
  return n
end

-- The same of a bucket that cannot be read, with the code of lib/fault.
local function reply_fault(reply, n, code)
  reply[n + 1], reply[n + 2] = -1, code
  return n + 2
end

-- Until when a bucket is blocked, in front of how it stands; nothing where it is not.
local function reply_block(reply, n, until_us)
  if not until_us then return n end
  reply[n + 1], reply[n + 2] = -2, until_us
  return n + 2
end
