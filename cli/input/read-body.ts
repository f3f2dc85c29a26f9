import { ApiFault, type CallOf, type Client, type OperationId } from '../client/index.ts';
import { toOptionName, type Action, type Body, type Flag } from '../families/index.ts';
import { NAMED, namedBy } from '../families/named.ts';
import { CliFault } from '../output/index.ts';
import { findLabels, findId, findNamedInWhere } from './find-id.ts';
import { readFallback, isSeveral, readSyntax, type Place } from './syntaxes.ts';
import { isWords, readWhere } from './read-where.ts';

/** The values typed for the fields of an action, by field name. */
export interface Typed {
  /** A text, several of them, a number, or true or false. */
  fields: Readonly<Record<string, unknown>>;
  /** The files that hold a field. */
  files: Readonly<Record<string, string>>;
  /** Values to remove: the field, or those of several with these keys. */
  cleared: Readonly<Record<string, true | readonly string[]>>;
}

export interface Reading extends Place {
  client: Client;
  path: () => Promise<Readonly<Record<string, string>>>;
  readFile: (file: string, option: string) => Promise<string>;
}

/** Returns the body of an action from what was typed; fields that were not named are left out. */
export async function readBody({ operation, flags }: Action, typed: Typed, reading: Reading): Promise<Body> {
  const body: Record<string, unknown> = {};
  for (const [field, flag] of Object.entries(flags)) {
    const value = await readField(field, flag, typed, reading);
    if (value !== undefined) put(body, field, value);
  }
  return (await SHAPES[operation as OperationId]?.(body, reading)) ?? body;
}

async function readField(
  field: string,
  flag: Flag,
  { fields, files, cleared }: Typed,
  reading: Reading,
): Promise<unknown> {
  const gone = cleared[field];
  if (gone === true) return null;
  const given = await readText(field, flag, { given: fields[field], file: files[field] }, reading);
  const { syntax } = flag;
  if (gone) {
    const kept = given === undefined || !syntax ? {} : readSyntax(syntax, [given].flat() as string[], reading);
    return { ...(kept as object), ...Object.fromEntries(gone.map((key) => [key, null])) };
  }
  if (given === undefined) return undefined;
  const value = syntax ? readSyntax(syntax, [given].flat() as string[], reading) : given;
  if (flag.isWhere && isWords(String(given)))
    return findNamedInWhere(reading.client, readWhere(String(given), reading.nameOption(toOptionName(field, flag))));
  if (flag.isJson) return readStructure(String(given), flag.fromFile ?? field, files[field]);
  const named = namedBy(field);
  const whole = !syntax && isSeveral(flag) ? [value].flat() : value;
  return named === undefined ? whole : findAll(named, whole, reading);
}

/** Finds the ids of one name, of several, or of names that each have a value. */
async function findAll(named: string, value: unknown, { client, path }: Reading): Promise<unknown> {
  const find = async (given: unknown): Promise<unknown> => {
    if (typeof given === 'string')
      return findId(client, named, given, NAMED[named]?.isBelow ? { path: await path() } : {});
    const { id, ...said } = given as { id: string };
    return { id: await find(id), ...said };
  };
  if (!Array.isArray(value)) return find(value);
  const found: unknown[] = [];
  for (const one of value) found.push(await find(one));
  return found;
}

async function readText(
  field: string,
  flag: Flag,
  { given, file }: { given: unknown; file: string | undefined },
  { nameOption, readFile }: Reading,
): Promise<unknown> {
  if (file === undefined) return given;
  const option = toOptionName(field, flag);
  const ofFile = nameOption(`${option}-file`);
  if (given !== undefined)
    throw new CliFault(
      `the ${flag.fromFile} is given twice, by ${nameOption(option)} and ${ofFile}; choose one`,
      'usage',
    );
  return readFile(file, ofFile);
}

