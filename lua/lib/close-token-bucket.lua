-- @include lib/report

-- Ends a call for a token bucket: leases what is wished for, writes the bucket, and appends to the reply how it stands;
-- returns where the reply then ends.
local function close_token_bucket(reply, n, key, now_us, policy, b)
  local level, older, older_id, older_death_us, newer, newer_id, newer_death_us =
    b[LEVEL], b[OLDER], b[OLDER_ID], b[OLDER_DEATH_US], b[NEWER], b[NEWER_ID], b[NEWER_DEATH_US]
  local tokens, life_us, contended = 0, b[LIFE_US], b[CONTENDED] == 1
  if b[WISH] and not b[REFUSED] and not b.until_us then
    tokens = lease_size(b[WISH], level / policy[2], contended, b[LEFT], b[SHARE])
  end
  if tokens > 0 then
    level, older, older_id, older_death_us, newer, newer_id, newer_death_us = level - tokens * policy[2],
      granted_lease(tokens, life_us, now_us, older, older_id, older_death_us, newer, newer_id, newer_death_us)
  end
  write_token_bucket(key, now_us, policy[2], level, b[TIME_US], b[FULL_US], older, older_id, older_death_us,
    newer, newer_id, newer_death_us, b[DEMAND], b.from_us, b.until_us)
  return reply_token_bucket(reply, reply_block(reply, n, b.until_us), now_us, level, b[TIME_US], older, older_death_us,
    newer, newer_death_us, tokens, newer_id, life_us, contended)
end
