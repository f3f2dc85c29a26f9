/**
 * Wires everything, and is the only file that does: takes the configuration and returns running ports. It also stops
 * what it starts: HTTP first, then the queue and the webhooks, then the SMTP ports, then the database.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { loadContract } from './contract/index.ts';
import { startCron, type CronJob } from './ports/cron/index.ts';
import { createModelHealth } from './features/ai/start.ts';
import { noPayments, type PaymentProvider } from './features/billing/start.ts';
import { createAccept, type Accept } from './mail/accept/index.ts';
import {
  createIssued,
  type Issued,
  createDoctor,
  reportLoss,
  correctTimes,
  createNode,
  exportTraces,
  hearOtherNodes,
  type Node,
  watchInstallation,
  createPatientCheck,
  noteOpenFile,
  watchClock,
  watchDatabase,
  type DamageWatch,
} from './features/installation/start.ts';
import { createConfirmations, createImportLoop, createSignUpMails, type Imports } from './features/audience/start.ts';
import { createAutomationLoop, type Automations } from './features/automations/start.ts';
import { createBroadcastLoop, type Broadcasts } from './features/campaigns/start.ts';
import { measureBreakers } from './mail/breakers/index.ts';
import { createEgress, createWarmUps, hasDomainPools } from './mail/egress/index.ts';
import {
  createLimitParts,
  createThrottles,
  createTrafficRecords,
  OTHER,
  type ThrottledPlace,
} from './mail/throttles/index.ts';
import { createProviderPolicies } from './platform/providers/index.ts';
import { readOwnHosts } from './tenancy/instance/index.ts';
import { createTlsPolicies } from './mail/tls-policies/index.ts';
import { createSessionCounts } from './mail/tls-reports/index.ts';
import { createComposer } from './mail/compose/index.ts';
import {
  createCapture,
  createDeliver,
  createIpv6Readiness,
  buildDeliverOptions,
  hasDomainRelays,
  type Deliver,
  type Traffic,
} from './mail/deliver/index.ts';
import { createCaptureMessage } from './mail/capture/index.ts';
import {
  createQueue,
  isBulk,
  openHandOffLog,
  recoverDeliveries,
  releaseThrottled,
  type Queue,
} from './mail/queue/index.ts';
import { createReceive, type Receive } from './mail/receive/index.ts';
import { createRefusalCounter, createSettle } from './mail/settle/index.ts';
import { createPeople, type People } from './features/identity/start.ts';
import { createTracking, type Tracking } from './features/tracking/index.ts';
import { createListeners, createWebhookSender, type WebhookSender } from './features/webhooks/start.ts';
import { createUnknownProxy, startHttp, startMetricsPort, type HttpParts, type HttpPort } from './ports/http/index.ts';
import { cronTable } from './cron-table.ts';
import { migrateStore } from './open-store.ts';
import { recogniseCopy } from './recognise-copy.ts';
import { closeWorld, openWorld, type WorldOptions } from './open-world.ts';
import { stopwatch, systemClock, type Clock } from './platform/clock.ts';
import { warnOfDnssecPath, type Config } from './platform/config/index.ts';
import { lockDataFolder, ping } from './platform/db/index.ts';
import { openProcessMarks, type ProcessMarks } from './platform/process-mark/index.ts';
import { openServerTls, type ServerTls } from './platform/server-tls.ts';
import type { World } from './platform/world.ts';
import {
  type UpgradeWishes,
  certificateFindings,
  refusalFindings,
  relayFindings,
} from './features/installation/index.ts';
import { keepPlanTerms } from './features/billing/index.ts';
import { buildFinding, type Finding } from './platform/finding.ts';
import {
  createReceivingHandler,
  createSubmission,
  startSmtp,
  type SmtpHandlers,
  type SmtpPorts,
} from './ports/smtp/index.ts';

export const ROLES = ['http', 'delivery', 'scheduler', 'submission', 'receiving'] as const;
export type Role = (typeof ROLES)[number];

export interface AppOptions extends WorldOptions {
  /**
   * Measures waits for mail servers; defaults to the system clock, because these waits are real even if a test moves
   * its own clock by days.
   */
  networkClock?: Clock;
  version: string;
  roles?: readonly Role[];
  /** Payment provider of teams; none by default. */
  payments?: PaymentProvider;
  /**
   * Runs once the database is ready and before a port opens, so that no client meets a server without what it makes.
   */
  prepare?: (world: World) => Promise<void>;
  /** Options for upgrading the database. */
  upgrade?: UpgradeWishes;
  /** Replaces an SMTP port in use by any free one, for trying things out. */
  maySmtpPortsMove?: boolean;
  /** Reads what GET /metrics returns, if this process shares its ports with others; by default its own metrics. */
  readMetrics?: (() => Promise<string>) | undefined;
  /** Folder of the service on a tmpfs, which systemd keeps between starts. */
  runtimeDir?: string | undefined;
}

