-- The server's time in whole microseconds since 1970; exact in a double until the year 2255.
local function server_time_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
