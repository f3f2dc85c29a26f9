import type { ValueType } from '../../src/contract/index.ts';
import { bytesInWords } from './bytes-in-words.ts';

/**
 * Tells what a value means for the state of an item. Each kind of output shows it in its own way, and never by colour alone.
 */
export type Tone = 'plain' | 'good' | 'attention' | 'bad';

/**
 * How a value may be shortened when there is little space: an id, a state, a time and a `whole` value are never cut;
 * neither is a `name`, which identifies the item, such as an address, and may be long; a text is cut, a `long` one goes
 * below its row, and a `body` below everything else. A `moment` is a time that is shown to the second, because several
 * of a list lie within a minute. A `number` is aligned right, and people see its digits in groups of three.
 */
export type Kind = 'id' | 'state' | 'time' | 'moment' | 'number' | 'whole' | 'name' | 'text' | 'long' | 'body';

type NameIn<Item> = keyof Item & string;

/** The contract's name of a field, as `--fields` takes it; `plan.limits` is the field of a field. */
export type FieldName<Item> = NameIn<Item> | `${NameIn<Item>}.${string}`;

export interface Field<Item> {
  name: FieldName<Item>;
  label: string;
  /** The name of the filter for it, if that is neither name nor label: `--fields` takes all three. */
  filter?: string;
  /** `text` by default. */
  kind?: Kind;
  /** The value to show, if it is not the field itself; a drawing fits into the columns, if they are known. */
  value?: (item: Item, columns?: number) => unknown;
  /** The text that people see instead; a program gets the value. */
  words?: (item: Item) => string;
  tone?: (item: Item) => Tone;
  /** Hidden unless there is space for everything ('wide'), or unless it is requested by name. */
  shown?: 'wide' | 'asked';
  /** Shown whole in every table, however narrow: it is what the list is read for. */
  isKept?: true;
  /** Left out of a table at a terminal, where it would take a line of its own, unless `--wide` is given. */
  isAside?: true;
}

/** Overrides what the name of a field and its schema imply: the label alone, or any of its properties. */
type Differs<Item, Value> =
  | string
  | (Omit<Partial<Field<Item>>, 'name' | 'kind' | 'tone'> & {
      /** `bytes` is a number that people see with its unit. */
      kind?: Kind | 'bytes';
      /** The values to show for true and for false. */
      either?: readonly [yes: string, no: string];
      /** The text that separates the values of an array; a comma by default. */
      join?: string;
      tone?: ((item: Item) => Tone) | Readonly<Record<Extract<Value, string>, Tone>>;
    });

export type Fields<Item> = {
  readonly [Name in FieldName<Item>]?: Differs<Item, Name extends keyof Item ? Item[Name] : never>;
};

/** The names of the fields in their order: shown always, in a wide table, and on request. */
export interface Columns<Item> {
  fields?: Fields<Item> | undefined;
  columns: readonly FieldName<Item>[];
  wide?: readonly FieldName<Item>[] | undefined;
  asked?: readonly FieldName<Item>[] | undefined;
}

export function buildFields<Item>(
  { fields = {}, columns, wide = [], asked = [] }: Columns<Item>,
  types: Readonly<Record<string, ValueType>> = {},
): Field<Item>[] {
  const build = (name: FieldName<Item>): Field<Item> =>
    buildField(name, fields[name] as Differs<Item, string> | undefined, types[name]);
  return [
    ...columns.map(build),
    ...wide.map((name) => ({ ...build(name), shown: 'wide' as const })),
    ...asked.map((name) => ({ ...build(name), shown: 'asked' as const })),
  ];
}

function buildField<Item>(name: FieldName<Item>, differs: Differs<Item, string> = {}, type?: ValueType): Field<Item> {
  const {
    kind = chooseKind(name, type),
    tone,
    either,
    join,
    ...own
  } = typeof differs === 'string' ? { label: differs } : differs;
  const read = (item: Item): unknown => readPart(item as object, name);
  return {
    name,
    label: labelField(name),
    kind: kind === 'bytes' ? 'number' : kind,
    ...(kind === 'bytes' && { words: (item: Item) => bytesInWords(read(item) as number) }),
    ...(either && { value: (item: Item) => either[read(item) ? 0 : 1] }),
    ...(join !== undefined && { value: (item: Item) => (read(item) as readonly string[]).join(join) }),
    ...(tone && { tone: typeof tone === 'function' ? tone : (item: Item) => tone[read(item) as string] ?? 'plain' }),
    ...own,
  };
}

/** Names a field as people do: `created_at` is `Created`, and `contact_id` is `Contact`. */
function labelField(name: string): string {
  const last = name.slice(name.lastIndexOf('.') + 1);
  return LABELS[last] ?? capitalise(last.replace(/(?<=.)_(?:at|id)$/, ''));
}

/** Turns `first_name` into `First name`. */
export const capitalise = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1).replaceAll('_', ' ');

const LABELS: Readonly<Record<string, string>> = {
  ai_assist_enabled: 'AI helpers',
  bytes: 'Size',
  client_name: 'App',
  content_disposition: 'Disposition',
  content_id: 'Content-ID',
  content_type: 'Type',
  content_withheld: 'Withheld',
  download_url: 'Link',
  duration_ms: 'Ms',
  email: 'Address',
  email_address: 'Address',
  expires_at: 'Until',
  fallback_value: 'Fallback',
  html: 'HTML',
  http_status_code: 'HTTP',
  last_event: 'State',
  message_id: 'Message-ID',
  snippet: 'Begins',
  sso: 'SSO',
  tls: 'TLS',
};

/** The kinds of fields whose values say too little: the first pattern that a name matches decides. */
const KINDS: readonly (readonly [Kind | 'bytes', RegExp])[] = [
  ['name', /^(?:name|from|to|cc|bcc|reply_to|email|email_address|filename|alias|assignee|endpoint|node)$/],
  ['whole', /^(?:code|content_withheld|currency|key|message_id|method|month|pattern|region|signing_secret|slug)$/],
  ['state', /(?:^|_)(?:status|state|last_event|severity)$/],
  ['body', /^(?:html|text|headers|notes|payload|request_body|response_body|signature|steps)$/],
  ['long', /^(?:url|download_url|diagnosis|value)$/],
  ['bytes', /^(?:bytes|size)$/],
  ['text', /^(?:client_id|content_id|operation_id)$/],
  ['id', /(?:^|_)id$/],
  ['time', /_at$/],
];

function chooseKind(name: string, type: ValueType = 'text'): Kind | 'bytes' {
  const last = name.slice(name.lastIndexOf('.') + 1);
  return KINDS.find(([, pattern]) => pattern.test(last))?.[0] ?? type;
}

/** Returns a field of an item; `plan.limits` is the field of a field. */
export const readPart = (item: object, name: string): unknown =>
  name.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], item);
