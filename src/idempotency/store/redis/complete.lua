local record = redis.call('HMGET', KEYS[1], 'token', 'state')
if record[1] ~= ARGV[1] then
    return 0
end
if record[2] == 'done' then
    return 1
end
redis.call('HSET', KEYS[1], 'state', ARGV[2], 'version', ARGV[3], 'value', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1
