import type { Session } from '../declare.ts';
import { readFilter, type FilterOptions } from './read-filter.ts';

export async function createSegment(session: Session, name: string, options: FilterOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const filter = await readFilter(session.process, options);
  const body = { name, ...(filter === undefined ? {} : { filter }) };
  const created = await client.call('createSegment', { body });
  if (isJson) return terminal.printJson(created);
  terminal.print(terminal.isTty ? `Created  ${created.id}` : created.id);
}
