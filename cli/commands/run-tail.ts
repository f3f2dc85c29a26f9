import type { CallOf } from '../client/index.ts';
import type { ItemOf, List, ListOperation } from '../families/family.ts';
import { NoAnswer } from '../client/index.ts';
import { CliFault, openTable, shownFields, listColumns } from '../output/index.ts';
import { readSince } from './read-since.ts';
import { hintWide, type Session } from './session.ts';
import { readFlags } from './read-typed.ts';
import { untilStopped } from './until-stopped.ts';

const POLL_MS = 1000;
const PAGE = 100;
const FIRST = 10;

export interface TailOptions extends Readonly<Record<string, unknown>> {
  lines?: number;
  since?: string;
  wide?: boolean;
}

/** Prints the last of a list, oldest first, and then what is added, until Ctrl-C. Waits for a server that is away. */
export async function runTail(session: Session, list: List, options: TailOptions): Promise<void> {
  const { terminal, process, isJson } = session;
  if (options.since !== undefined && options.lines !== undefined)
    throw new CliFault('--since and --lines cannot be used together; choose one.', 'usage');
  const filters = readFlags(list.filters, options);
  const columns = listColumns(terminal, shownFields(list.columns, options.wide), options.wide);
  const table = openTable(terminal, columns, { isWide: options.wide, isOneLine: true });
  const show = (items: ItemOf<ListOperation>[]): void => {
    if (isJson) for (const item of items) terminal.printJson(item);
    else if (items.length > 0) terminal.print(table.write(items));
  };
  const stopped = untilStopped(process);
  const first =
    options.since === undefined
      ? await ask(session, list, { ...filters, limit: options.lines ?? FIRST })
      : await listSince(session, list, { ...filters, start_date: readSince(options.since, Date.now()) });
  let last = first[0]?.id;
  show(first.reverse());
  let isAway = false;
  while (!(await stopped.within(POLL_MS))) {
    try {
      // A page before an id is the one next to it, so that none is passed over.
      const fresh = await ask(session, list, {
        ...filters,
        limit: PAGE,
        ...(last === undefined ? {} : { before: last }),
      });
      if (isAway) terminal.hint('The server responds again.');
      isAway = false;
      last = fresh[0]?.id ?? last;
      show(fresh.reverse());
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      if (!isAway) terminal.hint(`${error.message} Waiting for it.`);
      isAway = true;
    }
  }
  hintWide(session, table);
}

async function ask({ client }: Session, { operation }: List, query: object): Promise<ItemOf<ListOperation>[]> {
  return (await client.call(operation, { query } as CallOf<ListOperation>)).data;
}

/** Returns everything since a time, the newest first. */
async function listSince(session: Session, list: List, query: object): Promise<ItemOf<ListOperation>[]> {
  const found: ItemOf<ListOperation>[] = [];
  for (;;) {
    const after = found.at(-1)?.id;
    const page = await ask(session, list, { ...query, limit: PAGE, ...(after === undefined ? {} : { after }) });
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}
