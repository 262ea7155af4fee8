-- The arguments of take.lua, written out if they have a short form.
local function long_form(args, bucket_count)
  local form = args[1]
  if form == 's' then return { 1, 't', args[2], args[3], 1, args[4], 1, args[6], 1, 1, args[5] } end
  if form == 'c' then return { 1, 'c', args[2], args[3], 0, 0, 1, args[5], 1, 1, args[4] } end
  if form == 'm' then
    local long = { 1, 't', args[2], args[3], 1, args[4] }
    for i = 1, bucket_count do
      local run, asks = 3 + 4 * i + bucket_count, args[6]
      if args[7] then asks = args[5 + i] end
      long[6 + i], long[run], long[run + 1], long[run + 2], long[run + 3] = 1, asks, 1, i, args[5]
    end
    return long
  end
  if form ~= 'r' then return args end
  local long, life_us, asks, slot, n = { bucket_count }, args[2], args[3], 5, 1 + 5 * bucket_count
  if life_us > 0 then slot = 7 end
  for i = 1, bucket_count do
    local policy = 5 * i - 3
    if args[slot] < 0 and args[slot + 2] == 2 then
      long[policy], long[policy + 1], long[policy + 2], long[policy + 3], long[policy + 4] =
        'c', -args[slot], args[slot + 1], 0, 0
    elseif args[slot] < 0 then
      long[policy], long[policy + 1], long[policy + 2], long[policy + 3], long[policy + 4] =
        'f', -args[slot], args[slot + 1], args[slot + 2], 0
    else
      long[policy], long[policy + 1], long[policy + 2], long[policy + 3], long[policy + 4] =
        't', args[slot], args[slot + 1], 1, args[slot + 2]
    end
    slot, n = slot + 3, n + 1
    long[n] = i
    if life_us > 0 then
      long[n], long[n + 1], long[n + 2], long[n + 3], long[n + 4] = -i, args[slot], life_us, args[5], args[6]
      local rest = 1 + 3 * args[slot + 1]
      for k = 1, rest do long[n + 4 + k] = args[slot + k] end
      slot, n = slot + 1 + rest, n + 4 + rest
    end
  end
  if asks >= 0 then
    long[n + 1], long[n + 2] = asks, bucket_count
    for i = 1, bucket_count do long[n + 2 * i + 1], long[n + 2 * i + 2] = i, args[4] end
  end
  return long
end
