import type { Table } from '../output/index.ts';
import type { Session } from './session.ts';

/** What does not fit is to be had whole; a person is told how. */
export function hintWide({ terminal, again }: Session, table: Pick<Table<never>, 'hasCut'>): void {
  if (table.hasCut()) terminal.hint(`Some of it is cut; see it whole with: ${again(['--wide'])}`);
}
