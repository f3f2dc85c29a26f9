import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { filesBeside, programRoot } from '../src/program-files/index.ts';
import { OperatorFault } from './explain.ts';

/** What install.sh has written beside the program: where its service keeps everything. */
export interface Installation {
  data: string;
  config: string;
  /** Variables of the service that should not stand in its settings; the file may be absent. */
  environment: string;
}

export function findInstallation(): Installation | undefined {
  const file = path.join(programRoot, '.installation.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Installation) : undefined;
}

/** The settings that the service of this data folder has; none where the folder is not the installation's. */
export function settingsOf(dataDir: string): { file?: string; env: NodeJS.ProcessEnv } {
  const installed = findInstallation();
  if (installed?.data !== dataDir) return { env: process.env };
  mustBeReadable(installed.config);
  return { file: installed.config, env: { ...variablesIn(installed.environment), ...process.env } };
}

function mustBeReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return;
    throw new OperatorFault(
      `${file} may be read by root and the account of the service only; run this command with sudo`,
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
 * What root asks for is done as the owner of the data folder, because the server cannot write what belongs to root. Where
 * the kernel forbids the change (a container without the privilege), root is no more than that owner, and stays what it is.
 */
export function becomeOwnerOf(dataDir: string): void {
  if (process.getuid?.() !== 0) return;
  const owner = statSync(dataDir, { throwIfNoEntry: false });
  if (owner === undefined || owner.uid === 0) return;
  try {
    process.setgroups?.([owner.gid]);
    process.setgid?.(owner.gid);
    process.setuid?.(owner.uid);
  } catch (error) {
    if (['EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) return;
    throw error;
  }
  try {
    accessSync(filesBeside, constants.R_OK);
  } catch {
    throw new OperatorFault(
      `${dataDir} belongs to another account (${owner.uid}), which may not read the program in ${programRoot}; install it (install.sh) or move it`,
    );
  }
}

/** The same for a part of the work, after which root is root again. */
export async function asOwnerOf<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  const owner = process.geteuid?.() === 0 ? statSync(dataDir, { throwIfNoEntry: false }) : undefined;
  if (owner === undefined || owner.uid === 0) return work();
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
