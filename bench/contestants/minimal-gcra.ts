import { createHash } from "node:crypto";

/**
 * The least that a correct limiter in Redis can do: GCRA on the server's clock, one number a key, always with an expiry.
 * KEYS[1]: the bucket. ARGV: us that the cost adds, us that the burst allows. Returns: 1 when admitted, us until free.
 */
const TEXT = `
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local free_us = redis.call('GET', KEYS[1])
free_us = free_us and free_us + 0 or now_us
if free_us < now_us then free_us = now_us end
local next_us = free_us + ARGV[1]
if next_us - now_us > ARGV[2] + 0 then return { 0, free_us - now_us } end
redis.call('SET', KEYS[1], next_us, 'PX', math.ceil((next_us - now_us) / 1000))
return { 1, next_us - now_us }
`;

/** The script as `EVALSHA` needs it. */
export const minimalGcra: { readonly text: string; readonly sha1: string } = {
  text: TEXT,
  sha1: createHash("sha1").update(TEXT).digest("hex"),
};
