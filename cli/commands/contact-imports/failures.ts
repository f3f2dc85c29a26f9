import type { AnswerOf } from '../../client/index.ts';
import { formatTable, type Column } from '../../output/index.ts';
import type { Session } from '../declare.ts';

type Failures = AnswerOf<'getContactImportFailures'>;

export async function showFailures(session: Session, id: string): Promise<void> {
  const { client, terminal, isJson } = session;
  const answer = await client.call('getContactImportFailures', { path: { import_id: id } });
  if (isJson) return terminal.printJson(answer);
  if (answer.data.length === 0) return terminal.hint('No row failed.');
  printFailures(session, answer.data);
}

type Failure = Failures['data'][number];

const COLUMNS: readonly Column<Failure>[] = [
  { title: 'ROW', value: ({ row }) => row, fit: 'whole' },
  { title: 'REASON', value: ({ reason }) => reason, fit: 'below' },
  { title: 'VALUE', value: ({ value }) => value, fit: 'name' },
];

export function printFailures({ terminal }: Session, failures: readonly Failure[]): void {
  terminal.print(formatTable(terminal, failures, COLUMNS));
}
