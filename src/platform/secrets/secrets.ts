import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  createHash,
  generateKeyPair,
  type KeyObject,
} from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { formatMode, TOO_OPEN } from './file-modes.ts';

/**
 * Content of `instance.key`, one key a line: the current one first, then `next <key>` while nodes receive the new one,
 * and `former <key>` for each key that is only used to read what it sealed and signed.
 */
export interface InstanceKeys {
  current: Buffer;
  next?: Buffer | undefined;
  former: readonly Buffer[];
}

/** Thrown if the file of the key cannot be used as it is; the message says what to do. */
export class InstanceKeyFault extends Error {
  override readonly name = 'InstanceKeyFault';
}

const KEY_BYTES = 32;

export const instanceKeyPath = (dataDir: string): string => path.join(dataDir, 'instance.key');

export const newInstanceKey = (): Buffer => randomBytes(KEY_BYTES);

/** Returns an id for a key that reveals nothing about it. */
export const computeKeyId = (key: Buffer): string =>
  createHash('sha256').update('rasket key id').update(key).digest('hex').slice(0, 12);

export function createInstanceKey(dataDir: string): void {
  writeKeyFile(instanceKeyPath(dataDir), 'wx', { current: newInstanceKey(), former: [] });
  syncFolder(dataDir);
}

/** Replaces the file as a whole: after a crash it contains either the old keys or the new ones. */
export function writeInstanceKeys(dataDir: string, keys: InstanceKeys): void {
  const file = instanceKeyPath(dataDir);
  try {
    writeKeyFile(`${file}.part`, 'w', keys);
    renameSync(`${file}.part`, file);
  } catch (error) {
    rmSync(`${file}.part`, { force: true });
    throw error;
  }
  syncFolder(dataDir);
}

export function readInstanceKeys(dataDir: string): InstanceKeys {
  const file = instanceKeyPath(dataDir);
  const [first = '', ...rest] = withKeyFile(file, (handle) => readFileSync(handle, 'utf8'))
    .trim()
    .split('\n');
  const keyIn = (text: string): Buffer => {
    const key = Buffer.from(text.trim(), 'base64');
    if (key.length !== KEY_BYTES) throw new Error(`${file} does not hold a ${KEY_BYTES}-byte key in base64`);
    return key;
  };
  const keys: InstanceKeys & { former: Buffer[] } = { current: keyIn(first), former: [] };
  for (const line of rest) {
    const [kind, text = ''] = line.trim().split(/\s+/);
    if (kind === 'next') keys.next = keyIn(text);
    else if (kind === 'former') keys.former.push(keyIn(text));
    else throw new Error(`${file} has a line that is neither a next nor a former key`);
  }
  return keys;
}

/**
 * Protects the key from other accounts: removes their permissions if the file is ours, and refuses the file otherwise.
 * Returns the previous mode if it was changed.
 */
export function closeInstanceKey(dataDir: string): string | undefined {
  const file = instanceKeyPath(dataDir);
  return withKeyFile(file, (handle) => {
    const { mode, uid } = fstatSync(handle);
    if ((mode & TOO_OPEN) === 0) return undefined;
    const was = formatMode(mode);
    const refuse = (why: string): never => {
      throw new InstanceKeyFault(
        `${file} can be used by other accounts (mode ${was}) and ${why}; as root: chown ${ownName()} ${file} && chmod 600 ${file}`,
      );
    };
    if (uid !== process.geteuid?.()) return refuse(`belongs to another one (${uid})`);
    try {
      fchmodSync(handle, 0o600);
    } catch (error) {
      return refuse(`its mode cannot be changed here (${(error as NodeJS.ErrnoException).code})`);
    }
    // Some file systems report success and change nothing.
    if ((fstatSync(handle).mode & TOO_OPEN) !== 0) return refuse('its file system keeps no modes');
    return was;
  });
}

function ownName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return String(process.geteuid?.());
  }
}

