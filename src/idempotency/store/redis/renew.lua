local record = redis.call('HMGET', KEYS[1], 'token', 'state', 'keep')
if record[1] ~= ARGV[1] or record[2] ~= 'claimed' then
    return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'until', now + ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[2] + record[3])
return 1
