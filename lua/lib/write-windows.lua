-- @include lib/write-fixed-window
-- @include lib/write-sliding-window-counter
-- @include lib/write-sliding-window-log

-- Writes a window as `read_window` gave it, with what was charged since.
local function write_window(key, now_us, policy, window)
  if policy[1] == 'f' then
    write_fixed_window(key, now_us, policy[3], window[3], window[4])
  elseif policy[1] == 'c' then
    write_sliding_counter(key, now_us, policy[3], window[3], window[4], window[5])
  else
    charge_sliding_log(window[3], now_us, window[4])
    write_sliding_log(key, now_us, window[3])
  end
end
