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
import { CredentialsFault } from './faults.ts';
import {
  askKeyring,
  formatReasons,
  isKeyring,
  NO_SESSION,
  nameOfKeyring,
  type KeyringAnswer,
  type KeyringName,
} from './keyring.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Credentials {
  url: string;
  api_key: string;
}

/** The content of a file of `rasket login`: the server, and its key or the keyring that holds it. */
export interface Entry {
  file: string;
  url: string;
  apiKey?: string;
  keyring?: KeyringName;
}

const resolveConfigFolder = (env: Environment): string =>
  path.join(env.XDG_CONFIG_HOME || path.join(env.HOME || homeOfAccount(), '.config'), 'rasket');

/** An account that no list of accounts has, as in a container, has none. */
function homeOfAccount(): string {
  try {
    return os.homedir();
  } catch {
    return '/nonexistent';
  }
}

/** Returns the file of a profile, or the one that `rasket login` writes without a profile. */
export const resolveCredentialsFile = (env: Environment, profile?: string): string =>
  profile
    ? path.join(resolveConfigFolder(env), 'profiles', `${checkProfile(profile)}.json`)
    : path.join(resolveConfigFolder(env), 'credentials.json');

/** Checks the name, because it becomes the name of a file. */
export function checkProfile(name: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,63}$/i.test(name)) return name;
  throw new CredentialsFault(
    `A profile name has 1 to 64 letters, digits, dots, underscores and hyphens, and begins with a letter or digit; got ${JSON.stringify(name)}`,
    { isMisuse: true },
  );
}

export interface Profile extends Entry {
  /** undefined: the login that is used when no profile is named. */
  name: string | undefined;
}

/** Lists all profiles that can be read, and the faults of the others. */
export function listProfiles(env: Environment): { profiles: Profile[]; faults: CredentialsFault[] } {
  const folder = path.join(resolveConfigFolder(env), 'profiles');
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : [];
  const names = [undefined, ...files.map((file) => file.slice(0, -'.json'.length)).sort()];
  const faults: CredentialsFault[] = [];
  const profiles = names.flatMap((name) => {
    try {
      const entry = readEntry(env, name);
      return entry ? [{ name, ...entry }] : [];
    } catch (error) {
      if (!(error instanceof CredentialsFault)) throw error;
      faults.push(error);
      return [];
    }
  });
  return { profiles, faults };
}

export function readEntry(env: Environment, profile?: string): Entry | undefined {
  const file = resolveCredentialsFile(env, profile);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) return undefined;
  if ((found.mode & 0o077) !== 0) {
    throw new CredentialsFault(`${file} can be read by other users; restrict it with: chmod 600 ${file}`);
  }
  const held = readHeld(file);
  if (typeof held?.url !== 'string' || !URL.canParse(held.url)) throw damaged(file, profile);
  if (typeof held.api_key === 'string') return { file, url: held.url, apiKey: held.api_key };
  if (isKeyring(held.keyring)) return { file, url: held.url, keyring: held.keyring };
  throw damaged(file, profile);
}

type Held = { url?: unknown; api_key?: unknown; keyring?: unknown };

function readHeld(file: string): Held | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Held;
  } catch {
    return undefined;
  }
}

const damaged = (file: string, profile: string | undefined): CredentialsFault =>
  new CredentialsFault(`${file} does not contain a url and an api_key.`, {
    advice: {
      words: 'Write it again with',
      command: ['login', '--url', 'URL', ...(profile ? ['--profile', profile] : [])],
    },
  });

/**
 * Returns the key of an entry, or a sentence that says why it cannot be read. The keyring's entry names its address as
 * well: changing the file does not send the key elsewhere.
 */
export function readKeptKey(env: Environment, entry: Entry): { apiKey: string; from: string } | { why: string } {
  if (entry.apiKey !== undefined) return { apiKey: entry.apiKey, from: entry.file };
  if (entry.keyring === undefined) return { why: '' };
  const from = nameOfKeyring(entry.keyring);
  const { secret, why } = askKeyring(env, { verb: 'get', account: entry.file, from: entry.keyring });
  if (Object.keys(why).length > 0)
    return { why: `The key is stored in ${from}, which cannot be read: ${formatReasons(why)}.` };
  const held = readSecret(secret);
  if (!held) return { why: `The key is no longer in ${from}.` };
  if (held.url !== entry.url) return { why: `The key in ${from} is for ${held.url}.` };
  return { apiKey: held.api_key, from };
}

