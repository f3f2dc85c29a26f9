import { readMark } from '../../../platform/installation-mark/index.ts';
import { openSecrets, type SealedColumn, type Secrets } from '../../../platform/secrets/index.ts';

/** Whether the key of a backup opens what its database has sealed. */
export interface SecretsCheck {
  /** The sealed columns of each table. */
  columns: ReadonlyMap<string, readonly string[]>;
  /** The value of the setting, as it is stored. */
  installation(value: string): void;
  sealedText(text: { table: string; column: string; id: string; sealed: string }): void;
  faults(): readonly string[];
}

const INSTALLATION = { purpose: 'installation id', row: 'installation' };

export function createSecretsCheck(folder: string, sealed: readonly SealedColumn[]): SecretsCheck {
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
