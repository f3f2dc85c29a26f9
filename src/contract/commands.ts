import type { OperationId } from './calls.ts';
import {
  listOperations,
  resolveRef,
  type OpenApiDocument,
  type OperationEntry,
  type OrRef,
  type ResponseObject,
  type Schema,
} from './document.ts';
import { loadContract } from './load.ts';

/** One word of a command that fills one parameter of a path. */
export interface CommandKey {
  word: string;
  says: string;
  /** At the command line several may be named. */
  isVariadic?: true;
  /** At the command line it may be left out. */
  isOptional?: true;
}

/** How the text of a field is written, where the API takes something else (`cli/input/syntaxes.ts`). */
export type Syntax =
  | 'attachment'
  | 'column'
  | 'event type'
  | 'event types'
  | 'header'
  | 'property'
  | 'property column'
  | 'tag'
  | 'time ahead'
  | 'topic'
  | 'variable'
  | 'variable declaration';

/**
 * Fills a field of a query or a body: an option or a word at the command line, a line of a form. Its name is that of the
 * field, unless `flag` says another one.
 */
export interface CommandFlag {
  flag?: string;
  /** Stands for the typed text, as in `--limit <n>`; true or false has none. */
  value?: string;
  /** Help for readers of both; that it may be repeated, or is true or false, is added to it. */
  says: string;
  /** At the command line a word of its own, after those of the path. */
  isWord?: true;
  /** Several, at the command line as words after each other. */
  isVariadic?: true;
  /** Several, at the command line as an option each. */
  isRepeatable?: true;
  /** Several, with commas between them. */
  isList?: true;
  /** Its contents may also come from a file, with `--<flag>-file`: what the file holds. */
  fromFile?: string;
  /** It is the name of a file on this machine; at the command line `-` may be standard input. */
  isFile?: true;
  orStdin?: true;
  /** It stands in the query, and not in the body. */
  isQuery?: true;
  isNumber?: true;
  /** true or false, at the command line an option without a value. */
  isBoolean?: true;
  /** Help of `--no-<flag>`, which makes it false. */
  no?: string;
  isJson?: true;
  /** It may also be a condition in words: `properties.plan = pro and unsubscribed = false`. */
  isWhere?: true;
  syntax?: Syntax;
  isRequired?: true;
  /** Its value if nothing is typed. */
  preset?: number | string;
  /** The server takes long for it: a list that is read again and again goes without it. */
  isCostly?: true;
  /** Not to be seen while it is typed. */
  isSecret?: true;
  /** The values that it may have. */
  choices?: readonly string[];
  /** A form takes away what is set when it is emptied. */
  isClearable?: true;
  /** So does an empty text at the command line. */
  isEmptied?: true;
  /** So does `--clear-<flag>`; with a value it takes away one of several. */
  clear?: { value?: string; says: string };
  /** The field that it is inside of is replaced as a whole. */
  isPart?: true;
  /** It may have several lines. */
  hasLines?: true;
  /** A form shows it when more fields are asked for. */
  isMore?: true;
  /** It is asked for in one of the two alone: the other has a way of its own. */
  place?: 'line' | 'form';
  /** One of those marked so is enough: a form that begins with one shows the others when more fields are asked for. */
  isOneOf?: true;
  /** Where one of these is filled, it need not be. */
  orElse?: readonly string[];
}

/** What the command line and the console know of an operation without being told by hand. */
export interface CommandText {
  /** The words after `rasket`, without those for path and fields: `topics create`. */
  command: string;
  /** Its key in the console; a list and an item have none. */
  key?: string;
  /** One imperative line. */
  summary: string;
  /** The text of its page of help, where the summary is not all of it. */
  description?: string;
  /** The words after `rasket` of one call that works as it stands. */
  example: string;
  path: Readonly<Record<string, CommandKey>>;
  flags: Readonly<Record<string, CommandFlag>>;
  /** Fields that `--clear` sets to null. */
  clears?: readonly string[];
  /** Continues "This will …" before it is done, if it cannot be undone. */
  destroys?: string;
  /** Fields of the body that the command always sets. */
  sets?: Readonly<Record<string, unknown>>;
  /** Said in a word when it is done. */
  done?: string;
  /** Further commands that make the same call with fewer fields. */
  also?: readonly CommandText[];
  /** The text where a list has nothing. */
  empty?: string;
  /** The fields of the answer, or of each item of a list. */
  fields: readonly string[];
  /** The part of the contract that it belongs to. */
  tag: string;
  /** The operation that reads the item which this one changes, or removes. */
  current?: OperationId;
  removed?: OperationId;
}

