-- What is kept of one process, and of all: packed doubles. A value of another form counts as missing.
local TOTALS, ENTRY = '<dddddd', '<dddddddd'

-- Number of processes, sums of their ceilings (by demand, even), sum of their demands, times in ms: of the last sweep, and when
-- all lives are over.
local function read_totals(value)
  if value and #value == 48 then return struct.unpack(TOTALS, value) end
end

-- Number of the last beat, ceilings (by demand, even), demand, time of the beat and its life in ms, what was offered (by demand,
-- even).
local function read_entry(value)
  if value and #value == 64 then return struct.unpack(ENTRY, value) end
end
