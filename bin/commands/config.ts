import { existsSync, readFileSync } from 'node:fs';
import { OperatorFault } from '../explain.ts';
import {
  ConfigFault,
  holdsSecret,
  locateSetting,
  showConfig,
  tsigSecretIn,
  usedRelays,
  warnOfDnssecPath,
  type Config,
  type RelaySettings,
} from '../../src/platform/config/index.ts';
import { describeExposure, OTHERS_WRITE } from '../../src/platform/secrets/index.ts';
import { becomeFolderOwner } from '../installation.ts';
import { dataFolder, readFaultySettings, readSettings } from './open.ts';
import { X509Certificate } from 'node:crypto';
import path from 'node:path';
import { isoTime } from '../../src/platform/clock.ts';
import { locateCertificateFiles, examineCertificate, unreadable } from '../../src/platform/server-tls.ts';

/** Checks the settings as the server would read them at a start, with the files that they name. */
export async function checkConfig(given: string | undefined): Promise<void> {
  const read = readFaultySettings(given === undefined ? {} : { config: given }, { isServing: true });
  const { config, sources, file } = read;
  const text = file === undefined || !existsSync(file) ? '' : readFileSync(file, 'utf8');
  const dataDir = dataFolder({});
  // Root may read files that the account of the service may not.
  becomeFolderOwner(dataDir);
  if (text !== '' && file !== undefined) {
    const exposure = describeExposure(file, holdsSecret(config, sources) ? undefined : OTHERS_WRITE);
    if (exposure !== undefined) process.stderr.write(`rasket: warning: ${file} ${exposure}\n`);
  }
  const faults = [...read.faults];
  for (const { key, text: says, isWarning } of [...examineNamedFiles(config, dataDir), ...examineOthers(config)]) {
    const line = `${locateSetting(key, { sources, file, text })}: ${says}`;
    if (isWarning) process.stderr.write(`rasket: warning: ${line}\n`);
    else faults.push(line);
  }
  if (faults.length > 0) throw new ConfigFault(faults);
  console.log(file === undefined ? 'The settings in the environment are valid.' : `${file} is valid.`);
}

/** Prints all settings, or only a section with those below it, or one setting. */
export async function printConfig(
  setting: string | undefined,
  options: { config?: string; profile: 'production' | 'development' },
): Promise<void> {
  const { config, sources } = readSettings(options, { profile: options.profile });
  const shown = showConfig(config, sources);
  console.log(setting === undefined ? shown : selectSettings(shown, setting));
}

function selectSettings(shown: string, wanted: string): string {
  const selected = shown.split('\n\n').flatMap((text) => {
    const [title = '', ...lines] = text.trim().split('\n');
    const section = title.slice(1, -1);
    const isWhole = section === wanted || section.startsWith(`${wanted}.`);
    const found = isWhole ? lines : lines.filter((line) => `${section}.${line.split(' = ', 1)[0]}` === wanted);
    return found.length === 0 ? [] : [[title, ...found].join('\n')];
  });
  if (selected.length > 0) return selected.join('\n\n');
  throw new OperatorFault(`${wanted} is not a setting. List all with: rasket config show`, 'notFound');
}

/** Describes a fault of a file that a setting names. */
interface NamedFileFault {
  key: string;
  text: string;
  /** A server starts in spite of it. */
  isWarning?: true;
}

function examineOthers(config: Config): NamedFileFault[] {
  const path = warnOfDnssecPath(config);
  return [
    ...examineHosts(config),
    ...(path === undefined ? [] : [{ key: 'dns.dnssec_resolver', text: path, isWarning: true } as const]),
  ];
}

/** Warns of an API whose public name is another one than that of the mail server: one of them may be a former name. */
function examineHosts({ http: { public_url: url }, instance: { host } }: Config): NamedFileFault[] {
  const named = url === '' ? host : new URL(url).hostname;
  if (named === host || host === 'localhost') return [];
  const text = `http.public_url names ${named}, and instance.host is ${host}; that is right if both names lead to this server`;
  return [{ key: 'http.public_url', text, isWarning: true }];
}

/** Reads the files that settings name as the server would, and returns their faults. */
const examineNamedFiles = (config: Config, dataDir: string): NamedFileFault[] => [
  ...examineTls(config, dataDir),
  ...examineDnsSecrets(config, dataDir),
  ...examineRelayFiles(config, dataDir),
];

