import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { toShard } from '../../../platform/blobs/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import { openSnapshot, type Snapshot } from '../../../platform/db/index.ts';
import { COPY_FILES, readMark } from '../../../platform/installation-mark/index.ts';
import { readDump } from '../../../platform/pg-programs.ts';
import { openSecrets, type SealedColumn, type Secrets } from '../../../platform/secrets/index.ts';
import {
  checkedFiles,
  readFacts,
  hashFile,
  strangeEntries,
  writeWhole,
  type BackupFacts,
  type Verification,
} from './backup-folder.ts';

/** Checks that the key of a backup opens the sealed values of its database. */
interface SecretsCheck {
  /** The sealed columns of each table. */
  columns: ReadonlyMap<string, readonly string[]>;
  /** Checks the value of the setting as it is stored. */
  installation(value: string): void;
  sealedText(text: { table: string; column: string; id: string; sealed: string }): void;
  faults(): readonly string[];
}

const INSTALLATION = { purpose: 'installation id', row: 'installation' };

function createSecretsCheck(folder: string, sealed: readonly SealedColumn[]): SecretsCheck {
  const faults: string[] = [];
  const secrets = secretsIn(folder, faults);
  const purposes = new Map(sealed.map(({ table, column, purpose }) => [`${table}.${column}`, purpose]));
  const tables = Map.groupBy(sealed, ({ table }) => table);

  function opened(text: { sealed: string; purpose: string; row: string }): string | undefined {
    try {
      return secrets?.open(text.sealed, text.purpose, text.row);
    } catch {
      return undefined;
    }
  }

  return {
    columns: new Map([...tables].map(([table, columns]) => [table, columns.map(({ column }) => column)])),
    installation(value) {
      if (!secrets) return;
      const id = opened({ ...INSTALLATION, sealed: JSON.parse(value) as string });
      const mark = readMark(folder);
      if (id === undefined) faults.push('instance.key does not open the id of the installation in the database');
      else if (mark !== undefined && mark !== id) faults.push('installation.id is that of another installation');
    },
    sealedText({ table, column, id, sealed: text }) {
      const purpose = purposes.get(`${table}.${column}`);
      if (!secrets || purpose === undefined) return;
      if (opened({ sealed: text, purpose, row: id }) === undefined)
        faults.push(`instance.key does not open ${table}.${column} of ${id}`);
    },
    faults: () => faults,
  };
}