export interface App {
  world: World;
  http: HttpPort | undefined;
  smtp: SmtpPorts | undefined;
  queue: Queue | undefined;
  webhooks: WebhookSender | undefined;
  imports: Imports | undefined;
  automations: Automations | undefined;
  broadcasts: Broadcasts | undefined;
  confirmations: ReturnType<typeof createConfirmations> | undefined;
  signUpMails: ReturnType<typeof createSignUpMails> | undefined;
  people: People | undefined;
  tracking: Tracking | undefined;
  /** Resolves with the reason once the database was moved away or lost, after which this process has to stop. */
  gone: Promise<Error>;
  /** Jobs of the cron table, to be run by hand too. */
  jobs: readonly CronJob[];
  /** Reloads what may be replaced while the process runs: the operator's certificate. */
  reload(): void;
  /** Stops accepting work, lets work in progress end within `graceMs`, and releases the data folder. */
  close(graceMs: number): Promise<void>;
}

type Stop = (graceMs: number) => Promise<void> | void;

/**
 * Share of the stop time for sending; the remaining time is for clients that are submitting mail when the ports close.
 */
const PART_FOR_SENDING = 3 / 4;

/**
 * Stops parts in the reverse order of their start. A part that fails to stop does not keep the others from stopping.
 */
async function stopAll(parts: Stop[], graceMs: number): Promise<void> {
  const faults: unknown[] = [];
  const elapsedMs = stopwatch();
  for (let stop = parts.pop(); stop; stop = parts.pop()) {
    await Promise.resolve(stop(Math.max(0, graceMs - elapsedMs()))).catch((fault: unknown) => faults.push(fault));
  }
  if (faults.length > 0) throw faults[0];
}

