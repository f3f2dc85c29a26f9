import { createHash, randomBytes } from 'node:crypto';
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
} from 'node:fs';
import path from 'node:path';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { isSingleFile } from './places.ts';
import { readProgramFile } from './read.ts';

const ADDON = 'better_sqlite3.node';
/** Told to the threads of this process: where it was loaded from. */
const FOLDER = 'rasket addon folder';
const MODE = 0o500;

const offered: string[] = [];

/** A folder of ours, such as that of the data, in case there is no cache folder to write to. */
export function offerFolder(folder: string): void {
  if (isSingleFile && !offered.includes(folder)) offered.push(folder);
}

/**
 * The database's addon. The system loads code from files only, so a single file writes it down once, where only this account
 * can write, named after its content; it is read and compared before each load, and replaced where it is not what it should be.
 */
export function loadAddon(): object {
  const bytes = readProgramFile(ADDON);
  const name = `better_sqlite3-${sha256(bytes).slice(0, 32)}.node`;
  const refusals: string[] = [];
  for (const folder of candidates()) {
    try {
      const addon = load(placeIn(folder, name, bytes));
      setEnvironmentData(FOLDER, folder);
      return addon;
    } catch (error) {
      refusals.push(`${folder}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(
    `the database's addon could be written and loaded nowhere; give it a folder of this account, on a file system without noexec, by XDG_CACHE_HOME (${refusals.join('; ') || 'no folder is known'})`,
  );
}

function* candidates(): Iterable<string> {
  const told = getEnvironmentData(FOLDER);
  if (typeof told === 'string') yield told;
  const { CACHE_DIRECTORY: service, XDG_CACHE_HOME: cache, HOME: home } = process.env;
  if (service) yield service.split(':')[0] ?? service;
  else if (cache) yield path.join(cache, 'rasket');
  else if (home) yield path.join(home, '.cache', 'rasket');
  yield* offered;
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

function mustBeOurs(folder: string): void {
  const stat = lstatSync(folder);
  if (!stat.isDirectory()) throw new Error('it is no folder, or a link to one');
  if (stat.uid !== process.geteuid?.()) throw new Error('it belongs to another account');
  if ((stat.mode & 0o022) !== 0) throw new Error('others may write there');
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
    const isOurs = stat.isFile() && stat.uid === process.geteuid?.() && (stat.mode & 0o7777) === MODE;
    return isOurs && stat.size === bytes.length && readFileSync(fd).equals(bytes);
  } finally {
    closeSync(fd);
  }
}

/** It has its name when it is whole and on disk. */
function write(folder: string, file: string, bytes: Buffer): void {
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    const fd = openSync(draft, 'wx', 0o600);
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
      fchmodSync(fd, MODE);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    // A folder may have been planted under the name, which no file can replace.
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

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
