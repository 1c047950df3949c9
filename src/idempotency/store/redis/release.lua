local record = redis.call('HMGET', KEYS[1], 'token', 'state')
if record[1] ~= ARGV[1] or record[2] == 'done' then
    return 0
end
redis.call('DEL', KEYS[1])
return 1