function secretsIn(folder: string, faults: string[]): Secrets | undefined {
  try {
    return openSecrets(folder);
  } catch (error) {
    faults.push(`instance.key cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** Maximum number of faults of one kind that are reported. */
const TOLD_MAX = 20;

interface Contents {
  contents: ContentsCheck;
}

const DAMAGED_MAX = 1000;

/** Compares contents with the hashes from when they were stored: a file may be a faithful copy of damaged content. */
class ContentsCheck {
  readonly #hashes = new Map<string, string>();
  /** Names of the files that differ. */
  readonly damaged: string[] = [];

  /** Records the hash of a file of the backup, if the file is unchanged since it was written. */
  note(file: string, hash: string): void {
    this.#hashes.set(file, hash);
  }

  compare({ owner_id: owner, name, sha256 }: Readonly<Record<string, string | null | undefined>>): void {
    if (!owner || !name || !sha256) return;
    const file = `blobs/${toShard(owner)}/${owner}/${name}`;
    const found = this.#hashes.get(file);
    // Content that was removed during the backup is missing from it, which is not a fault.
    if (found !== undefined && found !== sha256 && this.damaged.length < DAMAGED_MAX) this.damaged.push(file);
  }
}

interface VerifyOptions {
  sealed: readonly SealedColumn[];
  /** Folder of the PostgreSQL client programs; empty for those of the system. */
  programs: string;
  now: () => number;
  signal?: AbortSignal;
}

/**
 * Reads every byte of a backup: compares files with their checksums, checks the structure of the database and the row
 * counts, and opens every secret with the key in the backup. Changes nothing in the folder except the verification
 * result.
 */
export async function verifyBackup(folder: string, options: VerifyOptions): Promise<Verification> {
  const faults = strangeEntries(folder).map(
    (name) => `${name} is a link or a device, and no file of a backup: nothing of it was read`,
  );
  // An account that planted these entries may have planted more, so nothing in the folder is read.
  const contents = new ContentsCheck();
  if (faults.length === 0) {
    faults.push(...(await faultsOfFiles(folder, contents)));
    faults.push(...(await faultsOfDatabase(folder, readFacts(folder), { ...options, contents })));
  }
  const { damaged } = contents;
  const found: Verification = { at: isoTime(options.now()), faults: faults.slice(0, TOLD_MAX), damaged };
  if (faults.length > TOLD_MAX) found.faults.push(`and ${faults.length - TOLD_MAX} more`);
  // The result cannot be stored on a read-only medium.
  await writeWhole(path.join(folder, COPY_FILES.verification), `${JSON.stringify(found)}\n`).catch(() => undefined);
  return found;
}

/** Checks the files and records the SHA-256 of each unchanged one in `contents`. */
async function faultsOfFiles(folder: string, contents: ContentsCheck): Promise<string[]> {
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
    else {
      const found = await faultOfFile(folder, name, hash);
      faults.push(...found);
      if (found.length === 0) contents.note(name, hash);
    }
  }
  for (const name of present) if (!expected.has(name)) faults.push(`${name} is no file of this backup`);
  return faults;
}

async function faultOfFile(folder: string, name: string, hash: string): Promise<string[]> {
  try {
    const found = await hashFile(path.join(folder, name));
    return found.hash === hash ? [] : [`${name} is damaged: its content is not what was written`];
  } catch (error) {
    return [`${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`];
  }
}

async function faultsOfDatabase(
  folder: string,
  facts: BackupFacts | undefined,
  options: VerifyOptions & Contents,
): Promise<string[]> {
  if (!facts) return [`${COPY_FILES.facts} is missing or damaged`];
  const check = createSecretsCheck(folder, options.sealed);
  try {
    const found = facts.dump
      ? await faultsOfDump(folder, facts, { ...options, check })
      : faultsOfFile(folder, facts, { ...options, check });
    return [...found, ...check.faults()];
  } catch (error) {
    // A missing addon says nothing about the backup.
    if (error instanceof Error && error.name === 'AddonFault') throw error;
    return [`${facts.database} cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** Checks a SQLite database. */
function faultsOfFile(
  folder: string,
  facts: BackupFacts,
  { check, contents }: Contents & { check: SecretsCheck },
): string[] {
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
    for (const row of snapshot.readRows(FILES, FILE_COLUMNS)) contents.compare(row);
    return [...faults, ...faultsOfRows(facts, snapshot.rowCounts())];
  } finally {
    snapshot?.close();
  }
}

/** Checks a PostgreSQL dump: pg_restore writes it out as it would into a database, and every row is read. */
async function faultsOfDump(
  folder: string,
  facts: BackupFacts,
  { programs, signal, check, contents }: VerifyOptions & Contents & { check: SecretsCheck },
): Promise<string[]> {
  const settings = 'instance_settings';
  const file = path.join(folder, facts.database);
  const counts = await readDump(
    { file, programs, signal, namespace: facts.dump?.namespace ?? '' },
    {
      listColumns(table) {
        if (table === FILES) return FILE_COLUMNS;
        return table === settings ? ['name', 'value'] : idAnd(check.columns.get(table) ?? []);
      },
      onRow(table, row) {
        if (table === FILES) contents.compare(row);
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

const FILES = 'content_files';
const FILE_COLUMNS = ['owner_id', 'name', 'sha256'];

const idAnd = (columns: readonly string[]): readonly string[] => (columns.length === 0 ? [] : ['id', ...columns]);

function faultsOfRows({ database, rows }: BackupFacts, found: Record<string, number>): string[] {
  return [...new Set([...Object.keys(rows), ...Object.keys(found)])]
    .filter((table) => rows[table] !== found[table])
    .map((table) => `${database} has ${found[table] ?? 'no table of'} rows of ${table}, and had ${rows[table] ?? 0}`);
}
