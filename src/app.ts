/**
 * Wires everything, and is the only file that does: config in, running ports out. What it starts it also stops, in the
 * opposite order: ports first, then the queue, then the database.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { loadContract } from './contract/index.ts';
import { startCron, type CronJob } from './cron/index.ts';
import { createAccept, type Accept } from './flow/accept/index.ts';
import { createComposer } from './flow/compose/index.ts';
import { createCapture, createDeliver, type DeliverOptions } from './flow/deliver/index.ts';
import { publishConfigured } from './flow/dns-setup/index.ts';
import {
  createListeners,
  createNotify,
  createTellAdmins,
  forgetListeners,
  type Listeners,
  type Notify,
} from './flow/notify/index.ts';
import { catchMessage } from './flow/playground/index.ts';
import { createQueue, openHandOffLog, recoverDeliveries, releaseHeld, type Queue } from './flow/queue/index.ts';
import { createSettle } from './flow/settle/index.ts';
import {
  createLogRemoval,
  createRemoval,
  createWebhookRemoval,
  forgetIdempotencyKeys,
  removeOrphanBlobs,
} from './flow/sweep/index.ts';
import { createTracking, type Tracking } from './flow/track/index.ts';
import { startHttp, type HttpPort } from './http/index.ts';
import { createApiCall } from './platform/api-call/index.ts';
import { openBlobs } from './platform/blobs/index.ts';
import { stopwatch, systemClock, type Clock } from './platform/clock/index.ts';
import type { Config } from './platform/config/index.ts';
import { createGroupCommit, holdDataFolder, migrate, openDb } from './platform/db/index.ts';
import { createGuardedFetch } from './platform/fetch/index.ts';
import { createIds } from './platform/ids/index.ts';
import { createLog, createMailLog, type Log } from './platform/log/index.ts';
import { createInspector, createResolver } from './platform/resolver/index.ts';
import { openSecrets } from './platform/secrets/index.ts';
import type { World } from './platform/world/index.ts';
import { recheckClaims } from './resources/domain-claims/index.ts';
import { sweepDomains } from './resources/domains/index.ts';
import { forgetExpiredShares } from './resources/shares/index.ts';

export const ROLES = ['http', 'delivery', 'scheduler'] as const;
export type Role = (typeof ROLES)[number];

export interface WorldOptions {
  config: Config;
  dataDir: string;
  clock?: Clock;
  random?: () => number;
  log?: Log;
  /** Certificates in PEM that our own HTTP requests trust instead of the system's. */
  trustedCa?: readonly string[];
}

export interface AppOptions extends WorldOptions {
  version: string;
  roles?: readonly Role[];
}

export interface App {
  world: World;
  http: HttpPort | undefined;
  queue: Queue | undefined;
  notify: Notify | undefined;
  tracking: Tracking | undefined;
  /** The jobs of the cron table, to be run by hand too. */
  jobs: readonly CronJob[];
  /** Stops taking work, lets what is in hand end within `graceMs`, and lets go of the data folder. */
  close(graceMs: number): Promise<void>;
}