/** `x-cli` of an operation: what its command has that nothing else in the contract says, or the reason why it has none. */
export type CommandSource = { none: string } | CommandOverride;

type CommandOverride = { command: string } & Partial<
  Pick<CommandText, 'key' | 'summary' | 'description' | 'example' | 'clears' | 'destroys' | 'sets' | 'done'>
> & {
    path?: Readonly<Record<string, KeySource>>;
    /** By the field; a string is the reason why the command does not set it. */
    flags?: Readonly<Record<string, FlagSource>>;
    /** Fields that are words of their own at the command line, after those of the path. */
    words?: readonly string[];
    /** Fields that a form shows when more are asked for. */
    more?: readonly string[];
    /** The fields that come first, where the order of the schema is not that of a form. */
    order?: readonly string[];
    /** Further commands of the operation, each of which takes its words and sets the rest. */
    also?: readonly CommandOverride[];
  };

/** `x-cli` of a parameter of a path; its example is a name where people would type one. */
type KeySource = Partial<CommandKey> & { example?: string };

/** `x-cli` of a property or a parameter: what of its flag does not follow from its schema. A string: why no flag sets it. */
export type FlagSource = string | { [Name in keyof CommandFlag]?: CommandFlag[Name] | false };

export type Commands = Readonly<Partial<Record<OperationId, CommandText>>>;

/** Every command, by its operation. A build holds the answer (bin/build-plugins.ts), as it does for `loadRoutes`. */
export const loadCommands = (): Commands => loadContract()['x-commands'];

/** Makes the commands of the document and takes `x-cli` out of it, which readers of the API have no use for. */
export function takeCommands(document: OpenApiDocument): void {
  const entries = listOperations(document);
  document['x-commands'] = Object.fromEntries(
    entries.flatMap((entry) => {
      const source = entry.operation['x-cli'];
      if (source === undefined)
        throw new Error(`${entry.operationId} has no x-cli: name its command, or why it has none`);
      return 'none' in source ? [] : [[entry.operationId, describeCommand(document, entries, entry, source)]];
    }),
  );
  deleteSources(document);
}

function deleteSources(node: object): void {
  delete (node as { 'x-cli'?: unknown })['x-cli'];
  for (const inner of Object.values(node))
    if (typeof inner === 'object' && inner !== null) deleteSources(inner as object);
}

function describeCommand(
  document: OpenApiDocument,
  entries: readonly OperationEntry[],
  entry: OperationEntry,
  source: CommandOverride,
): CommandText {
  const { command, key, description, clears, destroys, sets, done, also } = source;
  const [given] = Object.values(entry.operation.responses);
  const response = given && resolveRef<ResponseObject>(document, given);
  const plural = /^One page of (.+)\.$/.exec(response?.description ?? '')?.[1];
  const path = describePath(entry, source);
  const flags = describeFlags(document, entry, source);
  const readers = entries.filter(
    ({ method, path: its, operationId }) =>
      method === 'get' && /^get/.test(operationId) && `${entry.path}/`.startsWith(`${its}/`),
  );
  const items = readers.filter(({ path: its }) => its === entry.path || its.endsWith('}'));
  const [removed] = items.sort((one, other) => other.path.length - one.path.length);
  const reader = readers.find(({ path: its }) => its === entry.path)?.operationId as OperationId | undefined;
  const changes = entry.method === 'patch' || entry.method === 'put';
  return {
    command,
    ...(key !== undefined && { key }),
    summary: source.summary ?? summarise(entry),
    ...(description !== undefined && { description: description.trim() }),
    example: source.example ?? exemplify(entry, source, flags),
    path,
    flags,
    ...(clears && { clears }),
    ...(destroys !== undefined && { destroys }),
    ...(sets && { sets }),
    ...(done !== undefined && { done }),
    ...(also && { also: also.map((its) => describeNarrow(describeCommand(document, entries, entry, its), its)) }),
    ...(plural !== undefined && { empty: `There are no ${plural} yet.` }),
    fields: listFields(document, response, /^(?:list|search)/.test(entry.operationId)),
    tag: entry.operation.tags[0] ?? '',
    ...(reader && changes && { current: reader }),
    ...(destroys !== undefined && removed && { removed: removed.operationId as OperationId }),
  };
}

