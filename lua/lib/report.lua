-- Appends to a reply how a bucket stands after an operation that leases nothing, in the form of take.lua; returns the next n.
local function reply_token_bucket(reply, n, level, time_us, older, older_death_us, newer, newer_death_us)
  reply[n + 1], reply[n + 2], reply[n + 3] = 0, level, time_us
  if older == 0 and newer == 0 then return n + 3 end
  reply[n + 1], reply[n + 4], reply[n + 5], reply[n + 6], reply[n + 7] = 1, older, older_death_us, newer, newer_death_us
  reply[n + 8], reply[n + 9], reply[n + 10] = 0, 0, 0
  return n + 10
end

local function reply_slots(reply, n, flag, a, b)
  reply[n + 1], reply[n + 2], reply[n + 3] = flag, a, b
  return n + 3
end
