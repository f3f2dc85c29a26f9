import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where to call and with which key, and who said so: a person with several of each needs to know. */
export interface Target {
  url: string;
  urlFrom: string;
  apiKey?: string;
  keyFrom: string;
  /** Says why there is no key, where one was nearly found. */
  note?: string;
}

export interface TargetInput {
  url?: string | undefined;
  apiKey?: string | undefined;
  data?: string | undefined;
  profile?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
}

export interface Credentials {
  url: string;
  api_key: string;
}

/** A fault of the address, the key or the file they stand in; the message says what to do. */
export class CredentialsFault extends Error {
  /** What was typed cannot be one; otherwise it is one that does not do. */
  readonly isMisuse: boolean;

  constructor(message: string, { isMisuse = false }: { isMisuse?: boolean } = {}) {
    super(message);
    this.isMisuse = isMisuse;
  }
}

export const DEFAULT_URL = 'http://127.0.0.1:3000';

/**
 * What was named wins: an address or a key by flag or variable, then a profile, then a data folder. Where nothing was
 * named it is what `rasket login` kept, and only without that a development server. A key from a file goes to its own
 * address and nowhere else: naming another server must not hand it over.
 */
export function findTarget({ url, apiKey, data, profile, env }: TargetInput): Target {
  const stored = storedTargets(env, { data: data ?? env.RASKET_DATA, profile: profile ?? env.RASKET_PROFILE });
  const address = namedUrl(url, env);
  const key = namedKey(apiKey, env);
  const match = stored.find((entry) => address === undefined || isSame(entry.url, address.url));
  const where = address ?? (match ? { url: match.url, urlFrom: match.from } : { url: DEFAULT_URL, urlFrom: 'default' });
  if (key) return { ...where, ...key };
  if (match) return { ...where, apiKey: checkKey(match.api_key, match.from), keyFrom: match.from };
  const other = stored[0];
  return {
    ...where,
    keyFrom: 'none',
    ...(other ? { note: `The key in ${other.from} is for ${other.url}.` } : {}),
  };
}

interface Stored extends Credentials {
  from: string;
}

/** The servers that files know, the one in force first. */
function storedTargets(
  env: TargetInput['env'],
  { data, profile }: { data: string | undefined; profile: string | undefined },
): Stored[] {
  const login = readCredentials(env, profile);
  if (profile && !login) {
    throw new CredentialsFault(`There is no profile ${profile}; make it with: rasket login --profile ${profile}`);
  }
  const kept = login ? [{ ...login, from: credentialsFile(env, profile) }] : [];
  if (profile) return kept;
  const development = readDevelopment(data) ?? [];
  return data ? [...development, ...kept] : [...kept, ...development];
}

function namedUrl(flag: string | undefined, env: TargetInput['env']): { url: string; urlFrom: string } | undefined {
  if (flag !== undefined) return { url: readUrl(flag, '--url'), urlFrom: '--url' };
  if (env.RASKET_URL) return { url: readUrl(env.RASKET_URL, 'RASKET_URL'), urlFrom: 'RASKET_URL' };
  return undefined;
}

function namedKey(flag: string | undefined, env: TargetInput['env']): { apiKey: string; keyFrom: string } | undefined {
  if (flag !== undefined) return { apiKey: checkKey(flag, '--api-key'), keyFrom: '--api-key' };
  if (env.RASKET_API_KEY) return { apiKey: checkKey(env.RASKET_API_KEY, 'RASKET_API_KEY'), keyFrom: 'RASKET_API_KEY' };
  return undefined;
}

/** Answers the address without a slash at its end, so that paths can be put behind it. */
export function readUrl(text: string, shownAs: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new CredentialsFault(
      `${shownAs} must be an address such as https://mail.example.com; got ${JSON.stringify(text)}`,
      { isMisuse: true },
    );
  }
  return url.href.replace(/\/+$/, '');
}

