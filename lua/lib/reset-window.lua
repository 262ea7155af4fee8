-- Makes a window as if unused, where it stands, but for what is out on lease.
local function reset_window(policy, window)
  if policy[1] == 'l' then
    local log = window[3]
    cut_log(log, log.from)
    log.kept, log.used = 0, 0
  else
    window[4], window[5] = window[6], 0
  end
end
