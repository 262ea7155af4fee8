const FNV_OFFSET = 0x811c9dc5;

/**
 * FNV-1a over UTF-16 code units, stirred so that its low bits depend on all of them; whole, from 1 to 2^32 - 1.
 * @param seed another hash, for a key in two parts.
 */
export function hashOf(key: string, seed: number = FNV_OFFSET): number {
  let hash = seed;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0 || 1;
}
