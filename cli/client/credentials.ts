import path from 'node:path';
import type { Advice, Advised } from './advice.ts';
import { chosenProfile, readEntry, readKeptKey, type Entry, type Credentials } from './stored-credentials.ts';
import { CredentialsFault, NAME_ANOTHER, NAME_IT, NoAnswer } from './faults.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { tryOutFolder } from '../../src/program-files/index.ts';

/** The address to call and the key, with the origin of both: a person who has several of each needs to know. */
export interface Target {
  url: string;
  urlFrom: string;
  apiKey?: string;
  /**
   * Credential for operator commands: in development a token stored next to the team's key, on the machine of an
   * installation a pass that is made for each call.
   */
  operatorToken?: string | (() => string);
  keyFrom: string;
  /** The development server that owns the address or key: nothing is sent while it does not run. */
  development?: Development;
  /** Explains why there is no key, when one was nearly found. */
  note?: string;
}

export interface TargetInput {
  url?: string | undefined;
  apiKey?: string | undefined;
  data?: string | undefined;
  profile?: string | undefined;
  /** The installation of the named data folder, used in place of `data`: it knows at most an address, and no key. */
  installation?: { url: string | undefined } | undefined;
  /** A login that cannot be read is only noted, for commands that check everything. */
  needsKey?: boolean;
  env: Readonly<Record<string, string | undefined>>;
  /** The folder that relative data folders are resolved against; by default the working folder of the process. */
  cwd?: string;
}

/** The origin of an address that an installation on this machine reports. */
export const OF_MACHINE = 'this machine';
export const DEFAULT_URL = 'http://127.0.0.1:3000';

/**
 * An option of a command names the server alone: variables of the shell, its key included, are for another server then.
 */
function namesServer({ url, data, profile }: Pick<TargetInput, 'url' | 'data' | 'profile'>): boolean {
  return [url, data, profile].some((one) => one !== undefined);
}

/**
 * Finds the server and key for a command. A named one wins: by flag before any variable; an address or a key, then a
 * profile, then a data folder. If nothing was named, it is what `rasket login` stored, and only without that a
 * development server. A key from a file goes to its own address and nowhere else: naming another server must not hand
 * it over. An unknown name is a fault: a command for one server must not reach another.
 */
export function findTarget(given: TargetInput): Target {
  const { url, apiKey, data, profile, installation, needsKey = true, env, cwd = '' } = given;
  if (profile !== undefined && data !== undefined) {
    const says = `--profile ${profile} and --data ${data} name different servers; give only one of them`;
    throw new CredentialsFault(says, { isMisuse: true });
  }
  const isTyped = installation !== undefined || namesServer({ url, data, profile });
  const address = namedUrl(url, isTyped ? {} : env) ?? toAddress(installation);
  const key = namedKey(apiKey, isTyped && url === undefined ? {} : env);
  if (address && key) return { ...address, ...key };
  const notes: string[] = [];
  if (!key && env.RASKET_API_KEY)
    notes.push(`RASKET_API_KEY is not used, as ${profile === undefined ? '--data' : '--profile'} names the server.`);
  // Stored logins are for other servers.
  if (installation && !address)
    return { url: DEFAULT_URL, urlFrom: 'default', ...(key ?? { keyFrom: 'none', ...addNote(notes[0]) }) };
  const named = isTyped ? { data, profile } : namedBefore(env, cwd);
  const onUnreadable = needsKey || named.profile ? undefined : (why: string): void => void notes.push(why);
  const stored = storedTargets({ env, cwd }, named, { isAddressNamed: address !== undefined, onUnreadable });
  const isForAddress = (its: Stored): boolean => address === undefined || isSame(its.url, address.url);
  // A development server that is gone does not match an explicit address: the address may belong to another server,
  // which must never get its key.
  const match = stored.find(
    (one) => isForAddress(one) && (address === undefined || one.development?.isRunning() !== false),
  );
  const where = address ?? (match ? { url: match.url, urlFrom: match.from } : { url: DEFAULT_URL, urlFrom: 'default' });
  const development = match?.development && { development: match.development };
  if (key) return { ...where, ...key, ...development };
  if (match) return { ...where, ...match.readKey(), ...development };
  const [other] = stored;
  const note = notes[0] ?? (other && explainMismatch(other, isForAddress(other)));
  return { ...where, keyFrom: 'none', ...addNote(note) };
}

const addNote = (note: string | undefined): Pick<Target, 'note'> => (note === undefined ? {} : { note });

/** Variables of the shell take precedence over the permanent choice of `rasket use`. */
function namedBefore(env: TargetInput['env'], cwd: string): { data: string | undefined; profile: string | undefined } {
  const data = chooseDataFolder(undefined, env, cwd);
  return { data, profile: env.RASKET_PROFILE || (data === undefined ? chosenProfile(env) : undefined) };
}

const toAddress = (installation: TargetInput['installation']) =>
  installation?.url === undefined ? undefined : { url: installation.url, urlFrom: OF_MACHINE };

const explainMismatch = ({ from, url, development }: Stored, isThere: boolean): string =>
  development && isThere ? notRunning(development).message : `The key in ${from} is for ${url}.`;

interface Stored {
  url: string;
  from: string;
  development?: Development;
  /** Called only for the selected one: a keyring is slow. */
  readKey(): Pick<Target, 'apiKey' | 'operatorToken' | 'keyFrom' | 'note'>;
}

/**
 * Returns the folder of a development server. The variable may also name the folder of an installation, for the
 * commands of its operator; that one does not contain the address of the API.
 */
