import { formatTable, formatTime } from '../../output/index.ts';
import type { Session } from '../declare.ts';

interface Line {
  what: string;
  used: number;
  limit: number | null;
  resets_at?: string;
}

export async function getUsage({ client, terminal, isJson }: Session): Promise<void> {
  const usage = await client.call('getUsage', {});
  if (isJson) return terminal.printJson(usage);
  const lines: Line[] = [
    { what: 'emails today', ...usage.emails.daily },
    { what: 'emails this month', ...usage.emails.monthly },
    { what: 'domains', ...usage.domains },
    { what: 'contacts', ...usage.contacts },
  ];
  const table = formatTable(terminal, lines, [
    { title: 'WHAT', value: (line) => line.what },
    { title: 'USED', value: (line) => line.used },
    { title: 'LIMIT', value: (line) => line.limit ?? 'none' },
    { title: 'RESETS', value: (line) => formatTime(terminal, line.resets_at) },
  ]);
  terminal.print(table);
}
