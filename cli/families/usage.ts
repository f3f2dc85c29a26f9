import { bytesInWords } from './bytes-in-words.ts';
import { grouped } from './field-value.ts';
import { declareFamily, declareReport } from './family.ts';

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

export const usage = declareFamily({
  summary: 'show how much of its plan your team has used',
  noun: 'an allowance',
  report: declareReport<'getUsage', Line>('getUsage', {
    rows: ({ emails, domains, contacts, ai_credits: credits, received_storage: stored }) => [
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
    fields: {
      what: { kind: 'whole', words: (line) => usageInWords(line).what },
      used: { kind: 'number', words: (line) => usageInWords(line).used },
      limit: { kind: 'number', value: (line) => line.limit ?? 'none', words: (line) => usageInWords(line).limit },
    },
    columns: ['what', 'used', 'limit', 'resets_at'],
  }),
});