function readSecret(text: string | null | undefined): Credentials | undefined {
  try {
    const held = JSON.parse(text ?? '') as Partial<Credentials>;
    return typeof held.url === 'string' && typeof held.api_key === 'string' ? (held as Credentials) : undefined;
  } catch {
    return undefined;
  }
}

const SESSION_PREFIX = 'rks_';

/** Reports whether a token is that of a signed-in person instead of a key. */
export const isSession = (token: string | undefined): boolean => token?.startsWith(SESSION_PREFIX) ?? false;

/**
 * Returns the token of the session that a login stored; undefined if it stored a key, or nothing that can be read now.
 */
export function keptSession(env: Environment, profile?: string): Credentials | undefined {
  const entry = readEntry(env, profile);
  const key = entry && readKeptKey(env, entry);
  return entry && key && 'apiKey' in key && isSession(key.apiKey) ? { url: entry.url, api_key: key.apiKey } : undefined;
}

interface Kept {
  file: string;
  /** The keyring that holds the key; undefined if the file does. */
  by?: KeyringName;
  /** The reason why no preferred store holds it. */
  why: KeyringAnswer['why'];
}

/** The file is written last: until then the former key, wherever it is, is the one in force. */
export function keepKey(env: Environment, { url, api_key }: Credentials, profile?: string): Kept {
  const file = resolveCredentialsFile(env, profile);
  // A key that cannot be read back was not stored.
  const secret = JSON.stringify({ url, api_key });
  const answer = askKeyring(env, { verb: 'set', account: file, secret });
  if (answer.by === undefined || answer.secret !== secret) {
    writeEntry(file, { url, api_key });
    return { file, why: answer.why };
  }
  writeEntry(file, { url, keyring: answer.by });
  return { file, by: answer.by, why: answer.why };
}

/**
 * Moves keys that were stored earlier from their files into the keyring; returns the profiles whose keys were moved.
 */
export function moveIntoKeyring(env: Environment): (string | undefined)[] {
  return listProfiles(env)
    .profiles.filter(({ url, apiKey, name }) => apiKey !== undefined && keepKey(env, { url, api_key: apiKey }, name).by)
    .map(({ name }) => name);
}

/** Writes to a temporary file and renames it, so that an interrupted login leaves the previous one intact. */
function writeEntry(file: string, held: Record<string, string>): void {
  const folder = path.dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  const part = `${file}.${process.pid}.part`;
  try {
    writeFileSync(part, `${JSON.stringify(held)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(part, file);
  } finally {
    rmSync(part, { force: true });
  }
}

interface Forgotten {
  /** The places where it was stored. */
  places: string[];
  /** The reason why an entry may remain in the keyring. */
  left?: string;
}

/** Also removes it from a keyring that the file does not name: a later login may have had to use the file. */
export function forgetKey(env: Environment, profile?: string): Forgotten {
  const file = resolveCredentialsFile(env, profile);
  const isThere = statSync(file, { throwIfNoEntry: false }) !== undefined;
  const named = readHeld(file)?.keyring;
  const { by, why } = askKeyring(env, { verb: 'remove', account: file });
  rmSync(file, { force: true });
  const places = [...(by ? [nameOfKeyring(by)] : []), ...(isThere ? [file] : [])];
  const inTheWay = isKeyring(named)
    ? (why[named] ?? why.keyring)
    : why.keyring === NO_SESSION
      ? undefined
      : why.keyring;
  return { places, ...(inTheWay !== undefined && { left: inTheWay }) };
}

/** Returns the store that a login would use, found by trying. */
export const findStore = (env: Environment): Pick<KeyringAnswer, 'by' | 'why'> =>
  askKeyring(env, { verb: 'look', account: resolveCredentialsFile(env) });

const findChoiceFile = (env: Environment): string => path.join(resolveConfigFolder(env), 'profile');

/** Returns the profile that `rasket use` selected; undefined for the login without a name. */
export function chosenProfile(env: Environment): string | undefined {
  let text: string;
  try {
    text = readFileSync(findChoiceFile(env), 'utf8').trim();
  } catch {
    return undefined;
  }
  return text === '' ? undefined : checkProfile(text);
}

/** Selects the profile for all later commands of this user; undefined removes the choice. */
export function chooseProfile(env: Environment, profile: string | undefined): void {
  const file = findChoiceFile(env);
  if (profile === undefined) return rmSync(file, { force: true });
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const part = `${file}.${process.pid}.part`;
  writeFileSync(part, `${checkProfile(profile)}\n`, { mode: 0o600 });
  renameSync(part, file);
}
