import { existsSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import path from 'node:path';
import type { Examination, Machine, MachineState, NamedMachine } from '../../cli/commands/machine.ts';
import { closeStore, openStore } from '../../src/open-store.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { schemaState } from '../../src/platform/db/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { readCopyMark } from '../../src/platform/installation-mark/index.ts';
import { locateCertificateFiles, examineCertificate } from '../../src/platform/server-tls.ts';
import { openSecrets } from '../../src/platform/secrets/index.ts';
import type { Store } from '../../src/platform/store.ts';
import { writeMachinePass } from '../../src/tenancy/operators/index.ts';
import {
  certificateFindings,
  loadFindingsReport,
  presentForOperator,
  type FindingsReport,
} from '../../src/features/installation/index.ts';
import { buildFinding, gravestFirst, type Finding } from '../../src/platform/finding.ts';
import { explain, OperatorFault } from '../explain.ts';
import { becomeFolderOwner, findInstallation, findTyper } from '../installation.ts';
import { canonicalAddress, ownAddresses } from '../setup/this-machine.ts';
import { DEVELOPMENT_MARK, mustBeInitialised, onSameFolder, readConfig, type DataOptions } from './open.ts';
import { findServerAddress, runningListener, runningUrl, urlFromHere } from './ready-file.ts';

/**
 * Returns the named installation, or the one of this machine; a development server is called with its own key instead.
 */
export function findMachine(
  env: Readonly<Record<string, string | undefined>>,
  { data: typed, config: file }: NamedMachine,
): Machine | undefined {
  const named = typed ?? (env.RASKET_DATA || findInstallation()?.data);
  if (named === undefined) return undefined;
  const data = path.resolve(named);
  if (!isThere(data) || isDevelopment(data)) return undefined;
  const options = { data, ...(file === undefined ? {} : { config: file }) };
  let config: Config | undefined;
  const settings = (): Config => (config ??= readConfig(options));
  const mayLook = isReadable(data);
  return {
    data,
    mayLook,
    ...(mayLook ? whereIs(data, settings) : { url: undefined }),
    running: () => runningHere(data),
    startCommand: findInstallation()?.data === data ? SERVICE_START : undefined,
    isSelfSigned: () => isSelfSigned(settings),
    isServedAt: (url) => isServedAt(new URL(url), data, settings),
    readState: (examination) => readMachineState(options, { settings, examination }),
  };
}

const SERVICE_START = 'systemctl start rasket';

function isSelfSigned(settings: () => Config): boolean {
  try {
    const { acme, tls } = settings();
    return acme.directory === '' && tls.certificate_file === '';
  } catch {
    // The examination itself reports which settings cannot be read.
    return false;
  }
}

/** Reports whether a development server was created there, or has run there. */
const isDevelopment = (data: string): boolean =>
  [DEVELOPMENT_MARK, 'run/dev.json'].some((name) => existsSync(path.join(data, name)));

const isThere = (data: string): boolean => statSync(data, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Only root and the account of the service may read its keys and its mail. */
function isReadable(data: string): boolean {
  const me = process.getuid?.();
  return me === undefined || me === 0 || me === statSync(data).uid;
}

function whereIs(data: string, settings: () => Config): Pick<Machine, 'url' | 'whyNoUrl'> {
  try {
    const { http } = settings();
    const isKnown = http.public_url !== '' || http.port !== 0;
    const url = isKnown ? findServerAddress(data, settings()) : runningUrl(data);
    if (url !== undefined) return { url };
    return {
      url,
      whyNoUrl: 'http.port is 0, so the system chooses a port when the server starts, and no server is running',
    };
  } catch {
    // The check reports the reason.
    return { url: undefined, whyNoUrl: 'the settings with its address cannot be read' };
  }
}

/** The pass is only for the listener that runs on this folder, whatever address a setting names. */
function runningHere(data: string): ReturnType<Machine['running']> {
  try {
    const http = runningListener(data);
    if (!http) return undefined;
    const pass = writeMachinePass({ clock: systemClock, secrets: openSecrets(data) }, findTyper());
    return { url: urlFromHere({ http }), pass };
  } catch {
    // The check reports what is wrong with the folder.
    return undefined;
  }
}

/**
 * Returns whether an address leads to the server of this folder: it is the public one, or names this machine and a port
 * of that server. While the server runs, the folder contains the port; otherwise the settings do.
 */
function isServedAt(asked: URL, data: string, settings: () => Config): boolean {
  const running = runningListener(data);
  const port = Number(asked.port || (asked.protocol === 'https:' ? 443 : 80));
  if (running?.port === port && isAddressHere(asked.hostname, running.host)) return true;
  let config: Config;
  try {
    config = settings();
  } catch {
    // The examination itself reports which settings cannot be read.
    return false;
  }
  const { http, https, instance } = config;
  if (http.public_url !== '' && new URL(http.public_url).origin === asked.origin) return true;
  const isListener = running === undefined && port === http.port && isAddressHere(asked.hostname, http.host);
  // A proxy may be in front of the API.
  const isByName = asked.hostname === instance.host && (port === 443 || port === (running ?? http).port);
  const isByTls = https.ports.includes(port) && (asked.hostname === instance.host || isAddressHere(asked.hostname, ''));
  return isListener || isByName || isByTls;
}

/**
 * Reports whether a name or an address of a URL reaches the listener on `host` of this machine; an empty one is every
 * address.
 */
function isAddressHere(hostname: string, host: string): boolean {
  const address = hostname === 'localhost' ? '127.0.0.1' : hostname.replace(/^\[(.*)\]$/, '$1');
  if (!isIP(address)) return hostname === host;
  const isLoopback = isLoopbackAddress(address);
  const own = ownAddresses().map((one) => canonicalAddress(one.address));
  if (!isLoopback && !own.includes(canonicalAddress(address))) return false;
  if (['0.0.0.0', '::', ''].includes(host)) return true;
  if (!isIP(host)) return isLoopback && host === 'localhost';
  return canonicalAddress(host) === canonicalAddress(address) || (isLoopback && isLoopbackAddress(host));
}

const isLoopbackAddress = (address: string): boolean => /^(127\.|::1$)/.test(canonicalAddress(address));

type Named = Required<Pick<DataOptions, 'data'>> & DataOptions;

interface ExamineOptions {
  settings: () => Config;
  examination: Examination;
}

/** Writes nothing, migrates nothing, and stops at nothing. */
async function readMachineState(options: Named, { settings, examination }: ExamineOptions): Promise<MachineState> {
  const { data } = options;
  const nothing: MachineState = { data, nodes: [], findings: [], checks: [], problems: [], notAsked: [] };
  if (!isReadable(data)) {
    const says = `Not checked: the installation in ${data}, which only root and the account of its service may read. Check it with: sudo rasket doctor`;
    return { ...nothing, notAsked: [says] };
  }
  try {
    const config = settings();
    becomeFolderOwner(data);
    const { nodes, checks, findings } = presentForOperator(await readStateWith(config, options, examination));
    const notAsked = nodes.length === 0 ? [NOT_KNOWN] : BY_EXAMINATION[examination];
    return { ...nothing, nodes, checks, findings, notAsked };
  } catch (error) {
    const [first = '', ...more] = explain(error);
    return { ...nothing, problems: [`The machine was not examined: ${first}`, ...more] };
  }
}

const BY_ITSELF = 'this command has run the checks itself, with its own settings; the results are not stored.';
const NOT_KNOWN = `No server is running, so ${BY_ITSELF}`;
const BY_EXAMINATION: Readonly<Record<Examination, string[]>> = {
  done: [],
  refused: [`So ${BY_ITSELF}`],
  'no server': [`No server with an API is running on this machine, so ${BY_ITSELF}`],
};

async function readStateWith(config: Config, options: Named, examination: Examination): Promise<FindingsReport> {
  const { data: dataDir } = options;
  mustBeInitialised(dataDir);
  const log = createLog({ level: 'error', format: 'pretty' });
  const store = await openStore({ config, dataDir, log });
  try {
    const { pending } = await schemaState(store.db);
    if (pending.length > 0)
      throw new OperatorFault(
        `The database is of an older version of rasket (${pending.length} migrations are missing); start the server, or run: rasket migrate --data ${dataDir}`,
      );
    const found = withCopy(dataDir, await loadFindingsReport(store));
    if (found.nodes.length > 0) return examination === 'done' ? found : await examinedHere(store, found);
    const start = await chooseStartCommand(options);
    const findings = found.findings.map((finding) =>
      finding.code === 'delivery_not_running' ? notRunning(dataDir, start) : finding,
    );
    const { examineInProcess } = await import('./examine-in-process.ts');
    const checks = await examineInProcess(store);
    const outside = checks.flatMap((check) => check.findings);
    const all = [...withoutExaminations(found, findings), ...ofCertificate(config, dataDir), ...outside];
    return { ...found, checks, findings: gravestFirst(all) };
  } finally {
    await closeStore(store);
  }
}

/** Examines the machine without its server, which either does not run or cannot record what it sees. */
async function examinedHere(store: Store, found: FindingsReport): Promise<FindingsReport> {
  const { examineInProcess } = await import('./examine-in-process.ts');
  const checks = await examineInProcess(store);
  const outside = checks.flatMap((check) => check.findings);
  return { ...found, checks, findings: gravestFirst([...withoutExaminations(found, found.findings), ...outside]) };
}

/** Removes the earlier findings of examinations that are repeated now. */
function withoutExaminations({ checks }: FindingsReport, findings: readonly Finding[]): Finding[] {
  const before = new Set<string>(checks.flatMap((check) => check.findings.map(({ code }) => code)));
  return findings.filter(({ code }) => !before.has(code));
}

/** Adds the finding for a copy on which no server was started yet. */
function withCopy(dataDir: string, found: FindingsReport): FindingsReport {
  const isKnown = readCopyMark(dataDir) === undefined || found.findings.some(({ code }) => code === 'restored');
  return isKnown ? found : { ...found, findings: [buildFinding('restored'), ...found.findings] };
}

const chooseStartCommand = async (options: Named): Promise<string> =>
  findInstallation()?.data === options.data ? SERVICE_START : onSameFolder('rasket serve', options);

const notRunning = (data: string, command: string): Finding =>
  buildFinding('delivery_not_running', {
    summary: `No server is running on ${data}, or it has not reported for two minutes.`,
    advice: { words: 'Start one', command },
  });

/** Returns what a server that is started now would find about its certificate. */
function ofCertificate(config: Config, dataDir: string): Finding[] {
  const files = locateCertificateFiles(config, dataDir);
  // The status of issued certificates is in the database.
  if (!files && config.acme.directory !== '') return [];
  const { startsAt, endsAt, faults } = files
    ? examineCertificate(files)
    : { startsAt: undefined, endsAt: undefined, faults: [] };
  const standing = { file: config.tls.certificate_file, isIssued: false, startsAt, endsAt, fault: faults[0]?.text };
  return certificateFindings(standing, { now: systemClock.now(), isCapturing: config.delivery.capture });
}
