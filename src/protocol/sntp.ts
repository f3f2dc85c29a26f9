const BYTES = 48;
/** No leap warning, version 4, mode 3 for a client. */
const FIRST = 0x23;
const SERVER_MODE = 4;
/** Seconds from 1900 to 1970. */
const UNIX_SECONDS = 2_208_988_800;
/** RFC 4330 §3: without the highest bit, the count restarted in February 2036. */
const ERA_SECONDS = 2 ** 32;

/**
 * Builds a request. `mark` is sent as the client's time: the server repeats it, so that a host off the path cannot
 * forge a reply.
 */
export function timeRequest(mark: Buffer): Buffer {
  const request = Buffer.alloc(BYTES);
  request[0] = FIRST;
  mark.copy(request, 40, 0, 8);
  return request;
}

/**
 * Returns the time in milliseconds; undefined if the reply is for another request, or if the server is not
 * synchronized.
 */
export function readTime(reply: Buffer, mark: Buffer): number | undefined {
  if (reply.length < BYTES || !reply.subarray(24, 32).equals(mark.subarray(0, 8))) return undefined;
  const first = reply.readUInt8(0);
  const stratum = reply.readUInt8(1);
  // Stratum 0 asks clients to stop (RFC 4330 §8), leap indicator 3 means that the server has no time.
  if ((first & 7) !== SERVER_MODE || first >> 6 === 3 || stratum === 0 || stratum > 15) return undefined;
  const seconds = reply.readUInt32BE(40);
  if (seconds === 0) return undefined;
  const era = seconds < ERA_SECONDS / 2 ? ERA_SECONDS : 0;
  return (seconds + era - UNIX_SECONDS) * 1000 + Math.round((reply.readUInt32BE(44) / ERA_SECONDS) * 1000);
}