function listFields(document: OpenApiDocument, response: ResponseObject | undefined, isList: boolean): string[] {
  const schema = response?.content?.['application/json']?.schema;
  const { properties = {} } = schema ? resolveRef<Schema>(document, schema) : {};
  const items = properties['data'] && resolveRef<Schema>(document, properties['data']).items;
  const names = items && isList ? resolveRef<Schema>(document, items).properties : properties;
  return Object.keys(names ?? {}).filter((name) => name !== 'object');
}

/** A further command has the flags that are its words, all of which it needs. */
function describeNarrow(command: CommandText, { words = [] }: CommandOverride): CommandText {
  const flags = words.map((field) => [field, { ...command.flags[field], isRequired: true, isClearable: undefined }]);
  const { current: _, ...narrow } = command;
  return { ...narrow, flags: Object.fromEntries(flags) as CommandText['flags'] };
}

/** `Read a topic` is `show a topic`, and a list says its order. */
function summarise({ operation }: OperationEntry): string {
  const text = operation.summary.replace(/^(?:Read|See) /, 'Show ').replaceAll('`', '');
  const order = /^List /.test(text) && /\bnewest first\b/i.test(operation.description) ? ', newest first' : '';
  return text.slice(0, 1).toLowerCase() + text.slice(1) + order;
}

/** A list takes these itself, and the client fills in the team of a session. */
const PAGING: readonly string[] = ['limit', 'after', 'before'];
const OWN_TEAM = 'team_id';

function describePath({ parameters, operationId }: OperationEntry, { path = {} }: CommandOverride) {
  const keys = parameters
    .filter(({ in: place, name }) => place === 'path' && (name !== OWN_TEAM || operationId === 'switchTeam'))
    .map(({ name, description = '', 'x-cli': its }) => {
      const { example: _, ...own } = { ...(its as KeySource), ...path[name] };
      return [
        name,
        { word: kebab(name.replace(/_id$/, '')).replace(/^.*-/, ''), says: firstSentence(description), ...own },
      ];
    });
  return Object.fromEntries(keys) as Record<string, CommandKey>;
}

/** The fields of the query and of the body, each with its flag; those of an object inside of it as `one.two`. */
function describeFlags(
  document: OpenApiDocument,
  { parameters, operation, method }: OperationEntry,
  { flags = {}, words = [], more = [], order = [] }: CommandOverride,
): Record<string, CommandFlag> {
  const described = new Map<string, CommandFlag>();
  const add = (field: string, given: OrRef<Schema>, its: Partial<Field>): void => {
    const schema = resolveRef(document, given);
    const source = flags[field] ?? its.source ?? (given as Schema)['x-cli'] ?? schema['x-cli'];
    if (typeof source === 'string') return;
    const description = its.description ?? (given as Schema).description ?? schema.description;
    if (schema.properties && source?.syntax === undefined && source?.isJson === undefined) {
      for (const [name, inner] of Object.entries(schema.properties)) {
        const isRequired = its.isRequired && schema.required?.includes(name);
        add(`${field}.${name}`, inner, { isRequired, isPart: source?.isPart === true });
      }
      return;
    }
    const flag = {
      ...deriveFlag(field, schema, { description, isRequired: its.isRequired === true, source }),
      ...(its.isQuery && { isQuery: true }),
      ...(its.isPart && { isPart: true }),
      ...(words.includes(field) && { isWord: true }),
      ...(more.includes(field) && { isMore: true }),
    };
    const entries = Object.entries(flag).filter(([, value]) => value !== false);
    described.set(field, Object.fromEntries(entries) as unknown as CommandFlag);
  };
  for (const { name, in: place, schema, description, required: isRequired, 'x-cli': source } of parameters) {
    if (place !== 'query' || PAGING.includes(name)) continue;
    add(name, schema, { description, isRequired, isQuery: method !== 'get', source: source as FlagSource });
  }
  const media = operation.requestBody?.content?.['application/json'];
  const body = media && resolveRef<Schema>(document, media.schema);
  for (const [name, given] of Object.entries(body?.properties ?? {})) {
    add(name, given, { isRequired: body?.required?.includes(name) });
  }
  const rank = ([field, { isWord, isRequired, isMore }]: [string, CommandFlag]): number => {
    if (order.includes(field)) return order.indexOf(field);
    if (isWord) return RANKS.word + words.indexOf(field);
    if (isMore) return RANKS.more + more.indexOf(field);
    return isRequired ? RANKS.required : field === 'id_end' ? RANKS.last : RANKS.usual;
  };
  return Object.fromEntries([...described].sort((one, other) => rank(one) - rank(other)));
}