export async function startApp(options: AppOptions): Promise<App> {
  const roles = new Set<Role>(options.roles ?? ROLES);
  const runDir = path.join(options.dataDir, 'run');
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  const toStop: Stop[] = [];
  const close = (graceMs: number): Promise<void> => stopAll(toStop, graceMs);
  try {
    // With PostgreSQL the processes of one machine share its folder, for the blobs in it; SQLite allows one process.
    const isOneProcess = options.config.database.driver !== 'pg';
    if (isOneProcess) toStop.push(lockDataFolder(options.dataDir));
    const mark = isOneProcess ? noteOpenFile(runDir) : undefined;
    const bound: { url?: string } = {};
    const world = await openWorld({ ...options, boundUrl: () => bound.url });
    toStop.push(() => closeWorld(world).then(() => mark?.close()));
    await prepareData(world, options.upgrade);
    await options.prepare?.(world);
    const { node, watch } = createOwnNode(world, options.version, [...roles]);
    // Stops after all others, so that their last spans are exported.
    toStop.push(hearOtherNodes(world, node), watch.stop, node.stop, exportTraces(world, options.version));
    const clockWatch = await watchClock(world, () => correctTimes(world));
    toStop.push(clockWatch.stop);
    node.watch(clockWatch.findings);
    const marks = openProcessMarks(options.dataDir);
    toStop.push(marks.close);
    // Accept wakes the queue after its commit, and the queue asks accept.isContended() before a claim: each needs the other.
    // Accept is made first; `mail` is set below, and stays undefined in a process without the role `delivery`.
    let mail: Delivery | undefined;
    const wakeQueue = (): void => wakeQueues(world, mail?.queue);
    // Here and below, the order in which parts are made is the order of their lanes in the shared commit. None relies
    // on it.
    const accept = createAccept(world, wakeQueue);
    if (roles.has('delivery')) mail = await startDelivery(world, { ...options, runDir, marks, accept });
    if (mail) node.watch(mail.findings);
    const webhooks = roles.has('delivery') ? createWebhookSender(world, accept) : undefined;
    // The ports close after the deliveries, which may take long: meanwhile no client is rejected, nor is mail to
    // ourselves.
    const ports: Stop[] = [];
    toStop.push((graceMs) => stopAll(ports, graceMs));
    // Stops both concurrently, so that neither uses up the other's share of the time.
    const endSending = (ms: number) => Promise.all([mail?.close(ms), webhooks?.stop(ms)]);
    toStop.push(async (graceMs) => void (await endSending(graceMs * PART_FOR_SENDING)));
    const audience = roles.has('delivery') ? createAudience(world, accept, wakeQueue) : undefined;
    if (audience) toStop.push(...audience.stops);
    const { doctor, show } = createOwnDoctor(world, node, roles);
    const syncDelivery = async (): Promise<void> => mail?.sync();
    const jobs = cronTable(world, { payments: options.payments, doctor, database: watch, accept, node, syncDelivery });
    const cron = roles.has('scheduler') ? startCron(world, jobs) : undefined;
    if (cron) toStop.push(cron.stop);
    const tracking = roles.has('http') ? createTracking(world, runDir, marks) : undefined;
    if (tracking) toStop.push((graceMs) => tracking.close(graceMs));
    const listeners = createListeners(world);
    const stages = { accept, listeners, wakeQueue, syncDelivery, node, doctor, watch };
    const certificates = await startCertificates(world, roles);
    if (certificates) toStop.push(certificates.close);
    show(certificates?.tls);
    const http = tracking && (await startHttpPort(world, options, { ...stages, tracking, secure: certificates }));
    if (http) toStop.push(http.close, listeners.close);
    if (http) bound.url = http.url;
    const tls = certificates?.tls;
    const smtp = await startSmtpPorts(world, options, { roles, accept, wakeQueue, ports, tls });
    await startNode(node, world, { smtp, tls });
    toStop.push(await openToPrometheus(world, options, { node, queue: mail?.queue }));
    // Runs when nothing can fail any more: a failing start prints only its reason, in one line.
    await warnOfUnsafeSettings(world);
    mail?.queue.start();
    await webhooks?.start();
    await audience?.start();
    if (mark?.wasLeftOpen) watch.examineAfterUncleanStop();
    return {
      world,
      http,
      smtp,
      webhooks,
      tracking,
      jobs,
      close,
      gone: watch.gone,
      queue: mail?.queue,
      imports: audience?.imports,
      automations: audience?.automations,
      broadcasts: audience?.broadcasts,
      confirmations: audience?.confirmations,
      signUpMails: audience?.signUpMails,
      people: audience?.people,
      reload: () => tls?.reload(),
    };
  } catch (error) {
    await close(0);
    throw error;
  }
}

function createOwnNode(world: World, version: string, roles: readonly Role[]) {
  const watch = watchDatabase(world, (finding, event) => reportLoss(world, finding, event));
  const node = createNode(world, { version, roles });
  node.watch(watch.findings);
  return { node, watch };
}

/** Makes the doctor of this process; `show` receives the certificates that its ports present. */
function createOwnDoctor(world: World, node: Node, roles: ReadonlySet<Role>) {
  let shown: ServerTls | undefined;
  const self = { pid: process.pid, tls: () => shown, isReceiving: hasReceivingPort(world.config, roles) };
  const doctor = createDoctor(world, { self, loadFindings: node.reloadReport });
  return { doctor, show: (tls: ServerTls | undefined) => void (shown = tls) };
}

/** Runs before anything is sent. */
async function prepareData(world: World, wishes: UpgradeWishes | undefined): Promise<void> {
  await migrateStore(world, { ...wishes, isNode: true });
  await recogniseCopy(world);
  await keepPlanTerms(world);
}

interface SmtpParts {
  roles: ReadonlySet<Role>;
  accept: Accept;
  wakeQueue(): void;
  /** Receives what has to be stopped. */
  ports: Stop[];
  tls: ServerTls | undefined;
}

/** Opens the certificates that the ports present; undefined if no port of this process uses TLS. */
async function startCertificates(
  world: World,
  roles: ReadonlySet<Role>,
): Promise<{ issued: Issued; tls: ServerTls; close: Stop } | undefined> {
  const { config } = world;
  if (!hasSmtpPorts(config, roles) && !(roles.has('http') && config.https.ports.length > 0)) return undefined;
  const issued = createIssued(world);
  await issued.start();
  const tls = openServerTls(world, issued);
  return {
    issued,
    tls,
    close() {
      tls.close();
      issued.stop();
    },
  };
}

