import type {
  CommandFlag,
  CommandKey,
  CommandOverride,
  CommandText,
  FlagSource,
  KeySource,
  ValueType,
} from './command-text.ts';
import {
  listOperations,
  resolveRef,
  type OpenApiDocument,
  type OperationEntry,
  type OrRef,
  type ResponseObject,
  type Schema,
} from './document.ts';

/** Generates the commands of the document and removes `x-cli`, which is of no use to readers of the API. */
export function takeCommands(document: OpenApiDocument): void {
  const entries = listOperations(document);
  document['x-commands'] = Object.fromEntries(
    entries.flatMap((entry) => {
      const source = entry.operation['x-cli'];
      // Assistants are warned of the same as the users of the command.
      if (source && 'destroys' in source && entry.method !== 'delete') entry.operation['x-service-irrevocable'] = true;
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
  isNarrow = false,
): CommandText {
  const { command, key, description, destroys, sets, done, also } = source;
  const [given] = Object.values(entry.operation.responses);
  const response = given && resolveRef<ResponseObject>(document, given);
  const plural = /^One page of (.+)\.$/.exec(response?.description ?? '')?.[1];
  const path = describePath(entry, source);
  const all = describeFlags(document, entry, source);
  const flags = isNarrow ? narrowFlags(all, source) : all;
  const readers = entries.filter(
    ({ method, path: its, operationId }) =>
      method === 'get' && /^get/.test(operationId) && `${entry.path}/`.startsWith(`${its}/`),
  );
  const items = readers.filter(({ path: its }) => its === entry.path || its.endsWith('}'));
  const [removed] = items.sort((one, other) => other.path.length - one.path.length);
  const reader = readers.find(({ path: its }) => its === entry.path)?.operationId;
  const changes = entry.method === 'patch' || entry.method === 'put';
  const clears = changes && !isNarrow ? listClearable(document, entry, flags) : [];
  return {
    command,
    ...(key !== undefined && { key }),
    summary: source.summary ?? summarise(entry),
    ...(description !== undefined && { description: description.trim() }),
    example: source.example ?? exemplify(entry, source, flags),
    path,
    flags,
    ...(clears.length > 0 && { clears }),
    ...(destroys !== undefined && { destroys }),
    ...(sets && { sets }),
    ...(done !== undefined && { done }),
    ...(also && { also: also.map((its) => describeCommand(document, entries, entry, its, true)) }),
    ...(plural !== undefined && { empty: `There are no ${plural} yet.` }),
    fields: listFields(document, response, /^(?:list|search)/.test(entry.operationId)),
    tag: entry.operation.tags[0] ?? '',
    ...(reader && changes && !isNarrow && { current: reader }),
    ...(destroys !== undefined && removed && { removed: removed.operationId }),
  };
}

/** Lists the fields that a change may set to null, except those that a flag of their own clears. */
function listClearable(
  document: OpenApiDocument,
  { operation }: OperationEntry,
  flags: CommandText['flags'],
): string[] {
  const media = operation.requestBody?.content?.['application/json'];
  const body = media && resolveRef<Schema>(document, media.schema);
  const named = new Set(Object.keys(flags).map((field) => field.split('.', 1)[0]));
  return Object.entries(body?.properties ?? {})
    .filter(([field, given]) => named.has(field) && isNullable(document, given))
    .map(([field]) => field)
    .filter((field) => flags[field]?.clear === undefined && flags[field]?.isEmptied !== true);
}

function isNullable(document: OpenApiDocument, given: OrRef<Schema>): boolean {
  const schema = resolveRef(document, given);
  const forms = [schema, ...((schema.anyOf ?? []) as OrRef<Schema>[]).map((form) => resolveRef(document, form))];
  return forms.some(({ type }) => [type].flat().includes('null'));
}

function listFields(
  document: OpenApiDocument,
  response: ResponseObject | undefined,
  isList: boolean,
): Record<string, ValueType> {
  const schema = response?.content?.['application/json']?.schema;
  const { properties = {} } = schema ? resolveRef<Schema>(document, schema) : {};
  const items = properties['data'] && resolveRef<Schema>(document, properties['data']).items;
  const names = items && isList ? resolveRef<Schema>(document, items).properties : properties;
  const fields = Object.entries(names ?? {}).filter(([name]) => name !== 'object');
  return Object.fromEntries(fields.map(([name, given]) => [name, findValueType(document, given)]));
}

function findValueType(document: OpenApiDocument, given: OrRef<Schema>): ValueType {
  const schema = resolveRef(document, given);
  const forms = [schema, ...((schema.anyOf ?? []) as OrRef<Schema>[]).map((form) => resolveRef(document, form))];
  if (forms.some(({ format }) => format === 'date-time')) return 'time';
  const types = forms.flatMap(({ type }) => type ?? []).filter((type) => type !== 'null');
  return types.length > 0 && types.every((type) => type === 'integer' || type === 'number') ? 'number' : 'text';
}

/** Keeps the flags of a further command: those that are its words, all of which it needs. */
function narrowFlags(all: CommandText['flags'], { words = [] }: CommandOverride): CommandText['flags'] {
  const flags = words.map((field) => [field, { ...all[field], isRequired: true, isClearable: undefined }]);
  return Object.fromEntries(flags) as CommandText['flags'];
}

/** Turns `Retrieve a topic` into `show a topic`, and adds the order of a list. */
function summarise({ operation }: OperationEntry): string {
  const text = operation.summary.replace(/^(?:Read|Retrieve|See|View) /, 'Show ').replaceAll('`', '');
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

/** Lists the fields of the query and of the body, each with its flag; nested fields are named `one.two`. */
function describeFlags(
  document: OpenApiDocument,
  { parameters, operation }: OperationEntry,
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
    add(name, schema, { description, isRequired, isQuery: true, source: source as FlagSource });
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

/** Words come first in their order; fields shown on request keep their own order. */
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
  const isBoolean = own.syntax === undefined && types.includes('boolean');
  const isJson = own.syntax === undefined && (types.includes('object') || (items !== undefined && isObject(items)));
  const isNumber = types.some((type) => type === 'integer' || type === 'number') && !types.includes('string');
  const isMany = items !== undefined || (own.syntax !== undefined && types.includes('object'));
  const isSeveral = own.isWord ?? own.isVariadic ?? own.isList;
  return {
    ...(flag !== undefined && { flag }),
    ...(!isBoolean && {
      value: value ?? nameValue(last, schema, { flag, isJson, isNumber, hasChoices: choices.length > 0 }),
    }),
    says: `${firstSentence(description ?? last.replaceAll('_', ' '))}${describeDefault(schema.default)}`,
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

/** Names a default that is a value of the field; `false` is what leaving out any flag means. */
const describeDefault = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? ` (default: ${value})` : '';

const isObject = (schema: Schema | { $ref: string }): boolean =>
  '$ref' in schema || !(schema.enum || [schema.type].flat().includes('string'));

/** Fields of several lines, which may be read from a file with this content. */
const FILES: Readonly<Record<string, string>> = {
  html: 'HTML',
  existing_html: 'HTML',
  text: 'plain text',
  instructions: 'instructions',
  notes: 'notes',
  signature: 'signature',
};

/** Above this number a list of choices, such as all countries, is of no use. */
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
 * Returns a complete example call: the path and the words from the contract's examples, then the required options, or
 * one optional option if none is required.
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
 * Returns the first sentence in the style of help: without a capital, a period and Markdown, and without what only JSON
 * can express. A long sentence is cut at its semicolon.
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

/** Approximate number of characters that fit after an option on one line. */
const HELP_CHARS_MAX = 110;
