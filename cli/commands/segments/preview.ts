import { CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { readFilter, type FilterOptions } from './read-filter.ts';

export async function previewSegment(session: Session, options: FilterOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const filter = await readFilter(session.process, options);
  if (filter === undefined) throw new CliFault('give the filter with --filter or --filter-file', 'usage');
  const preview = await client.call('previewSegment', { body: { filter } });
  if (isJson) return terminal.printJson(preview);
  terminal.print(String(preview.contacts));
}
