import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
  realpathSync,
} from 'node:fs';
import path from 'node:path';
import { isSingleFile, readProgramFile } from './places.ts';

/** Throws unless only this account, or root, can change the content of the folder. Code is loaded from nowhere else. */
export function mustBeOurs(folder: string): void {
  const stat = lstatSync(folder);
  const account = process.getuid?.();
  if (!stat.isDirectory()) throw new Error('it is not a folder, or it is a link');
  if (stat.uid !== account) throw new Error('it belongs to another account');
  if ((stat.mode & 0o022) !== 0) throw new Error('others may write there');
  mustBeOursAbove(realpathSync(folder), account);
}

/** The owner that the system shows for a file of an account unknown in the container. */
const UNKNOWN_ACCOUNT = 65_534;

/** An account that may rename a parent folder can replace this one. Root trusts only itself. */
function mustBeOursAbove(folder: string, account: number): void {
  const trusted = account === 0 ? [0] : [0, account, UNKNOWN_ACCOUNT];
  for (let above = path.dirname(folder); ; above = path.dirname(above)) {
    const { uid, mode } = lstatSync(above);
    const isSticky = (mode & 0o1000) !== 0;
    if (!trusted.includes(uid) || ((mode & 0o002) !== 0 && !isSticky))
      throw new Error(`it is in ${above}, which is not ${account === 0 ? "root's" : "this account's or root's"} alone`);
    if (above === path.dirname(above)) return;
  }
}

const ADDON = 'better_sqlite3.node';
/** Environment data by which threads of this process learn which file was loaded. */
const LOADED = 'rasket addon';
const MODE = 0o500;

/** The message says what the operator has to do. */
class AddonFault extends Error {
  override readonly name = 'AddonFault';
}

/** Loaded with the addon only: for a command over the API it would be a tenth of its start. */
const crypto = () => process.getBuiltinModule('node:crypto');
const threads = () => process.getBuiltinModule('node:worker_threads');

const offered: string[] = [];

/** Provides a folder of ours, such as the data folder, in case there is no cache folder to write to. */
export function offerFolder(folder: string): void {
  if (isSingleFile && !offered.includes(folder)) offered.push(folder);
}

/**
 * Loads the database's addon. The system loads code from files only, so the single-file executable writes it once,
 * named after its content, to a place that only this account can write; it is read and compared before each load, and
 * replaced if it differs.
 */
export function loadAddon(): object {
  const told = threads().getEnvironmentData(LOADED);
  // The system has loaded it under this name already, and opens no file for it.
  if (typeof told === 'string') return load(told);
  const bytes = readProgramFile(ADDON);
  const name = `better_sqlite3-${sha256(bytes).slice(0, 32)}.node`;
  return asRealAccount(() => {
    const refusals: string[] = [];
    for (const folder of candidates()) {
      try {
        const file = placeIn(folder, name, bytes);
        const addon = load(file);
        threads().setEnvironmentData(LOADED, file);
        return addon;
      } catch (error) {
        refusals.push(`${folder}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    throw new AddonFault(
      `the database's addon could be written and loaded nowhere; give it a folder of this account, on a file system without noexec, by XDG_CACHE_HOME (${refusals.join('; ') || 'no folder is known'})`,
    );
  });
}

/**
 * Root may act as the owner of the data and become root again. Such a process must not load code that this owner can
 * write, because it could be changed between the comparison and the load, and after it.
 */
function asRealAccount<T>(work: () => T): T {
  const real = process.getuid?.();
  const acting = process.geteuid?.();
  if (real === undefined || acting === undefined || real === acting) return work();
  process.seteuid?.(real);
  try {
    return work();
  } finally {
    process.seteuid?.(acting);
  }
}

function* candidates(): Iterable<string> {
  const { CACHE_DIRECTORY: service, XDG_CACHE_HOME: cache, HOME: home } = process.env;
  if (service) yield service.split(':')[0] ?? service;
  else if (cache) yield path.join(cache, 'rasket');
  const own = home || homeOfAccount();
  if (own) yield path.join(own, '.cache', 'rasket');
  yield* offered;
}

/** Returns undefined for an account that the system does not know. */
function homeOfAccount(): string | undefined {
  try {
    return process.getBuiltinModule('node:os').userInfo().homedir;
  } catch {
    return undefined;
  }
}

function load(file: string): object {
  const module = { exports: {} };
  process.dlopen(module, file);
  return module.exports;
}

function placeIn(folder: string, name: string, bytes: Buffer): string {
  if (!path.isAbsolute(folder)) throw new Error('it is not an absolute path');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  mustBeOurs(folder);
  const file = path.join(folder, name);
  if (!isSound(file, bytes)) write(folder, file, bytes);
  return file;
}

function isSound(file: string, bytes: Buffer): boolean {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    const stat = fstatSync(fd);
    const isOurs = stat.isFile() && stat.uid === process.getuid?.() && (stat.mode & 0o7777) === MODE;
    return isOurs && stat.size === bytes.length && readFileSync(fd).equals(bytes);
  } finally {
    closeSync(fd);
  }
}

/** The file gets its final name when it is complete and on disk. */
function write(folder: string, file: string, bytes: Buffer): void {
  const draft = `${file}.${crypto().randomBytes(8).toString('hex')}`;
  try {
    const fd = openSync(draft, 'wx', 0o600);
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
      fchmodSync(fd, MODE);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    // Somebody may have created a folder with that name, which a file cannot replace.
    if (lstatSync(file, { throwIfNoEntry: false })?.isDirectory()) rmSync(file, { recursive: true });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  const parent = openSync(folder, 'r');
  try {
    fsyncSync(parent);
  } finally {
    closeSync(parent);
  }
}

const sha256 = (bytes: Buffer): string => crypto().createHash('sha256').update(bytes).digest('hex');
