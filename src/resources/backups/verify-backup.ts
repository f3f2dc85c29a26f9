import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isoTime } from '../../platform/clock/index.ts';
import { openSnapshot, type Snapshot } from '../../platform/db/index.ts';
import { COPY_FILES } from '../../platform/installation-mark/index.ts';
import { readDump } from '../../platform/pg-programs/index.ts';
import type { SealedColumn } from '../../platform/secrets/index.ts';
import {
  checkedFiles,
  readFacts,
  sha256Of,
  strangeEntries,
  writeWhole,
  type BackupFacts,
  type Verification,
} from './backup-folder.ts';
import { createSecretsCheck, type SecretsCheck } from './secrets-check.ts';

/** Of the same kind no more are told. */
const TOLD_MAX = 20;

export interface VerifyOptions {
  sealed: readonly SealedColumn[];
  /** The folder of PostgreSQL's own programs; empty for those that the system has. */
  programs: string;
  now: () => number;
  signal?: AbortSignal;
}

/**
 * Reads every byte of a backup: files against their checksums, the database against its own structure and the rows that were counted,
 * and every secret with the key beside it. The folder is left as it is, but for the note of what was found.
 */
export async function verifyBackup(folder: string, options: VerifyOptions): Promise<Verification> {
  const faults = strangeEntries(folder).map(
    (name) => `${name} is a link or a device, and no file of a backup: nothing of it was read`,
  );
  // An account that planted these may have planted more: nothing of the folder is read.
  if (faults.length === 0)
    faults.push(...(await faultsOfFiles(folder)), ...(await faultsOfDatabase(folder, readFacts(folder), options)));
  const found: Verification = { at: isoTime(options.now()), faults: faults.slice(0, TOLD_MAX) };
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

async function faultsOfDatabase(
  folder: string,
  facts: BackupFacts | undefined,
  options: VerifyOptions,
): Promise<string[]> {
  if (!facts) return [`${COPY_FILES.facts} is missing or damaged`];
  const check = createSecretsCheck(folder, options.sealed);
  try {
    const found = facts.dump
      ? await faultsOfDump(folder, facts, { ...options, check })
      : faultsOfFile(folder, facts, check);
    return [...found, ...check.faults()];
  } catch (error) {
    // That says nothing of the backup.
    if (error instanceof Error && error.name === 'AddonFault') throw error;
    return [`${facts.database} cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** SQLite's. */
function faultsOfFile(folder: string, facts: BackupFacts, check: SecretsCheck): string[] {
  let snapshot: Snapshot | undefined;
  try {
    snapshot = openSnapshot(path.join(folder, facts.database));
    const faults = snapshot.integrityFaults().map((says) => `${facts.database} is damaged: ${says}`);
    for (const [table, columns] of check.columns)
      for (const column of columns)
        for (const { id, sealed } of snapshot.sealedTexts({ table, column }))
          check.sealedText({ table, column, id, sealed });
    const installation = snapshot.setting('installation');
    if (installation !== undefined) check.installation(installation);
    return [...faults, ...faultsOfRows(facts, snapshot.rowCounts())];
  } finally {
    snapshot?.close();
  }
}

/** PostgreSQL's: pg_restore writes all of it out as it would into a database, and each row is looked at. */
async function faultsOfDump(
  folder: string,
  facts: BackupFacts,
  { programs, signal, check }: VerifyOptions & { check: SecretsCheck },
): Promise<string[]> {
  const settings = 'instance_settings';
  const file = path.join(folder, facts.database);
  const counts = await readDump(
    { file, programs, signal, namespace: facts.dump?.namespace ?? '' },
    {
      columnsOf: (table) => (table === settings ? ['name', 'value'] : idAnd(check.columns.get(table) ?? [])),
      onRow(table, row) {
        if (table === settings && row.name === 'installation' && row.value !== undefined) check.installation(row.value);
        for (const column of check.columns.get(table) ?? []) {
          const sealed = row[column];
          if (sealed !== undefined) check.sealedText({ table, column, id: row.id ?? '', sealed });
        }
      },
    },
  );
  return faultsOfRows(facts, counts);
}

const idAnd = (columns: readonly string[]): readonly string[] => (columns.length === 0 ? [] : ['id', ...columns]);

function faultsOfRows({ database, rows }: BackupFacts, found: Record<string, number>): string[] {
  return [...new Set([...Object.keys(rows), ...Object.keys(found)])]
    .filter((table) => rows[table] !== found[table])
    .map((table) => `${database} has ${found[table] ?? 'no table of'} rows of ${table}, and had ${rows[table] ?? 0}`);
}
