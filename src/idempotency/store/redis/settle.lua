local record = redis.call('HMGET', KEYS[1], 'state', 'until')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if record[1] ~= 'unknown' and not (record[1] == 'claimed' and tonumber(record[2]) <= now) then
    return 0
end
if ARGV[1] == 'not_run' then
    redis.call('DEL', KEYS[1])
else
    redis.call('HSET', KEYS[1], 'state', 'done', 'version', ARGV[2], 'value', ARGV[3])
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return 1
