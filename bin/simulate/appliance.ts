import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startApp, type App } from '../../src/app.ts';
import type { Internet } from '../../src/features/rehearsal/start.ts';
import type { PublishedRecord } from '../../src/features/rehearsal/start.ts';
import type { Clock } from '../../src/platform/clock.ts';
import { loadConfig, type Config, type DeepPartial } from '../../src/platform/config/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createOperator } from '../../src/tenancy/operators/index.ts';
import { createTeam } from '../../src/tenancy/teams/index.ts';
import { OperatorFault } from '../explain.ts';
import { makeDataFolder } from '../commands/init.ts';

/** A server for one rehearsal, with a team and a verified domain, which is removed with all of its data at the end. */
export interface Appliance extends AsyncDisposable {
  /** The domain of the senders. */
  domain: string;
  /** Calls the API as the team, and throws if the response is an error. */
  call(method: string, target: string, body?: unknown): Promise<Body>;
  /** Calls the API as an operator. */
  callAsOperator(method: string, target: string): Promise<Body>;
}

export type Body = Record<string, unknown>;

const HOST = 'sender.rehearsal.example';
const DOMAIN = 'news.rehearsal.example';
const POSTAL_ADDRESS = {
  line1: '1 Rehearsal Street',
  city: 'Springfield',
  state: 'IL',
  postal_code: '62701',
  country: 'US',
};

export interface ApplianceOptions {
  internet: Internet;
  clock: Clock;
  version: string;
  /** Settings of [delivery] to try. */
  delivery: DeepPartial<Config['delivery']>;
}

export async function startAppliance(options: ApplianceOptions): Promise<Appliance> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'rasket-simulate-'));
  const remove = (): void => rmSync(dataDir, { recursive: true, force: true, maxRetries: 10 });
  try {
    makeDataFolder(dataDir);
    const app = await start(dataDir, options);
    const close = (): Promise<void> => app.close(0).finally(remove);
    try {
      return { ...(await prepare(app, options.internet)), [Symbol.asyncDispose]: close };
    } catch (error) {
      await close();
      throw error;
    }
  } catch (error) {
    remove();
    throw error;
  }
}

/** The settings with which a server sends into the rehearsal instead of to real people. */
export const rehearsalSettings = ({ dns, smtpPort }: Internet): DeepPartial<Config> => ({
  dns: { servers: [dns.server] },
  delivery: { smtp_port: smtpPort, capture: false },
  network: { mail_allow_private: ['127.0.0.0/8'] },
});

function start(dataDir: string, { internet, clock, version, delivery }: ApplianceOptions): Promise<App> {
  const rehearsal = rehearsalSettings(internet);
  // The environment of the shell is not read: it may name the database or the relay of a real installation.
  const { config } = loadConfig({
    env: {},
    overrides: {
      ...rehearsal,
      instance: { host: HOST, env: 'rehearsal' },
      http: { host: '127.0.0.1', port: 0 },
      smtp: { host: '127.0.0.1' },
      receiving: { ports: [0], greeting_delay_ms: 0 },
      rate_limit: { requests_per_second: 100_000, burst: 100_000 },
      delivery: { ...delivery, ...rehearsal.delivery },
      doctor: { checks: [] },
      log: { level: 'silent' },
    },
  });
  return startApp({
    config,
    dataDir,
    clock,
    networkClock: clock,
    version,
    mayFound: true,
    log: createLog(config.log),
    roles: ['http', 'delivery', 'receiving'],
  });
}

async function prepare(app: App, internet: Internet): Promise<Omit<Appliance, typeof Symbol.asyncDispose>> {
  const url = app.http?.url ?? '';
  const receiving = app.smtp?.listening.find(({ doors }) => doors.includes('receiving'));
  if (receiving) internet.reportTo({ host: receiving.host, port: receiving.port });
  internet.dns.publish([{ name: HOST, type: 'A', value: '127.0.0.1' }]);
  const { apiKey } = await createTeam(app.world, { name: 'Rehearsal' });
  const { token } = await createOperator(app.world, 'Rehearsal');
  const call = callWith(url, apiKey);
  const domain = await call('POST', '/domains', { name: DOMAIN });
  internet.dns.publish(domain['records'] as PublishedRecord[]);
  await call('POST', `/domains/${String(domain['id'])}/verify`);
  await call('PATCH', '/team', { sender_name: 'Rehearsal', postal_address: POSTAL_ADDRESS });
  return { domain: DOMAIN, call, callAsOperator: callWith(url, token) };
}

const callWith =
  (url: string, token: string) =>
  async (method: string, target: string, body?: unknown): Promise<Body> => {
    const isForm = body instanceof FormData;
    const response = await fetch(new URL(target, url), {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new OperatorFault(`${method} ${target} was answered with ${response.status}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Body);
  };
