import { existsSync } from 'node:fs';
import path from 'node:path';
import { isSingleFile, programRoot } from '../../src/program-files/index.ts';

/** The programs that can speak to the keyring of the desktop, the preferred one first. */
export const KEYRINGS = ['keytar', 'secret-service'] as const;
export type KeyringName = (typeof KEYRINGS)[number];

export interface KeyringAsk {
  verb: 'get' | 'set' | 'remove' | 'look';
  /** Identifies an entry: the path of the file that refers to it. */
  account: string;
  secret?: string;
  /** Use only this one; otherwise the first that works, or all of them to remove an entry. */
  from?: KeyringName;
}

export interface KeyringAnswer {
  /** The keyring that did it. */
  by?: KeyringName;
  /** null: there is no such entry. */
  secret?: string | null;
  /** The reason why each preferred store, or all, failed. */
  why: Partial<Record<KeyringName | 'keyring', string>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const NO_SESSION = 'there is no D-Bus session here';
export const NOT_CARRIED =
  'the single executable does not include keytar and @napi-rs/keyring, which give access to one';

/** A keyring that has to be opened asks for its password on a screen. */
const PATIENCE_MS = 5000;
const PATIENCE_AT_A_SCREEN_MS = 30_000;

/**
 * Calls the keyring in a separate process. A keyring that does not respond blocks a thread that nobody can stop, and
 * with it the exit of its process; this one is killed when its time is over.
 */
export function askKeyring(env: Environment, ask: KeyringAsk): KeyringAnswer {
  if (isSingleFile) return { why: { keyring: NOT_CARRIED } };
  if (!hasSession(env)) return { why: { keyring: NO_SESSION } };
  const patience = env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? PATIENCE_AT_A_SCREEN_MS : PATIENCE_MS;
  // Loaded here: most commands have their key from elsewhere.
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const ended = spawnSync(process.execPath, [path.join(programRoot, 'cli/client/keyring-process.ts')], {
    input: JSON.stringify(ask),
    encoding: 'utf8',
    timeout: patience,
    killSignal: 'SIGKILL',
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...env },
  });
  if (ended.error && 'code' in ended.error && ended.error.code === 'ETIMEDOUT') {
    return { why: { keyring: `the keyring did not answer within ${patience / 1000} s` } };
  }
  try {
    return JSON.parse(ended.stdout) as KeyringAnswer;
  } catch {
    return { why: { keyring: 'the program that talks to the keyring crashed' } };
  }
}

/** Without a session bus no keyring can be called, so no process is started. */
function hasSession(env: Environment): boolean {
  if (env['DBUS_SESSION_BUS_ADDRESS']) return true;
  return Boolean(env['XDG_RUNTIME_DIR']) && existsSync(path.join(env['XDG_RUNTIME_DIR'] ?? '', 'bus'));
}

export const isKeyring = (name: unknown): name is KeyringName => KEYRINGS.includes(name as KeyringName);

const SHOWN: Record<KeyringName, string> = {
  keytar: 'the keyring (keytar)',
  'secret-service': 'the keyring (Secret Service)',
};
export const nameOfKeyring = (name: KeyringName): string => SHOWN[name];

/** Says where a key is stored, and why not in a better place. */
export function describeStore(file: string, { by, why }: Pick<KeyringAnswer, 'by' | 'why'>): string {
  const because = formatReasons(why);
  if (by === undefined) return `${file}; not in a keyring, because ${because}`;
  return because === '' ? nameOfKeyring(by) : `${nameOfKeyring(by)}; ${because}`;
}

/** Formats the reasons as a part of a sentence. */
export const formatReasons = (why: KeyringAnswer['why']): string =>
  Object.entries(why)
    .map(([name, text]) => (name === 'keyring' ? text : `${name}: ${text}`))
    .join('; ');
