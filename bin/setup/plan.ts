import { ConfigFault, loadConfig, type Config, type Sources } from '../../src/platform/config/index.ts';
import { OperatorFault } from '../explain.ts';
import { relaySettings, type Answers, type Https } from './answers.ts';
import type { Edit, SettingValue } from './settings-text.ts';
import { toRecordType } from './this-machine.ts';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';

interface CurrentSettings {
  config: Config;
  sources: Sources;
}

const PROXIES_OF_THIS_MACHINE = ['127.0.0.1/32', '::1/128'];

/**
 * Returns the settings that follow from the answers. Values that hold already, by default or set by the operator, are
 * not written.
 */
export function planSettings(answers: Answers, standing: CurrentSettings): Edit[] {
  const wanted: Edit[] = [
    { key: 'instance.host', value: answers.host },
    ...(answers.apiPort === undefined ? [] : [{ key: 'http.port', value: answers.apiPort }]),
    ...urlSettings(answers, standing.config),
    ...httpsSettings(answers, standing),
    ...mailSettings(answers, standing.config),
    ...addressSettings(answers, standing.config),
    ...relaySettings(answers, standing.config.domains.spf),
    ...acmeSettings(answers),
  ];
  const edits = wanted.filter(
    ({ key, value }) =>
      !isSo(standing.config, key, value) || (isNo(answers, key) && standing.sources.get(key) === 'default'),
  );
  for (const edit of edits) mustBeOurs(edit, standing.sources);
  return edits;
}

/** A question answered with no is written to the file although it is the default, so that the next call knows it. */
const isNo = ({ https, acme }: Answers, key: string): boolean =>
  (key === 'https.ports' && https.kind === 'none') || (key === 'acme.directory' && acme === 'none');

/** Another name in front of the same port is the operator's choice, and stays. */
function urlSettings({ https, host }: Answers, { http, instance }: Config): Edit[] {
  const url = publicUrl(https, host);
  const before = URL.parse(http.public_url);
  if (url === '') return before?.protocol === 'https:' ? [{ key: 'http.public_url', value: '' }] : [];
  const isOfOperator =
    before?.protocol === 'https:' && before.hostname !== instance.host && before.port === new URL(url).port;
  return isOfOperator ? [] : [{ key: 'http.public_url', value: url }];
}

function publicUrl(https: Https, host: string): string {
  if (https.kind === 'none') return '';
  return https.kind === 'own' && https.port !== 443 ? `https://${host}:${https.port}` : `https://${host}`;
}

function httpsSettings({ https, acme }: Answers, { config, sources }: CurrentSettings): Edit[] {
  if (https.kind === 'own') {
    const isByAlpn = typeof acme === 'object' && acme.challenge === 'tls-alpn-01';
    const redirects = isByAlpn || !https.hasPort80 ? [] : [80];
    // Keeps redirect ports that are in the file: the operator may have removed port 80 on purpose.
    const isWritten = config.https.ports.includes(https.port) && sources.get('https.redirect_ports') === 'file';
    return [
      { key: 'https.ports', value: [https.port] },
      ...(isWritten ? [] : [{ key: 'https.redirect_ports', value: redirects }]),
    ];
  }
  const closed: Edit[] = [
    { key: 'https.ports', value: [] },
    { key: 'https.redirect_ports', value: [] },
  ];
  if (https.kind === 'none') return closed;
  const trusted = [...new Set([...config.http.trusted_proxies, ...PROXIES_OF_THIS_MACHINE])];
  return [...closed, { key: 'http.trusted_proxies', value: trusted }];
}

const SMTP_PORT = 25;

function mailSettings({ receives, smtpHost, leftOut }: Answers, { receiving, submission }: Config): Edit[] {
  const others = receiving.ports.filter((port) => port !== SMTP_PORT);
  const isFree = (port: number): boolean => !leftOut.includes(port) && (receives || port !== SMTP_PORT);
  return [
    ...(smtpHost === undefined ? [] : [{ key: 'smtp.host', value: smtpHost }]),
    { key: 'receiving.ports', value: receives ? [...new Set([...receiving.ports, SMTP_PORT])] : others },
    { key: 'submission.ports', value: submission.ports.filter(isFree) },
    { key: 'submission.tls_ports', value: submission.tls_ports.filter(isFree) },
  ];
}

/** If a family has only one address, the system chooses it by itself. */
function addressSettings({ addresses, ownPublic }: Answers, config: Config): Edit[] {
  const region = `regions.${config.team.default_region}`;
  return (['A', 'AAAA'] as const).flatMap((family) => {
    const own = ownPublic.filter((address) => toRecordType(address) === family);
    const value = addresses.find((address) => own.includes(address));
    if (own.length < 2 || value === undefined) return [];
    return [{ key: `${region}.${family === 'A' ? 'source_v4' : 'source_v6'}`, value }];
  });
}

function acmeSettings({ acme }: Answers): Edit[] {
  if (acme === undefined) return [];
  if (acme === 'none') return [{ key: 'acme.directory', value: '' }];
  return [
    { key: 'acme.directory', value: acme.directory },
    { key: 'acme.agree_to_terms', value: true },
    { key: 'acme.contact', value: acme.contact },
    { key: 'acme.challenge', value: acme.challenge },
  ];
}

const isSo = (config: Config, key: string, value: SettingValue): boolean =>
  JSON.stringify(readValue(config, key)) === JSON.stringify(value);

const readValue = (config: Config, key: string): unknown =>
  key.split('.').reduce<unknown>((table, name) => (table as Record<string, unknown> | undefined)?.[name], config);

/** The environment wins over the file, so that a line there would be of no effect. */
export function mustBeOurs({ key, value }: Edit, sources: Sources): void {
  if (sources.get(key) !== 'env') return;
  const variable = `RASKET_${key.toUpperCase().replaceAll(/[.-]/g, '_')}`;
  throw new OperatorFault(
    `${variable} in the environment takes precedence over the settings file, and is not ${JSON.stringify(value)}; change or remove it there`,
  );
}

/** Reads a file that is not in its place yet; its faults name the place. */
function readAs(file: string, scratch: string, env: NodeJS.ProcessEnv): Config {
  try {
    return loadConfig({ file: scratch, env, isServing: true }).config;
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error;
    throw new ConfigFault(error.faults.map((fault) => fault.replaceAll(scratch, file)));
  }
}

export const readIfPresent = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** Reads settings as a server does at its start. Throws a ConfigFault when the server would refuse them. */
export function parseConfig(text: string, file: string, env: NodeJS.ProcessEnv): Config {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-setup-'));
  try {
    const scratch = path.join(folder, 'rasket.toml');
    writeFileSync(scratch, text, { mode: 0o600 });
    return readAs(file, scratch, env);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Replaces the operator's settings file, whole or not at all. Its permissions stay; a new one is for its owner and the
 * group of the data folder, whose service reads it.
 */
export function replaceFile(file: string, text: string, dataDir: string): void {
  const target = existsSync(file) ? realpathSync(file) : file;
  mkdirSync(path.dirname(target), { recursive: true, mode: 0o750 });
  const before = statSync(target, { throwIfNoEntry: false });
  const part = `${target}.${process.pid}.part`;
  try {
    const descriptor = openSync(part, 'w', 0o600);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (process.getuid?.() === 0) {
      const owner = before ?? { uid: 0, gid: statSync(dataDir, { throwIfNoEntry: false })?.gid ?? 0 };
      chownSync(part, owner.uid, owner.gid);
    }
    chmodSync(part, before === undefined ? 0o640 : before.mode & 0o777);
    renameSync(part, target);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
  syncFolder(path.dirname(target));
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
