import type { CallOf, Client, OperationId } from '../../cli/client/index.ts';
import { valueOf, type List } from '../../cli/families/index.ts';
import { CliFault } from '../../cli/output/index.ts';
import type { Page } from '../pager.ts';

/** How much of a list is read to find one, where the server does not look for the end of an id. */
const PAGE = 100;
const PAGES_SEARCHED = 20;

interface Row {
  id: string;
}

interface Sought {
  id: string;
  path: Readonly<Record<string, string>>;
  narrowed: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** The row that has this id, or one that ends so, among its ids: of a list of what waits also that of its email. */
export async function findRow(client: Client, list: List, { id, path, narrowed, signal }: Sought): Promise<Row> {
  const ids = list.columns.filter(({ kind }) => kind === 'id');
  const isMeant = (value: unknown): boolean => typeof value === 'string' && value.endsWith(id);
  const ask = async (query: object): Promise<Row[]> => {
    const call = { path, query: { limit: PAGE, ...query } } as CallOf<OperationId>;
    return ((await client.call(list.operation, call, signal)) as unknown as Page<Row>).data;
  };
  const among = (rows: readonly Row[]): Row | undefined =>
    rows.find((row) => isMeant(row.id) || ids.some((field) => isMeant(valueOf(field, row))));
  const none = (): CliFault => new CliFault(`There is none with the id ${id}.`, 'notFound');
  if ('id_end' in list.filters && /^[0-9a-f]{4,32}$/.test(id)) {
    const found = among(await ask({ id_end: id }));
    if (found) return found;
    throw none();
  }
  let after: string | undefined;
  for (let page = 0; page < PAGES_SEARCHED; page++) {
    const rows = await ask({ ...narrowed, after });
    const found = among(rows);
    if (found) return found;
    after = rows.at(-1)?.id;
    if (rows.length < PAGE || after === undefined) throw none();
  }
  throw new CliFault(`The first ${PAGES_SEARCHED * PAGE} hold none with the id ${id}.`, 'notFound');
}