export function chooseDataFolder(flag: string | undefined, env: TargetInput['env'], cwd = ''): string | undefined {
  if (flag !== undefined) return flag;
  const named = env.RASKET_DATA || undefined;
  return named !== undefined && isInstallation(path.resolve(cwd, named)) ? undefined : named;
}

/** The servers that files know, the one in force first. */
function storedTargets(
  { env, cwd }: { env: TargetInput['env']; cwd: string },
  { data, profile }: { data: string | undefined; profile: string | undefined },
  { isAddressNamed, onUnreadable }: { isAddressNamed: boolean; onUnreadable: ((why: string) => void) | undefined },
): Stored[] {
  const login = readLogin(env, profile, onUnreadable);
  if (profile && !login) {
    const advice: Advice = { words: 'Create it with', command: ['login', '--url', 'URL', '--profile', profile] };
    throw new CredentialsFault(`There is no profile ${profile}.`, { advice });
  }
  const kept = login ? [{ url: login.url, from: login.file, readKey: () => keptKey(env, login) }] : [];
  if (profile) return kept;
  const development = storedDevelopment(data, cwd);
  if (data !== undefined && development.length === 0 && !isAddressNamed) {
    throw notRunning({ data, cwd });
  }
  return data ? [...development, ...kept] : [...kept, ...development];
}

function storedDevelopment(data: string | undefined, cwd: string): Stored[] {
  const development = readDevelopment(data, cwd);
  if (!development) return [];
  const { file, url, apiKey, operatorToken: token } = development;
  const operator = token === undefined ? {} : { operatorToken: checkKey(token, file) };
  const readKey: Stored['readKey'] = () => ({ apiKey: checkKey(apiKey, file), ...operator, keyFrom: file });
  return [{ url, from: file, development, readKey }];
}

function readLogin(env: TargetInput['env'], profile: string | undefined, onUnreadable?: (why: string) => void) {
  try {
    return readEntry(env, profile);
  } catch (error) {
    if (!(error instanceof CredentialsFault) || !onUnreadable) throw error;
    onUnreadable(error.message);
    return undefined;
  }
}

/** A key that cannot be read just now counts as none: commands that need none continue. */
function keptKey(env: TargetInput['env'], entry: Entry): Pick<Target, 'apiKey' | 'keyFrom' | 'note'> {
  const key = readKeptKey(env, entry);
  if ('why' in key) return { keyFrom: 'none', note: key.why };
  return { apiKey: checkKey(key.apiKey, key.from), keyFrom: key.from };
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

/** Returns the address without a trailing slash, so that paths can be appended. */
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

/** A development server as described in its data folder. */
export interface Development {
  file: string;
  url: string;
  apiKey: string;
  operatorToken?: string;
  /** The data folder as it was named; undefined for that of this checkout. */
  data: string | undefined;
  /** The folder that a relative name is resolved against. */
  cwd: string;
  /**
   * Reports whether its process runs and listens on the same address: a process that was killed leaves its file and
   * key, and its address may be taken by another program. Checked before each call.
   */
  isRunning(): boolean;
}

interface DevFile extends Credentials {
  operator_token?: string;
  /** Absent in files of versions before. */
  process?: { pid: number; started: string };
}

/** Reads it even when the server does not run: it starts with the same address and key again. */
export function readDevelopment(data: string | undefined, cwd = ''): Development | undefined {
  const file = path.join(resolveFolder(data, cwd), 'run', 'dev.json');
  const held = readFile(file);
  if (!held) return undefined;
  const { url, api_key: apiKey, operator_token: token } = held;
  return {
    file,
    url,
    apiKey,
    data,
    cwd,
    ...(typeof token === 'string' ? { operatorToken: token } : {}),
    isRunning() {
      const now = readFile(file);
      return now?.url === url && now.process !== undefined && isAlive(now.process);
    },
  };
}

const resolveFolder = (data: string | undefined, cwd: string): string => path.resolve(cwd, data ?? tryOutFolder);

export const buildStartCommand = (data: string | undefined): Advised =>
  data === undefined ? ['dev'] : ['dev', '--data', data];

const notRunning = ({ data, cwd, url = '' }: { data: string | undefined; cwd: string; url?: string }): NoAnswer =>
  isInstallation(resolveFolder(data, cwd))
    ? new NoAnswer({
        url,
        cause: `${resolveFolder(data, cwd)} is the data folder of an installation; it contains neither the address of its API nor a key.`,
        advice: [NAME_ANOTHER, NAME_IT],
      })
    : new NoAnswer({
        url,
        cause: `No development server is running on ${resolveFolder(data, cwd)}.`,
        advice: [NAME_ANOTHER, { words: 'Next: start this one with', command: buildStartCommand(data) }],
      });

/**
 * Reports whether a folder has an instance key but was not created by a development server; a folder that cannot be
 * read counts as an installation.
 */
function isInstallation(folder: string): boolean {
  try {
    const files = readdirSync(folder);
    return files.includes('instance.key') && !files.includes('development');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** Checked before each call: another program at its address must not get its key. */
export const mustRun = (development: Development | undefined) => (): void => {
  if (development?.isRunning() === false) throw notRunning(development);
};

function readFile(file: string): DevFile | undefined {
  try {
    const held = JSON.parse(readFileSync(file, 'utf8')) as Partial<DevFile>;
    const isWhole = typeof held.url === 'string' && typeof held.api_key === 'string' && URL.canParse(held.url);
    return isWhole ? (held as DevFile) : undefined;
  } catch {
    return undefined;
  }
}

/** Process ids are reused, so the start time is compared too; on systems that do not report it, only the id counts. */
function isAlive({ pid, started }: { pid: number; started: string }): boolean {
  if (started !== '') return startedAt(pid) === started;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function startedAt(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may contain spaces; after it come the state and, as the twentieth field, the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
