local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call('HMGET', KEYS[1], 'fingerprint', 'token', 'state', 'until', 'version', 'value')
local state = record[3]
if state then
    if record[1] ~= ARGV[1] then
        return {'conflict', 0, 0, ''}
    end
    if state == 'done' then
        return {'done', 0, tonumber(record[5]), record[6]}
    end
    if record[2] ~= ARGV[2] then
        local left = tonumber(record[4]) - now
        if state == 'claimed' and left > 0 then
            return {'running', left, 0, ''}
        end
        if ARGV[5] ~= '1' then
            return {'unknown', 0, 0, ''}
        end
    end
elseif redis.call('EXISTS', KEYS[1]) == 1 then
    return redis.error_reply('FOREIGN the key holds something else')
end
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'token', ARGV[2], 'state', 'claimed',
    'until', now + ARGV[3], 'keep', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[3] + ARGV[4])
return {'ours', 0, 0, ''}
