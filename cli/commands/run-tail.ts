import type { CallOf } from '../client/index.ts';
import type { ItemOf, List, ListOperation } from '../families/family.ts';
import { NoAnswer } from '../client/index.ts';
import { openTable, shownFields, listColumns } from '../output/index.ts';
import { hintWide, type Session } from './session.ts';
import { readFlags } from './read-typed.ts';
import { untilStopped } from './until-stopped.ts';

const POLL_MS = 1000;
const PAGE = 100;
const FIRST = 10;

export interface TailOptions extends Readonly<Record<string, unknown>> {
  lines?: number;
  wide?: boolean;
}

/** The last of a list, oldest first, and then whatever is added, until Ctrl-C. A server that is away is waited for. */
export async function runTail(session: Session, list: List, options: TailOptions): Promise<void> {
  const { terminal, process, isJson } = session;
  const filters = readFlags(list.filters, options);
  const columns = listColumns(terminal, shownFields(list.columns, options.wide), options.wide);
  const table = openTable(terminal, columns, { isWide: options.wide, isOneLine: true });
  const show = (items: ItemOf<ListOperation>[]): void => {
    if (isJson) for (const item of items) terminal.printJson(item);
    else if (items.length > 0) terminal.print(table.write(items));
  };
  const stopped = untilStopped(process);
  const first = await ask(session, list, { ...filters, limit: options.lines ?? FIRST });
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