/** Reads JSON, or YAML from a file with such a name and from standard input that is no JSON. */
export async function readStructure(text: string, holds: string, file: string | undefined): Promise<unknown> {
  const isYaml = file === undefined ? false : file === '-' ? !/^\s*[[{]/.test(text) : /\.ya?ml$/i.test(file);
  try {
    // Few calls need it, and it is a part of a start.
    return isYaml ? (await import('yaml')).parse(text) : JSON.parse(text);
  } catch (error) {
    const says = (error as Error).message.split('\n')[0]?.slice(0, 120);
    throw new CliFault(`the ${holds} is not valid ${isYaml ? 'YAML' : 'JSON'}: ${says}`, 'usage');
  }
}

/** `one.two` is a field inside of another. */
function put(body: Record<string, unknown>, name: string, value: unknown): void {
  const [outer = '', inner] = name.split('.');
  body[outer] = inner === undefined ? value : { ...(body[outer] as object | undefined), [inner]: value };
}

/** Rules that involve several fields. */
const SHAPES: Partial<Record<OperationId, (body: Body, reading: Reading) => Body | Promise<Body>>> = {
  sendEmail: (body, { nameOption }) => {
    const { id, variables } = (body['template'] ?? {}) as { id?: string; variables?: unknown };
    if (id !== undefined || variables === undefined) return body;
    throw new CliFault(
      `${nameOption('variable')} belongs to a template; name it with ${nameOption('template')}`,
      'usage',
    );
  },
  putSso: async (body, { client }) => ({ ...(await connectionIn(client)), ...body }),
  previewBroadcast: sendAddressAsEmail,
  createAutomationRun: sendAddressAsEmail,
  dryRunAutomation: sendAddressAsEmail,
  addInboxThreadLabels: withLabels,
  setInboxThreadLabels: async (body, reading) => withLabels({ labels: [], ...body }, reading),
  updateInboxThread: async (body, reading) => ('labels' in body ? withLabels(body, reading) : body),
  createContactProperty: (body, { nameOption }) => withFallback(body, String(body['type']), nameOption),
  updateContactProperty: async (body, { client, nameOption, path }) => {
    if (typeof body['fallback_value'] !== 'string') return body;
    const { contact_property_id = '' } = await path();
    const { type } = await client.call('getContactProperty', { path: { contact_property_id } });
    return withFallback(body, type, nameOption);
  },
};

/** The option of a contact takes an id or an address; the API has a field for each. */
function sendAddressAsEmail({ contact_id: contact, ...body }: Body): Body {
  return typeof contact === 'string' && contact.includes('@') && body['email'] === undefined
    ? { ...body, email: contact }
    : { ...body, ...(contact !== undefined && { contact_id: contact }) };
}

/** People know labels by their names, the API by their ids. */
async function withLabels(body: Body, { client, path }: Reading): Promise<Body> {
  const { inbox = '' } = await path();
  return { ...body, labels: await findLabels(client, inbox, body['labels'] as readonly string[]) };
}

/** A PUT resets the fields that it omits: the current values are sent along. */
async function connectionIn(client: Client): Promise<Body> {
  try {
    const { issuer, client_id, enforced, default_role } = await client.call('getSso', {} as CallOf<'getSso'>);
    return { issuer, client_id, enforced, default_role };
  } catch (error) {
    if (error instanceof ApiFault && error.status === 404) return {};
    throw error;
  }
}

const withFallback = (body: Body, type: string, nameOption: Place['nameOption']): Body =>
  typeof body['fallback_value'] === 'string'
    ? { ...body, fallback_value: readFallback(type, body['fallback_value'], nameOption) }
    : body;

/**
 * Returns the call of an action: with its body if it has fields, and by its other operation if several are named. An
 * action that is done once has `key`, or a key derived from its content and item.
 */
export function buildCall(
  { operation, flags, several, sets, isOnce }: Action,
  path: Readonly<Record<string, string>>,
  body: Body,
  key?: string,
): [operation: OperationId, call: CallOf<OperationId>] {
  const named = several && (body[several.field] as readonly unknown[] | undefined);
  const [operationId, given] =
    several && named && named.length > 1
      ? [several.operation, { body: { [several.as]: named } }]
      : [operation, { path, ...buildBody(flags, several && named ? { ...body, [several.field]: named[0] } : body) }];
  const said = sets === undefined ? given : { ...given, body: { ...sets, ...(given as { body?: object }).body } };
  const once = isOnce ? { header: { 'Idempotency-Key': key ?? deriveIdempotencyKey(operationId, said) } } : {};
  return [operationId as OperationId, { ...said, ...once } as CallOf<OperationId>];
}

/** A caller that does not know the outcome repeats the call with the same key: it is done once. */
const deriveIdempotencyKey = (operation: string, said: object): string =>
  // Few calls need it, and it is a tenth of a start.
  `cli-${process
    .getBuiltinModule('node:crypto')
    .createHash('sha256')
    .update(JSON.stringify([operation, said]))
    .digest('hex')}`;

/** Returns the body if it has fields, without those of the query. */
function buildBody(flags: Action['flags'], body: Body): object {
  const named = Object.keys(flags);
  const inQuery = named.filter((name) => flags[name]?.isQuery);
  const kept = Object.entries(body);
  return {
    ...(named.length > inQuery.length && {
      body: Object.fromEntries(kept.filter(([name]) => !inQuery.includes(name))),
    }),
    ...(inQuery.length > 0 && { query: Object.fromEntries(kept.filter(([name]) => inQuery.includes(name))) }),
  };
}
