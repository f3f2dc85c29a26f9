import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const FIRST = 10_000;
/** More ports than one worker of a run uses at once. */
const EACH = 500;

/** The system uses ports from here on for connections of any program on this machine. */
const end = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0]);
const shares = Math.max(1, Math.floor((end - FIRST) / EACH));
/** Workers of one run never choose the same port; two runs on one machine begin at different places. */
const share = Number(process.env['VITEST_POOL_ID'] ?? 0) % shares;
let next = Math.floor(Math.random() * EACH);

/**
 * Returns a port of this machine for a program that cannot report which one it got, that uses the same one again, or
 * that needs it at several addresses. No connection takes it meanwhile, as could happen to a port that the system gives
 * out.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < EACH; tries++) {
    const port = FIRST + share * EACH + (next++ % EACH);
    if (await isFree(port)) return port;
  }
  throw new Error(`none of ${EACH} ports from ${FIRST + share * EACH} on is free`);
}

/** Checks every address, because a server of ours may need it at several. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)));
  });
}
