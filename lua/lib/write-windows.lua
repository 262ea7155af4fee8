-- @include lib/write-fixed-window
-- @include lib/write-sliding-window-counter
-- @include lib/write-sliding-window-log

-- Charges a log with what a call has added to it; other windows are charged as they are added to.
local function charge_window(key, now_us, policy, window)
  if policy[1] == 'l' then charge_sliding_log(key, window[3], now_us, window[4]) end
end

-- Writes a window as it now stands, without its block; returns the expiry.
local function write_window(key, now_us, policy, window)
  if policy[1] == 'f' then
    return write_fixed_window(key, now_us, policy[3], window[3], window[4], window[6], window[7])
  elseif policy[1] == 'c' then
    return write_sliding_counter(key, now_us, policy[3], window[3], window[4], window[5], window[6], window[7])
  end
  return write_sliding_log(key, now_us, window[3])
end
