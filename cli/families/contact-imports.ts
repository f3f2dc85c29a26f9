import { groupedIn } from './field-value.ts';
import { declareDetail, declareList, withRemaining, type Action, type Fields, type ItemIn } from './family.ts';

type Import = ItemIn<'listContactImports' | 'getContactImport'>;

const countsInWords = ({ total, created, updated, skipped, failed }: Import['counts']): string =>
  `${total} rows: ${created} created, ${updated} updated, ${skipped} skipped, ${failed} failed`;

/**
 * Describes the results of the rows, followed by what was skipped: columns, and contacts, which `remedy` would update.
 */
export function importInWords(
  { status, counts, on_conflict: onConflict, ignored_columns: ignored }: Import,
  remedy: string,
): string[] {
  return [
    `${status}  ${countsInWords(counts)}`,
    ...(ignored.length === 0 ? [] : [`Not imported: ${columnsInWords({ ignored_columns: ignored })}.`]),
    ...(counts.skipped === 0 || onConflict !== 'skip' ? [] : [`${SKIPPED} ${remedy}.`]),
  ];
}

const SKIPPED =
  'Skipped: these contacts exist already, or were in an earlier row. To update them, import the file again with';

const COLUMNS_NAMED_MAX = 10;

function columnsInWords({ ignored_columns: ignored }: Pick<Import, 'ignored_columns'>): string {
  const named = ignored
    .slice(0, COLUMNS_NAMED_MAX)
    .map(({ column, name }) => (name === null ? `column ${column} (without a name)` : JSON.stringify(name)));
  const more = ignored.length - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${more} more columns` : ''}`;
}

const CONFLICTS = { skip: 'left alone', upsert: 'updated' } as const;

const fields: Fields<Import> = {
  status: { tone: { queued: 'plain', in_progress: 'attention', completed: 'good', failed: 'bad' } },
  counts: {
    label: 'Rows',
    value: ({ counts }) => countsInWords(counts),
    words: ({ counts }) => groupedIn(countsInWords(counts)),
  },
  on_conflict: { label: 'Contacts there', value: ({ on_conflict: how }) => CONFLICTS[how] },
  start_automations: { label: 'Automations', either: ['started by the rows', 'not started'] },
  ignored_columns: { label: 'Not imported', value: columnsInWords },
};
const columns = ['id', 'status', 'counts', 'created_at', 'completed_at'] as const;
const passedOver = ['on_conflict', 'start_automations', 'ignored_columns'] as const;

const create: Action = {
  operation: 'createContactImport',
  verb: 'import',
  key: 'i',
  summary: 'import contacts from a CSV file',
  description:
    'Upload a CSV file of at most 50 MB and show the progress of the import. The import uses the columns with well-known names (email, first name, …) and those of declared properties, or the columns given by --column and --property.',
  example: 'contacts import people.csv --column email=Mail --property plan=Plan --property seats:number=Seats',
  path: {},
  flags: {
    file: { value: '<file>', says: 'the CSV file', isWord: true, isFile: true, isRequired: true },
    columns: {
      flag: 'column',
      value: '<column>',
      says: 'email=, first_name=, last_name=, unsubscribed=, segment_ids=, opted_in_topic_ids= or opted_out_topic_ids= a column',
      isRepeatable: true,
      syntax: 'column',
    },
    properties: {
      flag: 'property',
      value: '<column>',
      says: 'key=column, or key:number=column or key:boolean=column',
      isRepeatable: true,
      syntax: 'property column',
    },
    upsert: { says: 'update contacts that exist already, instead of skipping them', isBoolean: true },
    segments: { flag: 'segment', value: '<id>', says: 'add the contacts to this segment', isRepeatable: true },
    topics: { flag: 'topic', value: '<choice>', says: 'ID=opt_in or ID=opt_out', isRepeatable: true, syntax: 'topic' },
    start_automations: {
      says: 'start automations for imported contacts, as creating a contact does',
      isBoolean: true,
    },
  },
};

export const contactImports = withRemaining({
  list: declareList('listContactImports', { fields, columns, wide: passedOver }),
  get: declareDetail('getContactImport', { fields, columns: [...columns, ...passedOver] }),
  actions: [create],
  elsewhere: { getContactImportFailures: true },
});
