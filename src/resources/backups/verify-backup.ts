import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isoTime } from '../../platform/clock/index.ts';
import { openSnapshot, type Snapshot } from '../../platform/db/index.ts';
import { COPY_FILES, readMark } from '../../platform/installation-mark/index.ts';
import { openSecrets, type SealedColumn, type Secrets } from '../../platform/secrets/index.ts';
import { checkedFiles, readFacts, sha256Of, writeWhole, type BackupFacts, type Verification } from './backup-folder.ts';

/** Of the same kind no more are told. */
const TOLD_MAX = 20;

export interface VerifyOptions {
  sealed: readonly SealedColumn[];
  now: () => number;
}

/**
 * Reads every byte of a backup: files against their checksums, the database against its own structure and the rows that were counted,
 * and every secret with the key beside it. The folder is left as it is, but for the note of what was found.
 */
export async function verifyBackup(folder: string, { sealed, now }: VerifyOptions): Promise<Verification> {
  const facts = readFacts(folder);
  const faults = [...(await faultsOfFiles(folder)), ...faultsOfDatabase(folder, facts, sealed)];
  const found: Verification = { at: isoTime(now()), faults: faults.slice(0, TOLD_MAX) };
  if (faults.length > TOLD_MAX) found.faults.push(`and ${faults.length - TOLD_MAX} more`);
  // On a medium that is read-only, nothing is kept of it.
  await writeWhole(path.join(folder, COPY_FILES.verification), `${JSON.stringify(found)}\n`).catch(() => undefined);
  return found;
}

async function faultsOfFiles(folder: string): Promise<string[]> {
  const list = path.join(folder, COPY_FILES.checksums);
  if (!existsSync(list)) return [`${COPY_FILES.checksums} is missing, so that its files cannot be checked`];
  const faults: string[] = [];
  const expected = new Map<string, string>();
  for (const line of readFileSync(list, 'utf8').split('\n')) {
    const [, hash, name] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
    if (hash !== undefined && name !== undefined) expected.set(name, hash);
    else if (line !== '') faults.push(`${COPY_FILES.checksums} is damaged: it has the line ${JSON.stringify(line)}`);
  }
  const present = new Set(checkedFiles(folder));
  for (const [name, hash] of expected) {
    if (!present.has(name)) faults.push(`${name} is missing`);
    else faults.push(...(await faultOfFile(folder, name, hash)));
  }
  for (const name of present) if (!expected.has(name)) faults.push(`${name} is no file of this backup`);
  return faults;
}

async function faultOfFile(folder: string, name: string, hash: string): Promise<string[]> {
  try {
    const found = await sha256Of(path.join(folder, name));
    return found.hash === hash ? [] : [`${name} is damaged: its content is not what was written`];
  } catch (error) {
    return [`${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`];
  }
}

function faultsOfDatabase(folder: string, facts: BackupFacts | undefined, sealed: readonly SealedColumn[]): string[] {
  if (!facts) return [`${COPY_FILES.facts} is missing or damaged`];
  let snapshot: Snapshot | undefined;
  try {
    snapshot = openSnapshot(path.join(folder, facts.database));
    return [
      ...snapshot.integrityFaults().map((says) => `${facts.database} is damaged: ${says}`),
      ...faultsOfRows(facts, snapshot.rowCounts()),
      ...faultsOfSecrets(folder, snapshot, sealed),
    ];
  } catch (error) {
    return [`${facts.database} cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  } finally {
    snapshot?.close();
  }
}

function faultsOfRows({ database, rows }: BackupFacts, found: Record<string, number>): string[] {
  return [...new Set([...Object.keys(rows), ...Object.keys(found)])]
    .filter((table) => rows[table] !== found[table])
    .map((table) => `${database} has ${found[table] ?? 'no table of'} rows of ${table}, and had ${rows[table] ?? 0}`);
}

function faultsOfSecrets(folder: string, snapshot: Snapshot, columns: readonly SealedColumn[]): string[] {
  let secrets: Secrets;
  try {
    secrets = openSecrets(folder);
  } catch (error) {
    return [`instance.key cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  }
  const faults: string[] = [];
  const installation = snapshot.setting('installation');
  if (installation !== undefined) {
    const id = opened(secrets, {
      sealed: JSON.parse(installation) as string,
      purpose: 'installation id',
      row: 'installation',
    });
    const mark = readMark(folder);
    if (id === undefined) faults.push('instance.key does not open the id of the installation in the database');
    else if (mark !== undefined && mark !== id) faults.push('installation.id is that of another installation');
  }
  for (const { table, column, purpose } of columns) {
    for (const { id, sealed } of snapshot.sealedTexts({ table, column }))
      if (opened(secrets, { sealed, purpose, row: id }) === undefined)
        faults.push(`instance.key does not open ${table}.${column} of ${id}`);
  }
  return faults;
}

function opened(
  secrets: Secrets,
  { sealed, purpose, row }: { sealed: string; purpose: string; row: string },
): string | undefined {
  try {
    return secrets.open(sealed, purpose, row);
  } catch {
    return undefined;
  }
}
