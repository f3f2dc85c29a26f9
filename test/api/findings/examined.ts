import { writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect } from 'vitest';
import { loadConfig, type Config, type DeepPartial } from '../../../src/platform/config/index.ts';
import { reverseName } from '../../../src/protocol/dnsbl.ts';
import { noteBackup } from '../../../src/tenancy/instance/index.ts';
import type { Role } from '../../../src/app.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { makeCertificate } from '../../rig/tls.ts';
import type { Told } from './read-findings.ts';

export const HOST = 'rasket.test';
export const ADDRESS = '127.7.7.7';
export const DAY_MS = 86_400_000;
const LIST = 'list.test';
const ALL = loadConfig({ env: {} }).config.doctor.checks;

export interface Check {
  name: string;
  machine: string;
  state: 'passed' | 'failed' | 'unknown' | 'skipped';
  summary: string;
  checked_at: string;
}

/** Another machine that gives the time over HTTP, with possible faults. */
export interface TimeServer {
  url: string;
  /** How far its clock is ahead of the scene. */
  aheadMs: number;
  close(): Promise<void>;
}

async function startTimeServer(now: () => number): Promise<TimeServer> {
  const server = http.createServer({ keepAlive: false }, (_request, response) => {
    response.sendDate = false;
    response.setHeader('date', new Date(now() + time.aheadMs).toUTCString());
    response.end('time');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const time: TimeServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    aheadMs: 0,
    close: () => new Promise((done) => void server.close(() => done())),
  };
  return time;
}

/** A healthy machine, and the result of its examination. */
export interface Machine extends AsyncDisposable {
  scene: Scene;
  token: string;
  time: TimeServer;
  /** Examines it; returns the checks by name, and the findings. */
  examine(): Promise<{ checks: Record<string, Check>; findings: Told[] }>;
  /** Adds its address to a list, or removes it. */
  list(answer: string[] | 'NXDOMAIN' | 'SERVFAIL' | 'TIMEOUT'): void;
  /** Records a backup made that long ago. */
  backedUp(ageMs: number): Promise<unknown>;
}

export async function startMachine(
  config: DeepPartial<Config> = {},
  {
    isWithoutCertificate = false,
    roles = [],
    trustedCa,
  }: { isWithoutCertificate?: boolean; roles?: Role[]; trustedCa?: string[] } = {},
): Promise<Machine> {
  const clock: { now: () => number } = { now: Date.now };
  const time = await startTimeServer(() => clock.now());
  const keys = makeCertificate({ names: [HOST], notAfter: new Date(Date.now() + 90 * DAY_MS) });
  const region = { source_v4: ADDRESS, source_v6: '::1' };
  const scene = await startScene({
    roles: ['http', 'delivery', 'submission', ...roles],
    ...(trustedCa ? { trustedCa } : {}),
    prepare(dataDir) {
      writeFileSync(path.join(dataDir, 'own.pem'), keys.key + keys.cert);
    },
    config: {
      ...(isWithoutCertificate ? {} : { tls: { certificate_file: 'own.pem' } }),
      regions: { 'us-east-1': region, 'eu-west-1': region, 'sa-east-1': region, 'ap-northeast-1': region },
      network: { mail_allow_private: ['127.0.0.0/8', '::1/128'], http_allow_private: ['127.0.0.0/8'] },
      ...config,
      doctor: {
        checks: ALL,
        mail_servers: ['large.example'],
        dnsbl_zones: [LIST],
        clock_source: time.url,
        disk_free_mb: 1,
        resolver_ms: 60_000,
        seconds: 20,
        ...config.doctor,
      },
    },
  });
  clock.now = scene.clock.now;
  const { dns } = scene;
  dns.set(HOST, 'A', [ADDRESS]);
  dns.set(HOST, 'AAAA', ['::1']);
  for (const address of [ADDRESS, '::1']) dns.set(reverseName(address), 'PTR', [HOST]);
  dns.set(`2.0.0.127.${LIST}`, 'A', ['127.0.0.2']);
  const token = await scene.operator();
  const backedUp: Machine['backedUp'] = (ageMs) => {
    const at = scene.clock.now();
    return noteBackup(scene.app.world.db, { madeAt: at - ageMs, folder: null, at });
  };
  await backedUp(3_600_000);
  return {
    scene,
    token,
    time,
    backedUp,
    async examine() {
      const { status, body } = await scene.api('POST', '/operator/findings/examination', { key: token });
      expect(status).toBe(200);
      const checks = Object.fromEntries(body.checks.map((check: Check) => [check.name, check]));
      return { checks, findings: body.findings };
    },
    list: (answer) => dns.set(`7.7.7.127.${LIST}`, 'A', answer),
    async [Symbol.asyncDispose]() {
      await scene.close();
      await time.close();
    },
  };
}