async function startSmtpPorts(world: World, options: AppOptions, parts: SmtpParts): Promise<SmtpPorts | undefined> {
  const { roles, accept, wakeQueue, ports, tls } = parts;
  const receive = roles.has('receiving') ? createReceive(world, accept, wakeQueue) : undefined;
  if (receive) ports.push(receive.close);
  const doors = createSmtpHandlers(world, { accept: roles.has('submission') ? accept : undefined, receive });
  const { networkClock: waitClock, maySmtpPortsMove: mayMove } = options;
  if (!tls || !hasSmtpPorts(options.config, roles)) return undefined;
  const smtp = await startSmtp({ world, tls, doors, waitClock, mayMove });
  ports.push(smtp.close);
  return smtp;
}

/** Starts the background work of the audience. */
function createAudience(world: World, accept: Accept, wakeQueue: () => void) {
  const imports = createImportLoop(world);
  const broadcasts = createBroadcastLoop(world, wakeQueue);
  const automations = createAutomationLoop(world, wakeQueue);
  const confirmations = createConfirmations(world, accept);
  const signUpMails = createSignUpMails(world, accept);
  const people = createPeople(world, accept);
  return {
    imports,
    broadcasts,
    automations,
    confirmations,
    signUpMails,
    people,
    // Batches, pages and steps are short, and the next start continues after them: they need no time to stop.
    stops: [
      () => imports.stop(0),
      () => broadcasts.stop(0),
      () => automations.stop(0),
      confirmations.stop,
      signUpMails.stop,
      people.stop,
    ] satisfies Stop[],
    async start() {
      await imports.start();
      await broadcasts.start();
      await automations.start();
      confirmations.start();
      signUpMails.start();
      people.start();
    },
  };
}

/** Opens the metrics port; returns what stops it. */
async function openToPrometheus(
  world: World,
  { version, readMetrics }: AppOptions,
  { node, queue }: { node: Node; queue: Queue | undefined },
): Promise<Stop> {
  watchInstallation(world, { node, version });
  world.meter.watch('rasket_event_loop_delay_seconds', () => {
    const delay = world.loopDelay.lastMinute();
    if (!delay) return [];
    const { p50, p99, max } = delay;
    const byQuantile = Object.entries({ '0.5': p50, '0.99': p99, '1': max });
    return byQuantile.map(([quantile, ms]) => ({ value: ms / 1000, labels: { quantile } }));
  });
  world.meter.watch('rasket_deliveries_in_flight', () => (queue ? [{ value: queue.inFlight() }] : []));
  const port = await startMetricsPort(world, readMetrics);
  return () => port?.close();
}

async function warnOfUnsafeSettings({ db, log }: World): Promise<void> {
  const off = await db.unsafeSettings();
  if (off.length > 0)
    log.warn(
      { off },
      'PostgreSQL may lose accepted mail in a power failure; turn these settings on in its configuration',
    );
}

interface HttpStages extends Pick<
  HttpParts,
  'accept' | 'tracking' | 'listeners' | 'wakeQueue' | 'syncDelivery' | 'node' | 'doctor' | 'secure'
> {
  watch: DamageWatch;
}

function startHttpPort(
  world: World,
  { version, payments = noPayments, readMetrics }: AppOptions,
  { watch, ...stages }: HttpStages,
): Promise<HttpPort> {
  const answers = createPatientCheck(world.clock, () => ping(world.db));
  const checks = {
    database: () => watch.check().then(answers),
    storage: createPatientCheck(world.clock, () => world.blobs.check()),
  };
  const unknownProxy = createUnknownProxy(world);
  stages.node.watch(unknownProxy.findings);
  const modelHealth = createModelHealth(world);
  stages.node.watch(modelHealth.findings);
  return startHttp({
    world,
    version,
    payments,
    modelHealth,
    checks,
    readMetrics,
    unknownProxy,
    ...stages,
    document: loadContract(),
  });
}

/**
 * Begins the reports of the node, including what only this process knows: whether the ports are open, and the state of
 * their certificate.
 */
