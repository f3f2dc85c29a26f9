import {
  createOperator,
  findOperator,
  listOperators,
  revokeOperator,
  type OperatorRow,
} from '../../src/tenancy/operators/index.ts';
import { clean, cleanJson, type Column, listTime, type Terminal } from '../../cli/output/index.ts';
import { dataFolder, readConfig, whereListed, withStore, type DataOptions } from './open.ts';
import { printRows } from './print-rows.ts';
import { findServerAddress } from './ready-file.ts';

type Options = DataOptions & { json?: boolean; wide?: boolean };

export async function createNamedOperator(name: string, options: Options): Promise<void> {
  const audit = { action: 'operator.created', details: { name } };
  const open = [readConfig(options), dataFolder(options)] as const;
  const made = await withStore(...open, (store) => createOperator(store, name), { audit });
  if (options.json) return console.log(cleanJson(made));
  console.log(`${clean(made.name)} is now an operator. The token is shown only once:\n\n  ${made.token}\n`);
  const url = findServerAddress(dataFolder(options), open[0]);
  console.log(
    `Store it for rasket queue and rasket audit all with: rasket login --profile operator --url ${url} --api-key`,
  );
}

export async function printOperators(options: Options): Promise<void> {
  const rows = await withStore(readConfig(options), dataFolder(options), (store) => listOperators(store.db));
  const none = 'There are no operators yet. Make one with: rasket operators create NAME';
  printRows(rows.map(shown), columnsFor, { ...options, none });
}

const columnsFor = (terminal: Terminal): Column<ReturnType<typeof shown>>[] => [
  { title: 'ID', value: ({ id }) => id, fit: 'whole' },
  { title: 'NAME', value: ({ name }) => name, fit: 'name' },
  {
    title: 'STATE',
    value: ({ state }) => state,
    style: ({ state }) => (state === 'active' ? 'plain' : 'dim'),
    fit: 'whole',
  },
  { title: 'TOKEN', value: ({ token_prefix: prefix }) => `${prefix}…`, fit: 'whole' },
  { title: 'CREATED', value: ({ created_at: created }) => listTime(terminal, created), fit: 'whole' },
];

export async function revokeNamedOperator(operator: string, options: Options): Promise<void> {
  const about = async (store: Parameters<typeof findOperator>[0]) => ({
    subjectId: (await findOperator(store, operator)).id,
  });
  const open = [readConfig(options), dataFolder(options)] as const;
  const audit = { action: 'operator.revoked', about };
  const row = await whereListed('rasket operators list', options, () =>
    withStore(...open, (store) => revokeOperator(store, operator), { audit }),
  );
  console.log(options.json ? cleanJson(shown(row)) : `The token of ${clean(row.name)} is no longer accepted.`);
}

const shown = (row: OperatorRow) => ({
  id: row.id,
  name: row.name,
  token_prefix: row.token_prefix,
  created_at: new Date(row.created_at).toISOString(),
  state: row.revoked_at === null ? 'active' : 'revoked',
});