/** The value is never part of the message: it is a secret, or nearly one. */
export function checkKey(text: string, shownAs: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new CredentialsFault(
    `The API key in ${shownAs} is ${key === '' ? 'empty' : 'not one word of plain characters'}; keys look like rk_…`,
  );
}

function isSame(one: string, other: string): boolean {
  const plain = (text: string): string => {
    const url = new URL(text);
    if (['localhost', '[::1]'].includes(url.hostname)) url.hostname = '127.0.0.1';
    return url.href.replace(/\/+$/, '');
  };
  return plain(one) === plain(other);
}

/** Also of a server that does not run now: its address and key are what it starts with again. */
function readDevelopment(data: string | undefined): [Stored] | undefined {
  const folder = path.resolve(data ?? fileURLToPath(new URL('../../.rasket', import.meta.url)));
  const from = path.join(folder, 'run', 'dev.json');
  const access = readJson(from) as Partial<Credentials> | undefined;
  if (typeof access?.url !== 'string' || typeof access.api_key !== 'string' || !URL.canParse(access.url))
    return undefined;
  return [{ url: access.url, api_key: access.api_key, from }];
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

const credentialsFolder = (env: TargetInput['env']): string =>
  path.join(env.XDG_CONFIG_HOME || path.join(env.HOME || os.homedir(), '.config'), 'rasket');

/** Without a profile, what `rasket login` keeps when none is named. */
export const credentialsFile = (env: TargetInput['env'], profile?: string): string =>
  profile
    ? path.join(credentialsFolder(env), 'profiles', `${checkProfile(profile)}.json`)
    : path.join(credentialsFolder(env), 'credentials.json');

/** It becomes the name of a file. */
export function checkProfile(name: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,63}$/i.test(name)) return name;
  throw new CredentialsFault(
    `A profile has 1 to 64 letters, digits, dots, underscores and hyphens, and begins with a letter or digit; got ${JSON.stringify(name)}`,
    { isMisuse: true },
  );
}

export interface Profile {
  /** undefined: what is in force when none is named. */
  name: string | undefined;
  url: string;
  file: string;
}

export function listProfiles(env: TargetInput['env']): Profile[] {
  const folder = path.join(credentialsFolder(env), 'profiles');
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : [];
  const names = [undefined, ...files.map((file) => file.slice(0, -'.json'.length)).sort()];
  return names.flatMap((name) => {
    const held = readCredentials(env, name);
    return held ? [{ name, url: held.url, file: credentialsFile(env, name) }] : [];
  });
}

function readCredentials(env: TargetInput['env'], profile?: string): Credentials | undefined {
  const file = credentialsFile(env, profile);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) return undefined;
  if ((found.mode & 0o077) !== 0) {
    throw new CredentialsFault(`${file} can be read by other users; close it with: chmod 600 ${file}`);
  }
  const held = readJson(file) as Partial<Credentials> | undefined;
  if (typeof held?.url !== 'string' || typeof held.api_key !== 'string' || !URL.canParse(held.url)) {
    throw new CredentialsFault(`${file} does not hold a url and an api_key; write it anew with: rasket login`);
  }
  return { url: held.url, api_key: held.api_key };
}

/** Written beside and moved into place, so that an interrupted login leaves the former one whole. */
export function writeCredentials(env: TargetInput['env'], credentials: Credentials, profile?: string): string {
  const file = credentialsFile(env, profile);
  const folder = path.dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  const part = `${file}.${process.pid}.part`;
  try {
    writeFileSync(part, `${JSON.stringify(credentials)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(part, file);
  } finally {
    rmSync(part, { force: true });
  }
  return file;
}

/** Answers the file that was removed, or undefined where there was none. */
export function removeCredentials(env: TargetInput['env'], profile?: string): string | undefined {
  const file = credentialsFile(env, profile);
  if (!statSync(file, { throwIfNoEntry: false })) return undefined;
  rmSync(file);
  return file;
}
