import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const FIRST = 10_000;
/** More ports than one worker of a run has in use at once. */
const EACH = 500;

/** From here on the system takes ports for the connections of any program on this machine. */
const end = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0]);
const shares = Math.max(1, Math.floor((end - FIRST) / EACH));
/** Workers of one run never choose the same one; two runs on one machine begin somewhere each. */
const share = Number(process.env['VITEST_POOL_ID'] ?? 0) % shares;
let next = Math.floor(Math.random() * EACH);

/**
 * A port of this machine for a program that cannot be asked which one it got, for one that comes back to it, or for one that has it at
 * several addresses. No connection takes it meanwhile, as it may one that was free a moment ago and is given out by the system.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < EACH; tries++) {
    const port = FIRST + share * EACH + (next++ % EACH);
    if (await isFree(port)) return port;
  }
  throw new Error(`none of ${EACH} ports from ${FIRST + share * EACH} on is free`);
}

/** At every address: a server of ours may want it at several. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)));
  });
}
