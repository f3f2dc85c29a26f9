import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../../platform/config/index.ts';
import { readFacts, readVerification, type BackupFacts, type Verification } from './backup-folder.ts';

/** The names that are given by time; a folder with another name is never removed. */
const NAME = /^rasket-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/;

export interface KeptBackup {
  folder: string;
  facts: BackupFacts;
  verification: Verification | undefined;
}

export const backupsFolder = ({ config, dataDir }: { config: Pick<Config, 'backup'>; dataDir: string }): string =>
  path.resolve(dataDir, config.backup.directory);

/** `rasket-2026-11-26T03-30-00Z`: in the order of time, and a name on every file system. */
export const backupName = (madeAt: number): string =>
  `rasket-${new Date(madeAt).toISOString().slice(0, 19).replaceAll(':', '-')}Z`;

/** All backups in a folder, by schedule, upgrade or command, the newest first. */
export function listBackups(directory: string): KeptBackup[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.endsWith('.part'))
    .flatMap((entry) => {
      const folder = path.join(directory, entry.name);
      const facts = readFacts(folder);
      return facts ? [{ folder, facts, verification: readVerification(folder) }] : [];
    })
    .sort((a, b) => Date.parse(b.facts.made_at) - Date.parse(a.facts.made_at));
}

/**
 * Removes what is older than the newest `keep` that were found whole, of this installation and with a name of ours. What was never verified,
 * or found damaged, counts for nothing and goes by its age. What is dated behind the one that was just made is of a clock that was ahead:
 * it would count as the newest for ever, and stays for the operator to judge. Answers the folders.
 */
export function removeOlder(
  directory: string,
  { keep, installation, madeAt }: { keep: number; installation: string | null; madeAt: number },
): string[] {
  if (installation === null) return [];
  const own = listBackups(directory).filter(
    ({ folder, facts }) =>
      NAME.test(path.basename(folder)) && facts.installation === installation && Date.parse(facts.made_at) <= madeAt,
  );
  const whole = own.filter(({ verification }) => verification?.faults.length === 0);
  const last = whole[keep - 1];
  if (!last) return [];
  const oldest = Date.parse(last.facts.made_at);
  const gone = own.filter(({ facts }) => Date.parse(facts.made_at) < oldest).map(({ folder }) => folder);
  for (const folder of gone) rmSync(folder, { recursive: true, force: true });
  return gone;
}

/** Where one grows: other installations may keep theirs in the same folder, and be at it in the same second. */
export const halfMade = (folder: string, installation: string): string => `${folder}.${installation}.part`;

/** What a process of this installation left that was killed in the middle of one. */
export function removeHalfMade(directory: string, installation: string): void {
  if (!existsSync(directory)) return;
  const end = halfMade('', installation);
  for (const name of readdirSync(directory))
    if (name.endsWith(end) && NAME.test(name.slice(0, -end.length)))
      rmSync(path.join(directory, name), { recursive: true, force: true });
}
