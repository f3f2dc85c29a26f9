import { reportOf, type Family } from './family.ts';

interface Line {
  what: string;
  used: number;
  limit: number | null;
  resets_at?: string;
}

export const usage = {
  command: 'usage',
  summary: 'show how much of its plan your team has used',
  noun: 'an allowance',
  report: reportOf('getUsage', {
    summary: 'show how much of its plan your team has used',
    example: 'usage',
    rows: ({ emails, domains, contacts, received_storage: stored }): Line[] => [
      { what: 'emails today', ...emails.daily },
      { what: 'emails this month', ...emails.monthly },
      { what: 'domains', ...domains },
      { what: 'contacts', ...contacts },
      { what: 'bytes of received mail', ...stored },
    ],
    columns: [
      { name: 'what', label: 'What', kind: 'whole' },
      { name: 'used', label: 'Used', kind: 'whole' },
      { name: 'limit', label: 'Limit', kind: 'whole', value: (line) => line.limit ?? 'none' },
      { name: 'resets_at', label: 'Resets', kind: 'time' },
    ],
  }),
} satisfies Family;