/** Words come first and in their order, as what is shown on request comes in its own. */
const RANKS = { word: 100, required: 200, usual: 300, more: 400, last: 500 };

interface Field {
  description: string | undefined;
  source: FlagSource | undefined;
  isRequired: boolean | undefined;
  isQuery: boolean;
  isPart: boolean;
}

function deriveFlag(
  field: string,
  schema: Schema,
  {
    description,
    isRequired,
    source,
  }: { description: string | undefined; isRequired: boolean; source: FlagSource | undefined },
): CommandFlag {
  const { value, flag: called, ...own } = (typeof source === 'object' ? source : {}) as Partial<CommandFlag>;
  const forms = [schema, ...((schema.anyOf ?? []) as Schema[])];
  const types = forms.flatMap(({ type }) => type ?? []);
  const choices = forms.flatMap((form) => form.enum ?? []).filter((value) => typeof value === 'string');
  const last = field.split('.').at(-1) ?? field;
  const flag = called ?? (last === field ? undefined : kebab(last));
  const items = forms.find((form) => form.items)?.items as Schema | undefined;
  const isBoolean = types.includes('boolean');
  const isJson = own.syntax === undefined && (types.includes('object') || (items !== undefined && isObject(items)));
  const isNumber = types.some((type) => type === 'integer' || type === 'number') && !types.includes('string');
  const isMany = items !== undefined || (own.syntax !== undefined && types.includes('object'));
  const isSeveral = own.isWord ?? own.isVariadic ?? own.isList;
  return {
    ...(flag !== undefined && { flag }),
    ...(!isBoolean && {
      value: value ?? nameValue(last, schema, { flag, isJson, isNumber, hasChoices: choices.length > 0 }),
    }),
    says: firstSentence(description ?? last.replaceAll('_', ' ')),
    ...(FILES[last] !== undefined && { fromFile: FILES[last], hasLines: true }),
    ...(isJson && { isJson: true, fromFile: last.replaceAll('_', ' ') }),
    ...(isMany && !isJson && !isSeveral && { isRepeatable: true }),
    ...(isNumber && { isNumber: true }),
    ...(isBoolean && { isBoolean: true }),
    ...(isRequired && { isRequired: true }),
    ...(choices.length > 0 && choices.length <= CHOICES_MAX && { choices }),
    ...(types.includes('null') && { isClearable: true }),
    ...own,
  };
}

const isObject = (schema: Schema | { $ref: string }): boolean =>
  '$ref' in schema || !(schema.enum || [schema.type].flat().includes('string'));

/** Fields of several lines, which may come from a file that holds this. */
const FILES: Readonly<Record<string, string>> = {
  html: 'HTML',
  existing_html: 'HTML',
  text: 'plain text',
  instructions: 'instructions',
  notes: 'notes',
  signature: 'signature',
};

/** Nobody chooses a country from a list of all. */
const CHOICES_MAX = 20;

interface Shape {
  flag: string | undefined;
  isJson: boolean;
  isNumber: boolean;
  hasChoices: boolean;
}

