import {
  accessSync,
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  type Stats,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { programFile, programRoot } from '../src/program-files/index.ts';
import { OperatorFault } from './explain.ts';

/** Read from the file that install.sh writes next to the program: where its service keeps everything. */
export interface Installation {
  data: string;
  config: string;
  /** Variables of the service that should not be in its settings; the file may be absent. */
  environment: string;
}

export function findInstallation(): Installation | undefined {
  const file = path.join(programRoot, '.installation.json');
  return isOfInstaller(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Installation) : undefined;
}

/** A single file may run from any folder, such as one where everybody may write. */
function isOfInstaller(file: string): boolean {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (!stat?.isFile()) return false;
  return (stat.uid === 0 || stat.uid === process.getuid?.()) && (stat.mode & 0o022) === 0;
}

/** Returns the settings of the service of this data folder; empty if the folder is not the installation's. */
export function findServiceSettings(dataDir: string): { file?: string; env: NodeJS.ProcessEnv } {
  const installed = findInstallation();
  if (installed?.data !== dataDir) return { env: process.env };
  mustBeReadable(installed);
  return { file: installed.config, env: { ...variablesIn(installed.environment), ...process.env } };
}

function mustBeReadable({ config: file, data }: Installation): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return;
    // The service itself, to which no sudo helps.
    const isService = statSync(data, { throwIfNoEntry: false })?.uid === process.getuid?.();
    throw new OperatorFault(
      isService
        ? `${file} cannot be read by the account of the service; let its group read it, as root: chgrp ${process.getgid?.()} ${file} && chmod 640 ${file}; and check the mode of its folder`
        : `${file} can only be read by root and the account of the service; run this command with sudo`,
    );
  }
}

/** The service's own account gets these from systemd, and cannot always read the file. */
function variablesIn(file: string): NodeJS.ProcessEnv {
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch (error) {
    if (['ENOENT', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return {};
    throw error;
  }
}

/**
 * Continues a command of root as the owner of the data folder, because the server cannot write files of root. If the
 * kernel forbids the change (a container without the privilege), root has no more rights than that owner, and remains.
 */
export function becomeFolderOwner(dataDir: string): void {
  if (process.getuid?.() !== 0) return;
  become(dataDir, statSync(dataDir, { throwIfNoEntry: false }));
}

/**
 * Reads a file that another account can rename or replace as that account: a link that it plants on the way to the
 * folder, or in it, leads root to nothing that it could not read itself.
 */
export function becomeFirstOtherOn(folder: string): void {
  if (process.getuid?.() === 0) become(folder, firstOtherOn(folder));
}

/** The first part of the path that is not root's; links that are root's are followed. */
function firstOtherOn(file: string, linksLeft = 40): Stats | undefined {
  const parts = path.resolve(file).split(path.sep).slice(1);
  let at: string = path.sep;
  for (const [n, part] of parts.entries()) {
    at = path.join(at, part);
    const stat = lstatSync(at, { throwIfNoEntry: false });
    if (stat === undefined || stat.uid !== 0) return stat;
    if (!stat.isSymbolicLink()) continue;
    if (linksLeft === 0) throw new OperatorFault(`${file} leads through too many symbolic links`);
    const target = path.resolve(path.dirname(at), readlinkSync(at), ...parts.slice(n + 1));
    return firstOtherOn(target, linksLeft - 1);
  }
  return undefined;
}

/** The account that this process was started with, once it has become another. */
let startedAs: string | null | undefined;

/** Returns the account of the person who typed the command, also after sudo; null if the system has no name for it. */
export function findTyper(): string | null {
  return process.env.SUDO_USER || (startedAs ?? readOwnAccount());
}

function readOwnAccount(): string | null {
  try {
    return os.userInfo().username;
  } catch {
    return null;
  }
}

function become(dataDir: string, owner: Pick<Stats, 'uid' | 'gid'> | undefined): void {
  if (owner === undefined || owner.uid === 0) return;
  startedAs ??= readOwnAccount();
  try {
    process.setgroups?.([owner.gid]);
    process.setgid?.(owner.gid);
    process.setuid?.(owner.uid);
  } catch (error) {
    if (['EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) return;
    throw error;
  }
  try {
    accessSync(programFile, constants.R_OK);
  } catch {
    throw new OperatorFault(
      `${dataDir} belongs to another account (${owner.uid}), which cannot read the program in ${programRoot}; install the program with install.sh, or move it`,
    );
  }
}

/**
 * Makes a new folder as root for the account that owns the data folder, which cannot make it itself in a folder of
 * root. For other accounts, and if the folder is there or cannot be made, the work itself reports what is wrong.
 */
export function makeFolderOfOwner(folder: string, dataDir: string): void {
  const owner = process.getuid?.() === 0 ? statSync(dataDir, { throwIfNoEntry: false }) : undefined;
  if (owner === undefined || owner.uid === 0) return;
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    return;
  }
  // By its descriptor, so that nobody can put a link in its place before it changes hands.
  const opened = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    if (fstatSync(opened).uid === 0 && readdirSync(folder).length === 0) fchownSync(opened, owner.uid, owner.gid);
  } finally {
    closeSync(opened);
  }
}

/** Does a part of the work as the owner of the data folder, after which root is root again. */
export async function runAsFolderOwner<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  const owner = process.geteuid?.() === 0 ? statSync(dataDir, { throwIfNoEntry: false }) : undefined;
  if (owner === undefined || owner.uid === 0) return work();
  startedAs ??= readOwnAccount();
  const groups = process.getgroups?.() ?? [];
  const back = (): void => {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  };
  try {
    process.setgroups?.([owner.gid]);
    process.setegid?.(owner.gid);
    process.seteuid?.(owner.uid);
  } catch (error) {
    back();
    if (!['EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return work();
  }
  try {
    return await work();
  } finally {
    back();
  }
}