/** Opens the file without waiting: a FIFO would block the process until another one writes into it. */
function withKeyFile<T>(file: string, work: (handle: number) => T): T {
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(handle).isFile()) {
      throw new InstanceKeyFault(
        `${file} is no file but a folder, a FIFO or a device; put the key in its place, from a backup or another node`,
      );
    }
    return work(handle);
  } finally {
    closeSync(handle);
  }
}

function writeKeyFile(file: string, flags: 'w' | 'wx', { current, next, former }: InstanceKeys): void {
  const lines = [
    current.toString('base64'),
    ...(next ? [`next ${next.toString('base64')}`] : []),
    ...former.map((key) => `former ${key.toString('base64')}`),
  ];
  const handle = openSync(file, flags, 0o600);
  try {
    writeSync(handle, lines.map((line) => `${line}\n`).join(''));
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** The folder must be synced, or a power failure could lose the key but keep what it sealed. */
function syncFolder(dataDir: string): void {
  const folder = openSync(dataDir, 'r');
  fsyncSync(folder);
  closeSync(folder);
}

export interface Secrets {
  /**
   * Encrypts for storage; the text is bound to its purpose and row, so a sealed value cannot be moved to another place.
   */
  seal(plain: string, purpose: string, row: string): string;
  open(sealed: string, purpose: string, row: string): string;
  /** Returns the id of the key that seals from now on. */
  currentKeyId(): string;
  mac(purpose: string, data: Uint8Array): Buffer;
  /**
   * Same with each other key of the file: for reading what was signed before the key was replaced, never for signing.
   */
  otherMacs(purpose: string): readonly ((data: Uint8Array) => Buffer)[];
  /** Signs with the current key and the next one, as they are in the file now: never with a key that was replaced. */
  currentMacs(purpose: string): readonly ((data: Uint8Array) => Buffer)[];
}

/** A column that holds sealed texts, each bound to the id of its row. */
export interface SealedColumn {
  table: string;
  column: string;
  purpose: string;
}

const DERIVED_BYTES = 32;
/** `v1` was bound to its purpose only and does not name the key that sealed it. */
const OLD_FORMAT = 'v1';
const FORMAT = 'v2';
const CIPHER = 'aes-256-gcm';
/** Set explicitly, because otherwise a truncated tag would be accepted and could be guessed. */
const TAG = { authTagLength: 16 };

export const openSecrets = (dataDir: string): Secrets => createSecrets(() => readInstanceKeys(dataDir));

export const secretsFrom = (instanceKey: Buffer): Secrets =>
  createSecrets(() => ({ current: instanceKey, former: [] }));

/** Returns the id of the key that sealed a text; undefined for the old format. */
export function keyIdIn(sealed: string): string | undefined {
  const [format, keyId] = sealed.split('.');
  return format === FORMAT ? keyId : undefined;
}

interface Key {
  id: string;
  sealing: Buffer;
  mac(purpose: string, data: Uint8Array): Buffer;
}

function createSecrets(load: () => InstanceKeys): Secrets {
  /** The current one first. */
  let keys: Key[] = [];
  let formerIds = new Set<string>();
  let nextId: string | undefined;
  /** A value sealed by the next key was seen: that key is current, whatever this node's file says. */
  let promotedId: string | undefined;
  const known = new Map<string, Key>();
  const keyFrom = (key: Buffer): Key => {
    const id = computeKeyId(key);
    const made = known.get(id) ?? deriveKey(id, key);
    known.set(id, made);
    return made;
  };
  const reload = (): void => {
    const { current, next, former } = load();
    keys = [current, ...(next ? [next] : []), ...former].map(keyFrom);
    nextId = next && computeKeyId(next);
    formerIds = new Set(former.map(computeKeyId));
    if (promotedId !== undefined) promote(promotedId);
  };
  const promote = (id: string): void => {
    promotedId = id;
    if (id !== nextId) return;
    nextId = undefined;
    keys = [...keys.filter((key) => key.id === id), ...keys.filter((key) => key.id !== id)];
  };
  reload();
  const current = (): Key => inForce(keys);
  const find = (id: string): Key | undefined => keys.find((key) => key.id === id);

  /** A process that sees a value sealed by the next key knows that this key is now current. */
  function openingKey(id: string, purpose: string): Key {
    // The file may have been replaced since it was read: by `rasket rekey`, or by a copy from another node.
    if (!find(id)) reload();
    const key = find(id);
    if (!key) throw new Error(`a sealed ${purpose} needs the key ${id}, which this node's instance.key does not hold`);
    if (id === nextId) promote(id);
    return key;
  }

  return {
    seal(plain, purpose, row) {
      // Rarely called, and must never use a key that was replaced meanwhile.
      reload();
      return sealWith(current(), plain, { purpose, row });
    },
    open(sealed, purpose, row) {
      const [format, ...parts] = sealed.split('.');
      if (format === FORMAT) {
        const [id, nonce, body] = parts;
        if (!id || !nonce || !body) throw unknownFormat(purpose);
        return decrypt(openingKey(id, purpose).sealing, { nonce, body, aad: boundTo(id, purpose, row) });
      }
      const [nonce, body] = parts;
      if (format !== OLD_FORMAT || !nonce || !body) throw unknownFormat(purpose);
      return firstThatOpens(keys, (key) => decrypt(key.sealing, { nonce, body, aad: Buffer.from(purpose) }));
    },
    currentKeyId: () => current().id,
    mac: (purpose, data) => current().mac(purpose, data),
    otherMacs: (purpose) => keys.slice(1).map((key) => (data) => key.mac(purpose, data)),
    currentMacs(purpose) {
      reload();
      return keys.filter(({ id }) => !formerIds.has(id)).map((key) => (data) => key.mac(purpose, data));
    },
  };
}

function inForce([key]: readonly Key[]): Key {
  if (!key) throw new Error('no key is in force');
  return key;
}

function deriveKey(id: string, key: Buffer): Key {
  const derive = (use: string): Buffer => Buffer.from(hkdfSync('sha256', key, '', `rasket ${use}`, DERIVED_BYTES));
  const macKeys = new Map<string, KeyObject>();
  return {
    id,
    sealing: derive('seal'),
    mac(purpose, data) {
      const macKey = macKeys.get(purpose) ?? createSecretKey(derive(`mac ${purpose}`));
      macKeys.set(purpose, macKey);
      return createHmac('sha256', macKey).update(data).digest();
    },
  };
}

function sealWith({ id, sealing }: Key, plain: string, { purpose, row }: { purpose: string; row: string }): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv(CIPHER, sealing, nonce, TAG).setAAD(boundTo(id, purpose, row));
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return [FORMAT, id, nonce.toString('base64'), body.toString('base64')].join('.');
}

/** Encoded as JSON, so that no two places result in the same text. */
const boundTo = (keyId: string, purpose: string, row: string): Buffer =>
  Buffer.from(JSON.stringify([FORMAT, keyId, purpose, row]));

function decrypt(key: Buffer, { nonce, body, aad }: { nonce: string; body: string; aad: Buffer }): string {
  const bytes = Buffer.from(body, 'base64');
  const decipher = createDecipheriv(CIPHER, key, Buffer.from(nonce, 'base64'), TAG)
    .setAAD(aad)
    .setAuthTag(bytes.subarray(-TAG.authTagLength));
  return decipher.update(bytes.subarray(0, -TAG.authTagLength), undefined, 'utf8') + decipher.final('utf8');
}

function firstThatOpens(keys: readonly Key[], open: (key: Key) => string): string {
  let failure: unknown;
  for (const key of keys) {
    try {
      return open(key);
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

const unknownFormat = (purpose: string): Error => new Error(`a sealed ${purpose} has an unknown format`);

const generate = promisify(generateKeyPair);

/** Generates a new private key off the event loop. */
export async function makeRsaKey(bits: number): Promise<KeyObject> {
  return (await generate('rsa', { modulusLength: bits })).privateKey;
}