function examineTls(config: Config, dataDir: string): NamedFileFault[] {
  const files = locateCertificateFiles(config, dataDir);
  if (!files) return [];
  const { faults, endsAt, keys } = examineCertificate(files);
  const key = 'tls.certificate_file';
  const { host } = config.instance;
  const leaf = keys && new X509Certificate(keys.cert);
  const isForOther = leaf !== undefined && host !== 'localhost' && leaf.checkHost(host) === undefined;
  const names = [...(leaf?.subjectAltName ?? '').matchAll(/DNS:([^,\s"]+)/g)].map(([, name = '']) => name);
  const ofName = `${files.cert} (${key}) is for ${names.join(', ') || 'no name'}, not for ${host} (instance.host)`;
  const found: NamedFileFault[] = [
    ...faults.map(({ setting, text }) => ({ key: setting, text })),
    ...(isForOther ? [{ key, text: ofName, isWarning: true } as const] : []),
  ];
  if (endsAt === undefined || endsAt > Date.now()) return found;
  return [
    ...found,
    { key, text: `${files.cert} (${key}) expired on ${isoTime(endsAt).slice(0, 10)}; renew it`, isWarning: true },
  ];
}

/** Skips a provider that no team may use, which may stay incomplete. */
function examineDnsSecrets({ dns_providers: providers }: Config, dataDir: string): NamedFileFault[] {
  return Object.entries(providers).flatMap(([name, settings]) => {
    if (settings.teams.length === 0) return [];
    const isTsig = settings.kind === 'rfc2136';
    const field = isTsig ? 'key_secret_file' : 'token_file';
    const isSetOtherwise = (isTsig ? settings.key_secret : settings.token) !== '';
    if (isSetOtherwise || settings[field] === '') return [];
    const file = path.resolve(dataDir, settings[field]);
    const key = `dns_providers.${name}.${field}`;
    const text = examineSecret(file, key, isTsig);
    return text === undefined ? warnOfExposure(file, key) : [{ key, text }];
  });
}

/** Skips a relay that no mail goes through, which may stay incomplete. */
function examineRelayFiles(config: Config, dataDir: string): NamedFileFault[] {
  return [...usedRelays(config)].flatMap((name) => {
    const settings = config.relays[name];
    if (!settings) return [];
    const files = (['ca_file', 'password_file', 'token_file'] as const).flatMap((field): NamedFileFault[] => {
      if (settings[field] === '') return [];
      const file = path.resolve(dataDir, settings[field]);
      const key = `relays.${name}.${field}`;
      const text = examineRelayFile(file, key, field === 'ca_file');
      if (text !== undefined) return [{ key, text }];
      return field === 'ca_file' ? [] : warnOfExposure(file, key);
    });
    return [...files, ...warnOfOtherTls(name, settings)];
  });
}

/** The kind of TLS that the well-known ports of mail servers expect. */
const TLS_OF_PORTS: Readonly<Record<number, RelaySettings['tls']>> = {
  25: 'starttls',
  465: 'implicit',
  587: 'starttls',
};

/** Warns of a port that usually speaks TLS in the other way: a relay that waits for it sends nothing at all. */
function warnOfOtherTls(name: string, { port, tls }: RelaySettings): NamedFileFault[] {
  const usual = TLS_OF_PORTS[port];
  if (usual === undefined || usual === tls) return [];
  const key = `relays.${name}.${tls === 'starttls' ? 'port' : 'tls'}`;
  const text = `relays.${name} has port ${port} with tls = "${tls}"; servers at this port expect tls = "${usual}"`;
  return [{ key, text, isWarning: true }];
}

/** Warns of a secret that other accounts can read; it works all the same. */
function warnOfExposure(file: string, key: string): NamedFileFault[] {
  const exposure = describeExposure(file);
  return exposure === undefined ? [] : [{ key, text: `${file} (${key}) ${exposure}`, isWarning: true }];
}

function examineRelayFile(file: string, key: string, isCertificate: boolean): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return unreadable(file, key, error);
  }
  if (!isCertificate)
    return text.split(/\r?\n/, 1)[0] === '' ? `${file} (${key}) has no secret on its first line` : undefined;
  try {
    void new X509Certificate(text);
    return undefined;
  } catch {
    return `${file} (${key}) contains no PEM certificate`;
  }
}

function examineSecret(file: string, key: string, isTsig: boolean): string | undefined {
  let secret: string;
  try {
    secret = readFileSync(file, 'utf8').trim();
  } catch (error) {
    return unreadable(file, key, error);
  }
  if (isTsig)
    return tsigSecretIn(secret) === undefined
      ? `${file} (${key}) must contain only a base64 secret of 16 to 128 bytes, or one key as printed by tsig-keygen`
      : undefined;
  return /^[\x21-\x7e]{1,500}$/.test(secret)
    ? undefined
    : `${file} (${key}) must contain only an API token of 1 to 500 characters without spaces`;
}
