/** Slots of a Redis Cluster. */
const SLOTS = 16_384;
const TABLE: readonly number[] = Array.from({ length: 256 }, (_, byte) => checksumOf(byte));

/** CRC16 of one byte in the variant of the Redis Cluster specification (XMODEM: polynomial 0x1021, start 0). */
function checksumOf(byte: number): number {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc & 0xffff;
}

/** The cluster slot of a hash tag, the text between the first braces of a key. */
export function keySlot(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) crc = ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ byte] as number);
  return crc % SLOTS;
}

/** The cluster slot of a whole key: of its tag if it has one, else of all of it. */
export function slotOfStoreKey(key: string): number {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open + 1);
  return keySlot(open === -1 || close <= open + 1 ? key : key.slice(open + 1, close));
}
