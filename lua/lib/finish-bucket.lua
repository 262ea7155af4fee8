-- Leases of a token bucket what its report wishes for, writes it, and appends to a reply how it stands; returns where the reply
-- then ends, and the expiry.
local function finish_bucket(reply, n, key, policy, b, now_us)
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
  local expiry_ms = write_token_bucket(key, now_us, policy[2], level, b[TIME_US], b[FULL_US], older, older_id,
    older_death_us, newer, newer_id, newer_death_us, b[DEMAND])
  n = reply_token_bucket(reply, n, now_us, level, b[TIME_US], older, older_death_us, newer, newer_death_us,
    tokens, newer_id, life_us, contended)
  return n, expiry_ms
end
