-- Why a bucket cannot be read: 1, the key holds another type, which MGET gives as nothing; 2, an unknown value.
local function fault_of(value)
  if value then return 2 end
  return 1
end

-- MGET gives nothing for a key that is not there and for one of another type: only the former is a bucket nobody has used.
local function is_foreign(key, value)
  return not value and redis.call('EXISTS', key) == 1
end