async function startNode(
  node: Node,
  { clock, config, meter }: World,
  { smtp, tls }: { smtp: SmtpPorts | undefined; tls: ServerTls | undefined },
): Promise<void> {
  const since = clock.now();
  const restart = { words: 'Then start the server again, with systemd by', command: 'systemctl restart rasket' };
  const wait = { words: 'The port is tried again every few seconds, without a new start', command: null };
  node.watch(() =>
    (smtp?.faults ?? []).map(({ port, reason, needsStart }) =>
      buildFinding('port_not_open', {
        summary: `An SMTP port is not open: ${reason}.`,
        subjects: [`${port}`],
        since,
        advice: needsStart ? restart : wait,
      }),
    ),
  );
  const isCapturing = config.delivery.capture;
  meter.watch('rasket_certificate_expiry_seconds', () => {
    const endsAt = tls?.readStatus().endsAt;
    return endsAt === undefined ? [] : [{ value: endsAt / 1000 }];
  });
  node.watch(() => (tls ? certificateFindings(tls.readStatus(), { now: clock.now(), isCapturing }) : []));
  await node.start();
  tls?.warn();
}

/**
 * Reports whether any SMTP port is open. Without a port no client sees a certificate, and no warning about a
 * self-signed one is needed.
 */
function hasSmtpPorts({ submission, receiving }: Config, roles: ReadonlySet<Role>): boolean {
  const submits = roles.has('submission') && submission.ports.length + submission.tls_ports.length > 0;
  return submits || hasReceivingPort({ receiving }, roles);
}

const hasReceivingPort = ({ receiving }: Pick<Config, 'receiving'>, roles: ReadonlySet<Role>): boolean =>
  roles.has('receiving') && receiving.ports.length > 0;

/** Connects the SMTP ports to submission and receiving. */
const createSmtpHandlers = (
  world: World,
  { accept, receive }: { accept: Accept | undefined; receive: Receive | undefined },
): SmtpHandlers => ({
  submission: accept && createSubmission(world, accept),
  receiving: receive && createReceivingHandler(world, receive),
});

/** Announces accepted mail to other processes if this one does not deliver it at once. */
const MAIL_WAITS = 'mail waits';

/** Wakes the own queue; if there is none or it is full, other processes are woken, and each claims its own part. */
function wakeQueues(world: World, own: Queue | undefined): void {
  own?.wake();
  if (!own || own.inFlight() >= world.config.delivery.max_in_flight) world.db.announce(MAIL_WAITS);
}

interface DeliveryParts extends Pick<AppOptions, 'networkClock' | 'trustedCa' | 'runtimeDir'> {
  runDir: string;
  marks: ProcessMarks;
  accept: Accept;
}

interface Delivery {
  queue: Queue;
  /** Findings about the relays and about refusals by receivers. */
  findings(): Finding[];
  /** Stores what was counted about receivers, and reads the limits that operators and other processes have stored. */
  sync(): Promise<void>;
  close(graceMs: number): Promise<void>;
}

