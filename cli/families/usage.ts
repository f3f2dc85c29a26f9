import { bytesInWords } from './bytes-in-words.ts';
import { grouped } from './field-value.ts';
import { declareReport, type Family, type Field } from './family.ts';

interface Line {
  what: string;
  used: number;
  limit: number | null;
  resets_at?: string;
  isBytes?: true;
}

const amount = (line: Pick<Line, 'isBytes'>, count: number | null): string =>
  count === null ? 'none' : line.isBytes ? bytesInWords(count) : grouped(count);

/** Formats a line of usage for people. */
export const usageInWords = (line: Line) => ({
  what: line.what.replace(/^bytes of /, ''),
  used: amount(line, line.used),
  limit: amount(line, line.limit),
});

const columns: readonly Field<Line>[] = [
  { name: 'what', label: 'What', kind: 'whole', words: (line) => usageInWords(line).what },
  { name: 'used', label: 'Used', kind: 'number', words: (line) => usageInWords(line).used },
  {
    name: 'limit',
    label: 'Limit',
    kind: 'number',
    value: (line) => line.limit ?? 'none',
    words: (line) => usageInWords(line).limit,
  },
  { name: 'resets_at', label: 'Resets', kind: 'time' },
];

export const usage = {
  command: 'usage',
  summary: 'show how much of its plan your team has used',
  noun: 'an allowance',
  report: declareReport('getUsage', {
    rows: ({ emails, domains, contacts, ai_credits: credits, received_storage: stored }): Line[] => [
      { what: 'emails today', ...emails.daily },
      { what: 'emails this month', ...emails.monthly },
      { what: 'domains', ...domains },
      { what: 'contacts', ...contacts },
      {
        what: 'AI credits',
        used: credits.used,
        limit: credits.limit,
        ...(credits.next_increase_at === null ? {} : { resets_at: credits.next_increase_at }),
      },
      { what: 'bytes of received mail', ...stored, isBytes: true },
    ],
    columns,
  }),
} satisfies Family;
