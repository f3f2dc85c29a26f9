import os from 'node:os';
import { systemClock } from '../../../platform/clock.ts';
import { createInspector, type Inspection } from '../../../platform/resolver/index.ts';
import type { World } from '../../../platform/world.ts';
import { toChecked, recordExamination, recordFreeBytes, type Checked } from '../findings/examinations.ts';
import { noteChanges } from '../findings/notices.ts';
import { findSeverity, type Finding } from '../../../platform/finding.ts';
import type { FindingsReport } from '../findings/findings-report.ts';
import {
  listDirectSenders,
  isIPv6,
  type Check,
  type CheckName,
  type CheckResult,
  type Examination,
  type Self,
  type OwnAddresses,
} from './check.ts';
import {
  checkBackups,
  checkClock,
  checkDisk,
  checkEventLoop,
  freeBytes,
  checkFiles,
  checkSecrets,
} from './checks/machine.ts';
import { checkCaa, checkCertificates, checkPolicyHosts } from './checks/certificates.ts';
import { checkDnsbl, checkHelo, checkResolver, checkReverseDns } from './checks/dns-names.ts';
import { examinePort25 } from './checks/port25.ts';
import { checkDatabaseServer } from './checks/database-server.ts';
import { checkRelays } from './checks/relays.ts';
import { sendNotices } from './send-notices.ts';
import { createAddressGuard } from '../../../platform/network/index.ts';
import { localAddress } from '../../../platform/probe.ts';

const CHECKS: Record<CheckName, Check> = {
  port25: examinePort25,
  relays: checkRelays,
  reverse_dns: checkReverseDns,
  helo: checkHelo,
  dnsbl: checkDnsbl,
  resolver: checkResolver,
  clock: checkClock,
  disk: checkDisk,
  files: checkFiles,
  secrets: checkSecrets,
  event_loop: checkEventLoop,
  certificates: checkCertificates,
  caa: checkCaa,
  policy_hosts: checkPolicyHosts,
  backups: checkBackups,
  database: checkDatabaseServer,
};

const NAMES = Object.keys(CHECKS) as CheckName[];
/** Checks that contact no other machine and cost next to nothing. */
const OF_ITSELF: readonly CheckName[] = ['disk', 'files', 'secrets', 'event_loop', 'certificates', 'backups'];

export interface Doctor {
  /**
   * Examines this machine, stores the results, and sends notices of changes. Concurrent callers share one examination.
   */
  examine(): Promise<{ failed: number; unknown: number }>;
  /** Runs the checks that contact nobody else, stores the results, and sends notices of changes; grave ones at once. */
  glance(stopping?: AbortSignal): Promise<void>;
  /** Records the free space of the disk. */
  sampleDisk(): Promise<void>;
}

interface Parts {
  self: Omit<Self, 'machine'>;
  /** Returns the findings of the whole installation, once the examination is stored. */
  loadFindings(): Promise<Pick<FindingsReport, 'findings'>>;
}

export function createDoctor(world: World, { self, loadFindings }: Parts): Doctor {
  const machine = os.hostname();
  let underWay: ReturnType<Doctor['examine']> | undefined;

  async function examine(): ReturnType<Doctor['examine']> {
    const results = await examineMachine(world, { ...self, machine });
    await recordExamination(world, machine, results);
    await noteInLog(world, (await loadFindings()).findings);
    const count = (of: (result: CheckResult) => boolean): number => results.filter(of).length;
    return {
      failed: count(({ findings }) => findings.length > 0),
      unknown: count((result) => result.unknown.length > 0),
    };
  }

  async function glance(stopping?: AbortSignal): Promise<void> {
    // An examination in progress covers all of it.
    if (underWay) return;
    const results = await examineMachine(world, { ...self, machine }, OF_ITSELF);
    await recordExamination(world, machine, results, { isWhole: false });
    const isGrave = await noteInLog(world, (await loadFindings()).findings);
    if (isGrave) await sendNotices(world, stopping);
  }

  return {
    glance,
    examine: () => (underWay ??= examine().finally(() => (underWay = undefined))),
    sampleDisk: async () => recordFreeBytes(world, machine, (await freeBytes(world.dataDir)).free),
  };
}

/**
 * Logs each change and queues a notice for the configured command or URL, which is sent within a minute. Reports
 * whether something grave has appeared.
 */
async function noteInLog(world: World, findings: readonly Finding[]): Promise<boolean> {
  const { appeared, mended, flapping } = await noteChanges(world, findings);
  for (const finding of appeared) {
    const { code, summary, subjects, node, advice } = finding;
    const level = findSeverity(finding) === 'error' ? 'error' : 'warn';
    world.log[level]({ code, subjects, node, summary, advice }, 'found: something is wrong');
  }
  for (const { code, subject, node } of mended)
    world.log.info({ code, subject, node }, 'resolved: a finding no longer applies');
  for (const { code, subject, node } of flapping)
    world.log.warn({ code, subject, node }, 'a finding changes too often; its next changes are reported later');
  return appeared.some((finding) => findSeverity(finding) === 'error');
}

