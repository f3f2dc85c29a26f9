import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { startApp, type App, type Role } from '../../src/app.ts';
import { listEvents } from '../../src/mail/events/index.ts';
import { loadConfig, type Config, type DeepPartial } from '../../src/platform/config/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createInstanceKey } from '../../src/platform/secrets/index.ts';
import type { PaymentProvider } from '../../src/features/billing/subscriptions.ts';
import { createOperator } from '../../src/tenancy/operators/index.ts';
import { createTeam } from '../../src/tenancy/teams/index.ts';
import { createApi, type Api } from './api.ts';
import { createManualClock, type ManualClock } from './clock.ts';
import { makeMigratedDatabase } from './database.ts';
import { startDns, type DnsRig } from './dns.ts';
import { makeRsaKey } from './rsa-keys.ts';
import { scratchFolder } from './scratch.ts';
import { sayWhenHanging } from './say-when-hanging.ts';
import { startSink, type Sink, type SinkOptions } from './sink.ts';
import { seenEvents, type SeenEvent } from './events.ts';

export interface SceneOptions {
  config?: DeepPartial<Config>;
  /** The profile; production by default. */
  profile?: Config['profile'];
  sink?: SinkOptions;
  roles?: readonly Role[];
  /** When the scene begins, as an ISO 8601 instant; now by default. */
  startAt?: string;
  /** The clock, if something else uses it too. */
  clock?: ManualClock;
  /** The rate limit; generous by default, so that only tests about limits meet it. */
  ratePerSecond?: number;
  /** Whether waits for mail servers follow the scene's clock; otherwise they take real time. */
  networkWaits?: 'by hand';
  /** The source of randomness, for tests in which jitter would blur times. */
  random?: () => number;
  /** Certificates that the app trusts when it fetches something. */
  trustedCa?: readonly string[];
  /** The payment provider; none by default. */
  payments?: PaymentProvider;
  /** Puts files into the data folder before the start. */
  prepare?: (dataDir: string) => void;
  /** Returns another URL of the same PostgreSQL. */
  through?: (url: string) => Promise<string>;
}

export interface Team {
  id: string;
  key: string;
  /** Creates a domain that DNS publishes and that is verified through the API. */
  domain(name?: string): Promise<{ id: string; name: string }>;
  sendingKey(input?: { domain_id?: string }): Promise<string>;
}

/** Everything that happened to one email: what receivers got and what the team can see. */
export interface Account {
  state: string;
  events: string[];
}

export interface Scene extends AsyncDisposable {
  app: App;
  url: string;
  api: Api;
  clock: ManualClock;
  sink: Sink;
  dns: DnsRig;
  dataDir: string;
  log: string[];
  team(name?: string): Promise<Team>;
  /** Creates an operator and returns the token. */
  operator(name?: string): Promise<string>;
  /** Resolves when nothing is due or under way. */
  settled(): Promise<void>;
  events(subjectId: string): Promise<SeenEvent[]>;
  account(team: Team, emailId: string): Promise<Account>;
  /** Stops the app as SIGTERM would and starts it again on the same data, with these settings changed. */
  restart(change?: DeepPartial<Config>): Promise<void>;
  close(): Promise<void>;
}

let domains = 0;

/** The least that argon2 accepts: tests have no attacker. */
const PASSWORD_COST = { memory: 8, passes: 1 };

/**
 * Starts the real app on free ports with its own database, a DNS server that knows only what the test says, and a mail
 * sink: `example.org`, `example.net` and every other name get their mail there until the test says otherwise.
 */
