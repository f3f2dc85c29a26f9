/** The service that systemd runs, where it does; elsewhere its command is said. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { onSameFolder, type DataOptions } from '../commands/open.ts';
import { runningPid, runningUrl } from '../commands/ready-file.ts';
import { executable } from '../../src/program-files/index.ts';
import { findInstallation } from '../installation.ts';
import type { Asker } from './asking.ts';

export interface Service {
  /** Whether systemd holds it. */
  isManaged: boolean;
  dataDir: string;
  options: DataOptions;
}

export const findService = (dataDir: string, options: DataOptions): Service => ({
  isManaged: existsSync('/run/systemd/system') && findInstallation()?.data === dataDir,
  dataDir,
  options,
});

export interface Wish {
  /** Its settings are others than those it runs with. */
  isChanged: boolean;
  /** Undefined asks. */
  start: boolean | undefined;
}

const READY_MS = 60_000;
const LOOK_MS = 200;

/** Answers whether a server runs with the settings as they are now. */
export async function bringUp(service: Service, asker: Asker, { isChanged, start }: Wish): Promise<boolean> {
  const { dataDir, options, isManaged } = service;
  const isRunning = runningPid(dataDir) !== undefined;
  if (isRunning && !isChanged) return true;
  const verb = isRunning ? 'restart' : 'enable --now';
  const command = isManaged ? `systemctl ${verb} rasket` : await onSameFolder('rasket serve', options);
  if (!isManaged) {
    asker.tell(
      isRunning
        ? `A server runs with the settings of before. Stop it and start it again: ${command}`
        : `No systemd runs here. Start the server with: ${command}`,
    );
    return false;
  }
  const isWanted = start ?? (asker.isInteractive ? await asker.agree(`Run ${command}?`) : false);
  if (!isWanted) {
    asker.tell(`Not done: ${command}`);
    return false;
  }
  return started(service, asker, command, isRunning ? runningPid(dataDir) : undefined);
}

async function started({ dataDir }: Service, asker: Asker, command: string, before: number | undefined) {
  const { status } = spawnSync('/bin/sh', ['-c', command], { stdio: ['ignore', 'inherit', 'inherit'] });
  const isUp = status === 0 && (await within(READY_MS, () => isNew(runningPid(dataDir), before)));
  const address = runningUrl(dataDir);
  asker.tell(
    isUp
      ? `The service runs${address === undefined ? '' : `: ${address}`}.`
      : `${command} did not bring it up. Look at: journalctl -u rasket -n 20`,
  );
  return isUp;
}

const isNew = (pid: number | undefined, before: number | undefined): boolean => pid !== undefined && pid !== before;

/** Looks again until it is so. */
async function within(ms: number, isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  const end = Date.now() + ms;
  for (;;) {
    if (await isSo()) return true;
    if (Date.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** Another command of this program, on the same folder, with its output where ours goes; answers how it ended. */
export function runRasket(words: readonly string[], env: NodeJS.ProcessEnv): number {
  return spawnSync(executable, [...words], { stdio: ['ignore', 'inherit', 'inherit'], env }).status ?? 1;
}
