import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, vi } from 'vitest';
import { scratchFolder } from '../rig/scratch.ts';
import { makeCertificate } from '../rig/tls.ts';
import { freePort } from '../rig/free-port.ts';
import { findProgram } from './peers.ts';

/** The name that Pebble is called by. */
export const CA = 'ca.test';

/** The address that it will have, and the certificate that it shows there: both are known before it starts. */
export interface PebblePlan {
  directory: string;
  trustedCa: string[];
  start(look: { httpPort?: number | undefined; tlsPort?: number | undefined; dnsServer: string }): Promise<Pebble>;
}

export interface Pebble {
  /** The root certificate of the certificates that it issues. */
  root: string;
  stop(): Promise<void>;
}

export async function planPebble(): Promise<PebblePlan> {
  const own = makeCertificate({ names: [CA] });
  const port = await freePort();
  const management = await freePort();
  return {
    directory: `https://${CA}:${port}/dir`,
    trustedCa: [own.cert],
    async start({ httpPort, tlsPort, dnsServer }) {
      const folder = scratchFolder('rasket-pebble-');
      const at = (name: string): string => path.join(folder, name);
      for (const [name, content] of Object.entries({ 'cert.pem': own.cert, 'key.pem': own.key }))
        writeFileSync(at(name), content);
      const pebble = {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${management}`,
        certificate: at('cert.pem'),
        privateKey: at('key.pem'),
        httpPort,
        tlsPort,
        ocspResponderURL: '',
      };
      writeFileSync(at('config.json'), JSON.stringify({ pebble }));
      const args = ['-config', at('config.json'), '-strict', '-dnsserver', dnsServer];
      const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '50', PEBBLE_AUTHZREUSE: '0' };
      const child: ChildProcess = spawn(findProgram('pebble') ?? '', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream?.on('data', (bytes: Buffer) => (said += bytes.toString()));
      const stop = async (): Promise<void> => {
        child.kill('SIGKILL');
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
        rmSync(folder, { recursive: true, force: true });
      };
      try {
        await expect.poll(() => said, { timeout: 30_000 }).toContain('ACME directory available');
        // It says so before its ports listen.
        await vi.waitFor(() => read(`https://127.0.0.1:${port}/dir`, own.cert), { timeout: 30_000 });
        const root = await vi.waitFor(() => read(`https://127.0.0.1:${management}/roots/0`, own.cert), {
          timeout: 30_000,
        });
        return { root, stop };
      } catch (error) {
        await stop();
        throw error;
      }
    },
  };
}

const read = (url: string, ca: string): Promise<string> =>
  new Promise((resolve, reject) => {
    https.get(url, { ca, servername: CA, agent: false }, (answer) => resolve(text(answer))).on('error', reject);
  });