function nameValue(field: string, { format }: Schema, { flag = 'id', isJson, isNumber, hasChoices }: Shape): string {
  if (isJson) return '<json>';
  if (isNumber) return '<n>';
  const known = VALUES[field];
  if (known !== undefined) return `<${known}>`;
  if (hasChoices) return `<${kebab(field)}>`;
  if (format === 'uuid' || /(?:^|_)id$/.test(field)) return `<${flag}>`;
  if (format === 'date-time' || /_(?:at|date|in|until)$/.test(field)) return '<time>';
  return NAMES_ITSELF.includes(field) ? `<${kebab(field)}>` : '<text>';
}

const VALUES: Readonly<Record<string, string>> = {
  from: 'address',
  to: 'address',
  cc: 'address',
  bcc: 'address',
  reply_to: 'address',
  forward_to: 'address',
  email: 'address',
  email_address: 'address',
  assignee: 'address',
  attachments: 'file',
  sender_name: 'name',
  from_name: 'name',
  first_name: 'name',
  last_name: 'name',
  html: 'html',
  existing_html: 'html',
  id_end: 'digits',
  destination: 'domain',
  custom_return_path: 'label',
  tracking_subdomain: 'label',
  fallback_value: 'value',
  endpoint: 'url',
  issuer: 'url',
  client_secret: 'secret',
  api_token: 'token',
  labels: 'label',
  actions: 'action',
  country: 'code',
  postal_code: 'code',
  default_role: 'role',
  default_subscription: 'subscription',
  bounce_type: 'type',
};
const NAMES_ITSELF = [
  'alias',
  'brief',
  'city',
  'domain',
  'folders',
  'key',
  'name',
  'pattern',
  'plan',
  'state',
  'token',
];

/**
 * One call that works as it stands: the path and the words as the contract's examples have them, then the options that are
 * required, or one where none is.
 */
function exemplify(
  { parameters, operation }: OperationEntry,
  { command, path = {} }: CommandOverride,
  flags: Readonly<Record<string, CommandFlag>>,
): string {
  const keys = parameters.filter(({ in: place, name }) => place === 'path' && name !== OWN_TEAM);
  const names = keys.map(
    ({ name, example, 'x-cli': its }) => ({ example, ...(its as KeySource), ...path[name] }).example,
  );
  const media = operation.requestBody?.content?.['application/json'];
  const body = (media?.example ?? Object.values(media?.examples ?? {})[0]?.value ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const shown = Object.entries(flags).filter(([field, { isJson, syntax }]) => field in body && !isJson && !syntax);
  const words = shown.filter(([, { isWord }]) => isWord).map(([field]) => body[field]);
  const options = shown.filter(([, { isWord }]) => !isWord);
  const required = options.filter(([, { isRequired, orElse }]) => isRequired && !orElse);
  const chosen = required.length > 0 || words.length > 0 ? required : options.slice(0, 1);
  const typed = chosen.flatMap(([field, { flag = kebab(field), isBoolean }]) => {
    if (isBoolean) return [body[field] === false ? `--no-${flag}` : `--${flag}`];
    return [`--${flag}`, [body[field]].flat()[0]];
  });
  return [command, ...[...names, ...words, ...typed].map((word) => quote(String(word)))].join(' ');
}

const quote = (word: string): string => (/^[\w@%+=:,./*-]+$/.test(word) ? word : `'${word}'`);

const kebab = (name: string): string => name.replaceAll('_', '-').toLowerCase();

/**
 * Returns the first sentence as help has it: without a capital, a stop and Markdown, and without what only JSON can say. Of a
 * long one the half before its semicolon is enough.
 */
function firstSentence(text: string): string {
  const plain = text
    .trim()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/`([^`]*)`/g, (_, code: string) => (/^[\w:]+(?: [\w:]+)+$/.test(code) ? `'${code}'` : code));
  const [whole = plain] = plain.split(/(?<=[^.])\.(?=\s|$)/, 1);
  const [half = whole] = whole.split(/; /, 1);
  const sentence = (whole.length > HELP_CHARS_MAX ? half : whole).replace(/(?:; null |,? or null(?= |$)).*$/, '');
  return /^[A-Z][a-z]*\b/.test(sentence) ? sentence.slice(0, 1).toLowerCase() + sentence.slice(1) : sentence;
}

/** About what stands on one line behind an option. */
const HELP_CHARS_MAX = 110;