/** Runs all checks at once, for at most `doctor.seconds`; the results of unfinished checks are unknown. */
async function examineMachine(world: World, self: Self, names: readonly CheckName[] = NAMES): Promise<CheckResult[]> {
  const { dns, doctor } = world.config;
  const limitMs = doctor.seconds * 1000;
  const signal = AbortSignal.timeout(limitMs);
  const inspector = createInspector({
    servers: dns.servers,
    authorityPort: dns.authority_port,
    allowPrivate: [],
    // Leaves time for a second try.
    timeoutMs: Math.min(dns.timeout_ms, limitMs / 4),
  });
  try {
    const { resolve: ask } = inspector.inspect(signal);
    const asksOthers = names.some((name) => !OF_ITSELF.includes(name));
    const own = asksOthers ? await findOwnAddresses(world, ask) : { addresses: [], unknown: undefined };
    const examination: Examination = {
      world,
      self,
      signal,
      ask,
      own,
      isResolverSane: once(() => findsNames(world, ask)),
    };
    return await Promise.all(names.map((name) => runCheck(name, examination)));
  } finally {
    inspector.close();
  }
}

async function runCheck(name: CheckName, examination: Examination): Promise<CheckResult> {
  const { world, signal } = examination;
  const nothing = { name, says: [], findings: [], unknown: [] };
  if (!world.config.doctor.checks.includes(name))
    return { ...nothing, says: ['doctor.checks does not include it'], isSkipped: true };
  try {
    return { name, ...(await untilAborted(CHECKS[name](examination), signal)) };
  } catch (error) {
    if (error instanceof Late) {
      const says = `it did not end within ${world.config.doctor.seconds} seconds`;
      return { ...nothing, unknown: [{ says }] };
    }
    world.log.error({ err: error, check: name }, 'a check failed with an error');
    return { ...nothing, unknown: [{ says: 'the check itself failed; see the log' }] };
  }
}

class Late extends Error {}

/** Extra time in which a check that has seen something may still report it after the limit. */
const AFTER_MS = 500;

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => void systemClock.timer(AFTER_MS, () => reject(new Late()));
    if (signal.aborted) late();
    else signal.addEventListener('abort', late, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', late));
  });
}

const once = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let asked: Promise<T> | undefined;
  return () => (asked ??= work());
};

/** Reports whether a well-known name or one of ours is found; one is enough. */
async function findsNames({ config }: World, ask: Inspection['resolve']): Promise<boolean> {
  const names = config.doctor.mail_servers.map((name) => ask(name, 'MX'));
  const own = (['A', 'AAAA'] as const).map((type) => ask(config.instance.host, type));
  return (await Promise.all([...names, ...own])).some(({ kind }) => kind === 'found');
}

/** Examines a machine on which no server runs: nothing is stored and no notice is sent. */
export async function examineHere(world: World, self: Omit<Self, 'machine'>): Promise<Checked[]> {
  const machine = os.hostname();
  const at = world.clock.now();
  return (await examineMachine(world, { ...self, machine })).map((result) => toChecked(result, machine, at));
}

/**
 * Returns the addresses of the settings. If the system chooses, returns those that instance.host resolves to, as with
 * NAT, and the one that the system would choose, if it is public.
 */
async function findOwnAddresses(world: World, ask: Inspection['resolve']): Promise<OwnAddresses> {
  const { config } = world;
  const senders = listDirectSenders(world);
  const chosenFor = senders.filter(({ isChosenBySystem }) => isChosenBySystem);
  const isPublic = createAddressGuard([...config.network.mail_allow_private]);
  const named = senders.flatMap(({ v4, v6 }) => [v4, v6]).filter((address) => address !== '');
  const chosen = await Promise.all([
    chosenFor.some(({ v4 }) => v4 === '') ? localAddress(4) : undefined,
    chosenFor.some(({ v6 }) => v6 === '') ? localAddress(6) : undefined,
  ]);
  const isChosen = chosenFor.some(({ v4, v6 }) => v4 === '' || v6 === '');
  const [a, aaaa] = await Promise.all([ask(config.instance.host, 'A'), ask(config.instance.host, 'AAAA')]);
  const ofHost = [a, aaaa].flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
  const free = (address: string): boolean => chosenFor.some(({ v4, v6 }) => (isIPv6(address) ? v6 : v4) === '');
  const all = [...named, ...ofHost.filter(free), ...chosen.filter((address) => address !== undefined)];
  const addresses = [...new Set(all.filter(isPublic))];
  const failed = [a, aaaa].find((answer) => answer.kind === 'failed');
  if (isChosen && failed?.kind === 'failed')
    return { addresses, unknown: `the addresses of ${config.instance.host}: ${failed.reason}` };
  const unnamed = senders.filter((sender) => sender.isProxied && sender.v4 + sender.v6 === '');
  if (unnamed.length > 0) {
    const names = unnamed.map(({ source }) => source).join(', ');
    return { addresses, unknown: `the addresses of the proxies of ${names}: set source_v4 or source_v6 of each` };
  }
  if (addresses.length > 0) return { addresses, unknown: undefined };
  const where = `${config.instance.host} points to no public address, and the system has none`;
  return { addresses, unknown: `the addresses that mail is sent from: ${where}` };
}