/** Everything a verb needs, without any port: for `init` and other commands of the operator. Close it with `db.close()`. */
export async function openWorld(options: WorldOptions): Promise<World> {
  const { config, dataDir } = options;
  const clock = options.clock ?? systemClock;
  const log = options.log ?? createLog(config.log);
  const secrets = openSecrets(dataDir);
  const { driver, url, path: file, pool_max: poolMax } = config.database;
  const db = await openDb({ driver, url, file: path.resolve(dataDir, file), poolMax });
  const { servers, timeout_ms: timeoutMs, tries } = config.dns;
  const { public_url: publicUrl, host, port } = config.http;
  const resolver = createResolver({ servers: [...servers], timeoutMs, tries, now: () => clock.now() });
  return {
    config,
    db,
    commits: createGroupCommit(db),
    clock,
    ids: createIds(clock),
    random: options.random ?? Math.random,
    secrets,
    blobs: openBlobs(path.join(dataDir, 'blobs')),
    resolver,
    inspector: createInspector({
      servers,
      authorityPort: config.dns.authority_port,
      allowPrivate: config.network.dns_allow_private,
    }),
    callApi: createApiCall({
      resolver,
      allowPrivate: config.network.http_allow_private,
      userAgent: `rasket (+https://${config.instance.host}/)`,
      ca: options.trustedCa,
    }),
    fetch: createGuardedFetch({
      resolver,
      allowPrivate: config.network.http_allow_private,
      userAgent: `rasket (+https://${config.instance.host}/)`,
      ca: options.trustedCa,
    }),
    log,
    mailLog: createMailLog(log),
    dataDir,
    origin: () => publicUrl || `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
  };
}

export async function startApp(options: AppOptions): Promise<App> {
  const roles = new Set<Role>(options.roles ?? ROLES);
  const runDir = path.join(options.dataDir, 'run');
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  const toStop: ((graceMs: number) => Promise<void> | void)[] = [];
  const close = async (graceMs: number): Promise<void> => {
    const faults: unknown[] = [];
    // One part that cannot stop keeps no other from stopping.
    const elapsedMs = stopwatch();
    for (let stop = toStop.pop(); stop; stop = toStop.pop()) {
      await Promise.resolve(stop(Math.max(0, graceMs - elapsedMs()))).catch((fault: unknown) => faults.push(fault));
    }
    if (faults.length > 0) throw faults[0];
  };
  try {
    // With PostgreSQL the processes of one machine share its folder, for the blobs in it; SQLite bears one process.
    if (options.config.database.driver !== 'pg') toStop.push(holdDataFolder(options.dataDir));
    const world = await openWorld(options);
    toStop.push(() => closeWorld(world));
    await migrate(world.db);
    const accept = createAccept(world, () => mail?.queue.wake());
    const mail = roles.has('delivery') ? await startDelivery(world, runDir, accept) : undefined;
    const tellAdmins = createTellAdmins(world, accept);
    const notify = roles.has('delivery') ? createNotify({ world, tellAdmins }) : undefined;
    // Together: neither's last answers keep the other from its share of the time.
    if (mail) toStop.push(async (graceMs) => void (await Promise.all([mail.close(graceMs), notify?.stop(graceMs)])));
    const jobs = cronTable(world);
    const cron = roles.has('scheduler') ? startCron(world, jobs) : undefined;
    if (cron) toStop.push(cron.stop);
    const tracking = roles.has('http') ? createTracking(world, runDir) : undefined;
    if (tracking) toStop.push((graceMs) => tracking.close(graceMs));
    const listeners = createListeners(world);
    const http = tracking && (await startHttpPort(world, options.version, { accept, tracking, listeners }));
    if (http) {
      toStop.push(http.close, listeners.close);
      // Port 0 is known only now.
      world.origin = () => http.url;
    }
    mail?.queue.start();
    await notify?.start();
    return { world, http, queue: mail?.queue, notify, tracking, jobs, close };
  } catch (error) {
    await close(0);
    throw error;
  }
}

async function closeWorld(world: World): Promise<void> {
  await world.commits.settled();
  world.resolver.close();
  world.inspector.close();
  await world.db.close();
}

function startHttpPort(
  world: World,
  version: string,
  stages: { accept: Accept; tracking: Tracking; listeners: Listeners },
): Promise<HttpPort> {
  const checks = {
    database: async () => void (await world.db.get('select 1 as one')),
    storage: () => world.blobs.check(),
  };
  return startHttp({ world, version, checks, ...stages, document: loadContract() });
}

async function startDelivery(
  world: World,
  runDir: string,
  accept: Accept,
): Promise<{ queue: Queue; close(graceMs: number): Promise<void> }> {
  const recovery = await recoverDeliveries(world, runDir);
  const handOffLog = openHandOffLog(runDir, world.ids.uuid());
  const delivery = createDeliver(deliverOptions(world));
  const queue = createQueue({
    world,
    deliver: delivery.deliver,
    composer: createComposer(world),
    settle: createSettle(world, handOffLog.owner),
    handOffLog,
    isPressed: accept.isPressed,
  });
  return {
    queue,
    async close(graceMs) {
      // Together: a transaction that waits for the reply to its dot ends only when its connection is cut.
      await Promise.all([queue.stop(graceMs), delivery.close(graceMs)]);
      await recovery.stop();
      handOffLog.close();
    },
  };
}

function deliverOptions(world: World): DeliverOptions {
  const { config, resolver, log } = world;
  const { delivery, instance, network, regions } = config;
  const replyMs = delivery.reply_timeout_seconds * 1000;
  return {
    heloName: instance.host,
    resolver,
    smtpPort: delivery.smtp_port,
    allowPrivate: [...network.mail_allow_private],
    ownHostNames: [instance.host],
    simulatorDomain: `simulator.${instance.host}`,
    ...(delivery.capture ? { capture: createCapture((job, message) => catchMessage(world, job, message)) } : {}),
    regionOf(name) {
      const region = regions[name];
      if (!region) return {};
      const [host = '', port = ''] = splitHostPort(region.smarthost);
      return {
        ...(region.helo_name === '' ? {} : { heloName: region.helo_name }),
        ...(region.source_v4 + region.source_v6 === ''
          ? {}
          : {
              sourceAddress: {
                ...(region.source_v4 === '' ? {} : { v4: region.source_v4 }),
                ...(region.source_v6 === '' ? {} : { v6: region.source_v6 }),
              },
            }),
        ...(host === '' ? {} : { smarthost: { host, port: Number(port) } }),
      };
    },
    timeouts: {
      connectMs: delivery.connect_timeout_seconds * 1000,
      greetingMs: replyMs,
      ehloMs: replyMs,
      mailMs: replyMs,
      rcptMs: replyMs,
      dataDoneMs: delivery.data_timeout_seconds * 1000,
    },
    limits: {
      connectionsPerDestinationMax: delivery.max_connections_per_destination,
      connectionsTotalMax: delivery.max_connections,
      messagesPerConnectionMax: delivery.max_messages_per_connection,
      idleMs: delivery.idle_seconds * 1000,
    },
    now: () => world.clock.now(),
    random: world.random,
    onTrouble: ({ job, mx, transcript }) => log.debug({ emailId: job.emailId, mx, transcript }, 'smtp session'),
  };
}

function splitHostPort(text: string): string[] {
  const at = text.lastIndexOf(':');
  return at < 0 ? [] : [text.slice(0, at).replace(/^\[|\]$/g, ''), text.slice(at + 1)];
}

function cronTable(world: World): readonly CronJob[] {
  return [
    { name: 'sweep-domains', schedule: world.config.domains.sweep, run: () => sweepDomains(world) },
    { name: 'publish-dns', schedule: '* * * * *', run: () => publishConfigured(world) },
    { name: 'release-held-mail', schedule: '* * * * *', run: () => releaseHeld(world.db, world.clock.now()) },
    { name: 'recheck-claims', schedule: '41 * * * *', run: () => recheckClaims(world) },
    { name: 'forget-idempotency-keys', schedule: '7 * * * *', run: () => forgetIdempotencyKeys(world) },
    { name: 'forget-expired-shares', schedule: '19 * * * *', run: () => forgetExpiredShares(world) },
    { name: 'remove-old-logs', schedule: '* * * * *', run: createLogRemoval(world) },
    { name: 'remove-old-webhook-events', schedule: '* * * * *', run: createWebhookRemoval(world) },
    { name: 'remove-expired', schedule: '* * * * *', run: createRemoval(world) },
    { name: 'forget-listeners', schedule: '* * * * *', run: () => forgetListeners(world) },
    { name: 'remove-orphan-blobs', schedule: '23 3 * * *', run: () => removeOrphanBlobs(world) },
  ];
}
