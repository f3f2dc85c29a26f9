import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { hasStarted, stopProgram } from './foreground.ts';
import { freePort } from './free-port.ts';

export interface Unbound extends AsyncDisposable {
  port: number;
  /** The address in the form of `dns.servers`. */
  server: string;
  log(): string;
  close(): Promise<void>;
}

export interface UnboundOptions {
  unbound: string;
  /** The zones that it asks the name server on this port of loopback for; it knows no other name. */
  zones: readonly string[];
  authorityPort: number;
  /** DS records in zone file syntax: zones below them have to be signed. */
  anchors: readonly string[];
  /** Domains that need no signatures below a signed zone, but where an anchor asks for them. */
  unsigned?: readonly string[];
  /** Limits how long answers are cached. */
  cacheSeconds?: number;
  /** false: it believes everything. */
  validates?: boolean;
  /** An address of loopback at whose port 53 it listens too, for programs that know no other port. */
  alsoAt?: string;
}

/**
 * Starts a validating resolver of this test's own, in the foreground, on loopback, with its files in a temporary
 * folder. It sends nothing to other machines.
 */
export async function startUnbound(options: UnboundOptions): Promise<Unbound> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'rasket-unbound-'));
  const port = await freePort();
  const file = path.join(dir, 'unbound.conf');
  writeFileSync(file, settings(dir, port, options));
  const said: string[] = [];
  const child = spawn(options.unbound, ['-d', '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text));
  const unbound: Unbound = {
    port,
    server: `127.0.0.1:${port}`,
    log: () => said.join(''),
    async close() {
      await stopProgram(child);
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
    },
    [Symbol.asyncDispose]: () => unbound.close(),
  };
  try {
    await hasStarted(child, { name: 'unbound', said, isReady: (text) => text.includes('start of service') });
  } catch (error) {
    await unbound.close();
    throw error;
  }
  return unbound;
}

/** The stub for the root keeps questions about other names, and those about the root itself, on loopback. */
function settings(dir: string, port: number, options: UnboundOptions): string {
  const { zones, authorityPort, anchors, unsigned = [], validates = true, alsoAt, cacheSeconds } = options;
  const stub = (zone: string): string => `stub-zone:\n  name: "${zone}"\n  stub-addr: 127.0.0.1@${authorityPort}\n`;
  return `server:
  directory: "${dir}"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  verbosity: 1
  num-threads: 1
  interface: 127.0.0.1
  port: ${port}
${alsoAt === undefined ? '' : `  interface: ${alsoAt}@53\n`}  outgoing-interface: 127.0.0.1
  do-ip6: no
  do-not-query-localhost: no
  local-zone: "test." nodefault
${cacheSeconds === undefined ? '' : `  cache-max-ttl: ${cacheSeconds}\n  cache-max-negative-ttl: ${cacheSeconds}\n`}\
  module-config: "${validates ? 'validator iterator' : 'iterator'}"
${anchors.map((anchor) => `  trust-anchor: "${anchor}"`).join('\n')}
${unsigned.map((domain) => `  domain-insecure: "${domain}"`).join('\n')}
remote-control:
  control-enable: no
${['.', ...zones].map(stub).join('')}`;
}
