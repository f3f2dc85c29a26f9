import { groupedIn } from './field-value.ts';
import {
  declareDetail,
  declareList,
  withRemaining,
  type Action,
  type AnswerOf,
  type Fields,
  type ItemIn,
} from './family.ts';

type Import = ItemIn<'listContactImports' | 'getContactImport'>;
export type ImportPreview = Extract<AnswerOf<'createContactImport'>, { object: 'contact_import_preview' }>;

const countsInWords = ({ total, created, updated, skipped, failed }: Import['counts']): string =>
  `${total} rows: ${created} created, ${updated} updated, ${skipped} skipped, ${failed} failed`;

/**
 * Describes the results of the rows, followed by what was skipped: columns, and contacts, which `remedy` would update.
 */
export function importInWords(
  { status, counts, skipped_values: skippedValues, on_conflict: onConflict, columns, ignored_columns: ignored }: Import,
  remedy: string,
): string[] {
  const recognized = columns.filter(({ name, field, recognized: isRecognized }) => isRecognized && name !== field);
  return [
    `${status}  ${countsInWords(counts)}`,
    ...(recognized.length === 0 ? [] : [`Recognized: ${fieldsInWords({ columns: recognized })}.`]),
    ...(skippedValues === 0 ? [] : [`Imported without ${skippedValues} values that do not fit.`]),
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

/** Describes what an import would make of the first rows of a file. */
export function previewInWords(preview: ImportPreview): string {
  const { rows, is_whole_file: isWhole, addresses, failed, skipped_values: skippedValues } = preview;
  const { usable, unusable, repeated, existing } = addresses;
  return [
    `${isWhole ? 'all' : 'the first'} ${rows} rows: ${failed} would fail`,
    ...(skippedValues > 0 ? [`${skippedValues} values would be skipped`] : []),
    `${usable} usable addresses, ${unusable} unusable, ${repeated} repeated, ${existing} are contacts already`,
  ].join('; ');
}

function fieldsInWords({ columns: imported }: Pick<Import, 'columns'>): string {
  const named = imported
    .slice(0, COLUMNS_NAMED_MAX)
    .map(({ column, name, field }) => `${name === null ? `column ${column}` : JSON.stringify(name)} as ${field}`);
  const more = imported.length - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${more} more columns` : ''}`;
}

const CONFLICTS = { skip: 'left alone', upsert: 'updated' } as const;
const BAD_VALUES = { fail_row: 'fail their row', skip_value: 'are skipped' } as const;

const fields: Fields<Import> = {
  status: { tone: { queued: 'plain', in_progress: 'attention', completed: 'good', failed: 'bad' } },
  counts: {
    label: 'Rows',
    value: ({ counts }) => countsInWords(counts),
    words: ({ counts }) => groupedIn(countsInWords(counts)),
  },
  on_conflict: { label: 'Contacts there', value: ({ on_conflict: how }) => CONFLICTS[how] },
  skipped_values: { label: 'Skipped values' },
  on_bad_value: { label: 'Values that do not fit', value: ({ on_bad_value: how }) => BAD_VALUES[how] },
  columns: { label: 'Imported', value: fieldsInWords },
  start_automations: { label: 'Automations', either: ['started by the rows', 'not started'] },
  ignored_columns: { label: 'Not imported', value: columnsInWords },
};
const columns = ['id', 'status', 'counts', 'created_at', 'completed_at'] as const;
const passedOver = [
  'skipped_values',
  'on_conflict',
  'on_bad_value',
  'start_automations',
  'columns',
  'ignored_columns',
] as const;

const create: Action = {
  operation: 'createContactImport',
  verb: 'import',
  key: 'i',
  summary: 'import contacts from a CSV file',
  description:
    'Upload a CSV file of at most 50 MB and show the progress of the import. The import uses the columns given by --column and --property, and among the others those with well-known names in ten languages (email, E-Mail-Adresse, prénom, …) and those of declared properties. With --dry-run, show what the import would make of the first 1,000 rows, and write nothing.',
  example: 'contacts import people.csv --column email=Mail --property plan=Plan --property seats:number=Seats',
  path: {},
  flags: {
    file: { value: '<file>', says: 'the CSV file', isWord: true, isFile: true, isRequired: true },
    columns: {
      flag: 'column',
      value: '<column>',
      says: 'email=, first_name=, last_name=, unsubscribed=, segment_ids=, opted_in_topic_ids= or opted_out_topic_ids= a column, or nothing to leave it out',
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
    dry_run: { says: 'show what the import would make of the first rows, and write nothing', isBoolean: true },
    on_bad_value: {
      value: '<how>',
      says: 'fail_row (default), or skip_value to import a row without a property or name that does not fit',
      choices: ['fail_row', 'skip_value'],
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