async function startDelivery(
  world: World,
  { runDir, runtimeDir, marks, accept, networkClock = systemClock, trustedCa }: DeliveryParts,
): Promise<Delivery> {
  const recovery = await recoverDeliveries(world, runDir, { marks, runtimeDir });
  const handOffLog = openHandOffLog(runDir, world.ids.uuid(), { marks, runtimeDir });
  if (handOffLog.memory === undefined)
    world.log.warn(
      'no tmpfs is available for hand-off marks; after a crash, every message that was being delivered is in doubt',
    );
  const providers = createProviderPolicies(world.config);
  const throttles = createThrottles(world, providers);
  const parts = createLimitParts(world, { own: handOffLog.owner, ended: recovery.owners });
  const records = createTrafficRecords(world, () => delivery.traffic());
  const policies = createTlsPolicies(world);
  const doubt = warnOfDnssecPath(world.config);
  if (doubt !== undefined) world.log.warn(doubt);
  const sessionCounts = createSessionCounts(world);
  const warmUps = createWarmUps(world);
  const egress = createEgress(world, { throttles, warmUps, isIpv6Ready: createIpv6Readiness(world) });
  await throttles.start();
  await warmUps.start();
  egress.start();
  await parts.start();
  await policies.start();
  const delivery = createDeliver({
    ...buildDeliverOptions(world, {
      trustedCa,
      capture: createCaptureDelivery(world),
      hosts: await readOwnHosts(world, world.db),
    }),
    clock: networkClock,
    providers,
    throttles,
    parts,
    sources: egress,
    tlsPolicies: policies,
    onTlsSession(session) {
      policies.noteSession(session);
      sessionCounts.noteSession(session);
    },
    onLocated: records.noteDomain,
    onOutcomes: records.noteOutcomes,
  });
  records.start();
  sessionCounts.start();
  const refusals = createRefusalCounter(world);
  const queue = createQueue({
    world,
    deliver: delivery.deliver,
    composer: createComposer(world),
    settle: createSettle(world, handOffLog.owner, refusals),
    handOffLog,
    isContended: accept.isContended,
    isJoining: parts.isJoining,
    obstacles: {
      findObstacle: (row, senderDomain) =>
        delivery.findObstacle({
          ...(row.source === null ? {} : { source: row.source }),
          teamId: row.team_id,
          isMarketing: row.is_marketing === 1,
          isBulk: isBulk(row.lane),
          domain: row.destination,
          region: row.region,
          tls: row.tls,
          senderDomain,
        }),
      get dependsOnSender() {
        return hasDomainRelays(world.config) || hasDomainPools(world.config) || throttles.isOfSenders;
      },
      giveUpMs: world.config.delivery.give_up_hours * 3_600_000,
    },
  });
  const stopHearing = world.db.onAnnounced(MAIL_WAITS, () => queue.wake());
  const lifted = releaseLifted(world, queue);
  throttles.onLifted(lifted.release);
  measureBreakers(world);
  measureProviders(world, { traffic: delivery.traffic, list: throttles.list });
  return {
    queue,
    async sync() {
      await Promise.all([throttles.reload(), warmUps.reload(), records.flush(), sessionCounts.flush()]);
    },
    findings: () => [
      ...relayFindings(delivery.relayTroubles()),
      ...egress.findings(),
      ...refusalFindings(refusals.list()),
      ...policies.findings(),
    ],
    async close(graceMs) {
      stopHearing();
      lifted.stop();
      // Both at once: a transaction that waits for the reply to its final dot ends only when its connection is cut.
      await Promise.all([queue.stop(graceMs), delivery.close(graceMs)]);
      throttles.stop();
      policies.stop();
      egress.stop();
      await Promise.all([throttles.stored(), records.stop(), sessionCounts.stop(), parts.stop(), warmUps.stop()]);
      await recovery.stop();
      handOffLog.close();
    },
  };
}

/** Outcomes of deliveries that were refused before a limit ended are stored within this time. */
const SETTLING_MS = 5_000;

/**
 * Makes mail due that waits for a limit which an operator ended, a little after this process was told: the operation did so at
 * once, but this process may have put some aside before it knew.
 */
function releaseLifted(world: World, queue: Queue): { release: (place: ThrottledPlace) => void; stop: () => void } {
  const { db, clock, config, log } = world;
  const stops = new Set<() => void>();
  return {
    release(place) {
      const isRelay = place.provider === '' && Object.hasOwn(config.relays, place.servers);
      const cancel = clock.timer(SETTLING_MS, () => {
        stops.delete(cancel);
        const { provider, servers, sender_domain: senderDomain } = place;
        releaseThrottled(db, { provider, servers, senderDomain, isRelay }, clock.now())
          .then((count) => count > 0 && queue.wake())
          .catch((err: unknown) => log.error({ err }, 'mail that waits for a limit could not be made due'));
      });
      stops.add(cancel);
    },
    stop: () => stops.forEach((cancel) => cancel()),
  };
}

interface Measured {
  traffic(): readonly Traffic[];
  list(): readonly { provider: string; servers: string; sender_domain: string; kind: string }[];
}

/** Shows to Prometheus which connections are open to each provider, and whether it is suspended. */
function measureProviders({ meter, config }: World, { traffic, list }: Measured): void {
  const named = Object.keys(config.providers);
  meter.watch('rasket_provider_connections', () => {
    const open = new Map<string, number>();
    for (const { provider = OTHER, connections } of traffic())
      open.set(provider, (open.get(provider) ?? 0) + connections);
    return [...open].map(([provider, value]) => ({ value, labels: { provider } }));
  });
  meter.watch('rasket_provider_suspended', () => {
    const suspended = list().filter((row) => row.kind === 'suspend' && row.sender_domain === '');
    const providers = new Set(suspended.map(({ provider }) => provider));
    const others = new Set(suspended.flatMap(({ provider, servers }) => (provider === '' ? [servers] : [])));
    return [
      ...named.map((provider) => ({ value: providers.has(provider) ? 1 : 0, labels: { provider } })),
      { value: others.size, labels: { provider: OTHER } },
    ];
  });
}

/** Captures mail instead of sending it, if delivery.capture is set. */
const createCaptureDelivery = (world: World): Deliver | undefined =>
  world.config.delivery.capture ? createCapture(createCaptureMessage(world)) : undefined;
