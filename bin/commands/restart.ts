/** Restarts the processes of a running server one after the other, so that its ports stay open. */
import { setTimeout as pause } from 'node:timers/promises';
import { OperatorFault } from '../explain.ts';
import { becomeFolderOwner } from '../installation.ts';
import { dataFolder, mustBeInitialised, readConfig, type DataOptions } from './open.ts';
import { readRunningGroup, type RunningGroup } from './ready-file.ts';

const POLL_MS = 200;

export async function restart(options: DataOptions): Promise<void> {
  const dataDir = dataFolder(options);
  mustBeInitialised(dataDir);
  // Settings with a fault would let the first new process fail; this names the fault here.
  readConfig(options, { isServing: true });
  becomeFolderOwner(dataDir);
  const before = readRunningGroup(dataDir);
  if (!before) throw new OperatorFault(`no server runs on ${dataDir}`, 'unreachable');
  if (!before.processes) {
    throw new OperatorFault(
      'the server is one process, and its ports are closed while it restarts; restart the service: systemctl restart rasket',
    );
  }
  process.kill(before.pid, 'SIGUSR2');
  const after = await waitForRestart(dataDir, before);
  if (after.restart_failed !== undefined) {
    throw new OperatorFault(`${after.restart_failed}; the processes before it continue. The log has the reason`);
  }
  console.log(`Restarted ${after.processes?.length} processes.`);
}

async function waitForRestart(dataDir: string, before: RunningGroup): Promise<RunningGroup> {
  for (;;) {
    const now = readRunningGroup(dataDir);
    if (now?.pid !== before.pid) throw new OperatorFault('the server has stopped meanwhile');
    if (now.restarts !== before.restarts) return now;
    await pause(POLL_MS);
  }
}