export async function startScene(options: SceneOptions = {}): Promise<Scene> {
  const dataDir = scratchFolder('rasket-test-');
  mkdirSync(path.join(dataDir, 'run'), { mode: 0o700 });
  createInstanceKey(dataDir);
  options.prepare?.(dataDir);
  const database = await makeMigratedDatabase(dataDir);
  const sink = await startSink(options.sink ?? {});
  const dns = await startDns({ '*': { MX: ['10 mx.sink.test'] }, 'mx.sink.test': { A: ['127.0.0.1'] } });
  const clock =
    options.clock ?? createManualClock(options.startAt === undefined ? undefined : Date.parse(options.startAt));
  const log: string[] = [];
  const url = await (options.through?.(database.settings.url) ?? database.settings.url);
  let { config } = loadConfig({
    env: {},
    profile: options.profile,
    overrides: merge(
      buildSettings(options, { database: { ...database.settings, url }, dns, sink }),
      options.config ?? {},
    ),
  });
  const start = (): Promise<App> =>
    startApp({
      config,
      dataDir,
      // This folder is in memory as well, and removed with the data folder.
      runtimeDir: dataDir,
      clock,
      makeRsaKey,
      passwordCost: PASSWORD_COST,
      version: '0.0.0-test',
      mayFound: true,
      log: createLog({ level: 'debug', format: 'json', write: (line) => void log.push(line) }),
      ...givenTo(options),
      ...(options.networkWaits ? { networkClock: clock } : {}),
      // Cron runs by the wall clock; tests run its jobs by hand.
      roles: options.roles ?? ['http', 'delivery'],
    });
  let app = await start();
  let api = createApi(app.http?.url ?? '');
  const waitFor = <T>(what: string, work: Promise<T>): Promise<T> =>
    sayWhenHanging(what, work, { app, log, databaseUrl: database.settings.url });

  const scene: Scene = {
    get app() {
      return app;
    },
    get url() {
      return app.http?.url ?? '';
    },
    api: (method, target, call) => api(method, target, call),
    clock,
    sink,
    dns,
    dataDir,
    log,
    async team(name = `Team ${++domains}-${Math.random().toString(36).slice(2)}`) {
      const made = await createTeam(app.world, { name });
      return buildTeam(scene, made.teamId, made.apiKey);
    },
    operator: (name = 'Ada') => createOperator(app.world, name).then(({ token }) => token),
    settled: () => settled(app, waitFor),
    events: (subjectId) => seenEvents(app.world.db, subjectId),
    async account(team, emailId) {
      const { body } = await api('GET', `/emails/${emailId}`, { key: team.key });
      const events = await listEvents(app.world.db, emailId);
      return { state: body.last_event as string, events: events.map((event) => event.type) };
    },
    async restart(change = {}) {
      config = merge(config, change) as Config;
      await waitFor('stopped, to be started again', app.close(0));
      app = await start();
      api = createApi(app.http?.url ?? '');
    },
    async close() {
      await waitFor('stopped', app.close(0));
      await Promise.all([sink.close(), dns.close()]);
      await database.drop();
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 10 });
    },
    [Symbol.asyncDispose]: () => scene.close(),
  };
  return scene;
}

const PARTS = ['automations', 'broadcasts', 'confirmations', 'signUpMails', 'queue', 'webhooks', 'imports'] as const;

/**
 * Endpoints are notified of what became of mail, and what becomes of an endpoint may be mailed and cause events in
 * turn. Mails to people result from calls only, and are checked once: each check queries the database, which is most of
 * the cost here.
 */
async function settled(app: App, waitFor: (what: string, work: Promise<void>) => Promise<void>): Promise<void> {
  for (const part of ['people', ...PARTS, ...PARTS] as const)
    await waitFor(`${part} idle`, Promise.resolve(app[part]?.idle()));
}

/** Options that are passed to the app unchanged. */
const givenTo = ({ random, trustedCa, payments }: SceneOptions) => ({
  ...(random ? { random } : {}),
  ...(trustedCa ? { trustedCa } : {}),
  ...(payments ? { payments } : {}),
});

function buildSettings(
  { ratePerSecond = 100_000 }: SceneOptions,
  { database, dns, sink }: { database: NonNullable<DeepPartial<Config>['database']>; dns: DnsRig; sink: Sink },
): DeepPartial<Config> {
  return {
    instance: { host: 'rasket.test', env: 'test' },
    http: { port: 0 },
    // A connection is a process of the server, whose start and end cost more than most scenes need.
    database: { ...database, pool_max: 5 },
    dns: { servers: [dns.server], timeout_ms: 5000, tries: 1 },
    delivery: { smtp_port: sink.port },
    smtp: { host: '127.0.0.1' },
    submission: { ports: [0], tls_ports: [0] },
    receiving: { ports: [0], greeting_delay_ms: 0 },
    network: { mail_allow_private: ['127.0.0.0/8', '::1/128'] },
    rate_limit: { requests_per_second: ratePerSecond, burst: ratePerSecond },
    // A test that wants other machines to be contacted enables it.
    doctor: { checks: [] },
  };
}

function buildTeam(scene: Scene, id: string, key: string): Team {
  return {
    id,
    key,
    async domain(name = `d${++domains}.example.com`) {
      const created = await scene.api('POST', '/domains', { key, body: { name } });
      publish(scene.dns, created.body);
      await scene.api('POST', `/domains/${created.body.id}/verify`, { key });
      return { id: created.body.id as string, name };
    },
    async sendingKey(input = {}) {
      const body = { name: 'Sending', permission: 'sending_access', ...input };
      return (await scene.api('POST', '/api-keys', { key, body })).body.token as string;
    },
  };
}

/** Publishes a domain's records in DNS, as its owner would. */
export function publish(
  dns: DnsRig,
  domain: { records: { type: 'TXT' | 'MX' | 'CNAME' | 'CAA'; name: string; value: string; priority?: number }[] },
): void {
  for (const record of domain.records) {
    if (record.type === 'MX') dns.set(record.name, 'MX', [`${record.priority} ${record.value}`]);
    else if (record.type === 'CNAME' || record.type === 'CAA') dns.set(record.name, record.type, [record.value]);
    else dns.set(record.name, 'TXT', [record.value.match(/.{1,255}/g) ?? []]);
  }
}

function merge(base: DeepPartial<Config>, over: DeepPartial<Config>): DeepPartial<Config> {
  const merged: Record<string, unknown> = { ...base };
  for (const [section, values] of Object.entries(over)) {
    merged[section] = { ...(merged[section] as object | undefined), ...(values as object) };
  }
  return merged as DeepPartial<Config>;
}
