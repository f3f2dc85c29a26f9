import type { OperationId } from '../client/index.ts';
import type { Action, Flag } from '../families/family.ts';
import { CliFault, readFallback, readVariable, type CommandProcess } from '../output/index.ts';
import { attributeOf, optionOf, readFlags } from './read-flags.ts';
import { readText } from './read-text.ts';

type Options = Readonly<Record<string, unknown>>;
export type Body = Readonly<Record<string, unknown>>;

/** The body of an action: its words, its options, the files that some of them name, and null where a field is cleared. */
export async function readBody(
  process: CommandProcess,
  { operation, flags, clears }: Action,
  words: readonly (string | undefined)[],
  options: Options,
): Promise<Body> {
  mustReadStdinOnce(flags, options);
  const spoken = Object.entries(flags).filter(([, { isWord }]) => isWord);
  const body: Record<string, unknown> = {
    ...Object.fromEntries(spoken.map(([field], at) => [field, words[at]])),
    ...readFlags(Object.fromEntries(Object.entries(flags).filter(([, { isWord }]) => !isWord)), options),
  };
  for (const [field, flag] of Object.entries(flags)) {
    if (flag.fromFile !== undefined) await readFile(process, body, { field, flag }, options);
    if (flag.isJson && body[field] !== undefined) body[field] = parse(String(body[field]), flag.fromFile ?? field);
  }
  const read = BODIES[operation as OperationId]?.(body) ?? body;
  return clears ? { ...read, ...readCleared(clears, read, options['clear'] as string[] | undefined) } : read;
}

/** Fields that an option says in a shorter way than the API. */
const BODIES: Partial<Record<OperationId, (body: Body) => Body>> = {
  createTemplate: withVariables,
  updateTemplate: withVariables,
  createContactProperty: ({ fallback_value: text, ...body }) =>
    text === undefined ? body : { ...body, fallback_value: readFallback(String(body['type']), String(text)) },
};

function withVariables({ variables, ...body }: Body): Body {
  return variables === undefined ? body : { ...body, variables: (variables as string[]).map(readVariable) };
}

async function readFile(
  process: CommandProcess,
  body: Record<string, unknown>,
  { field, flag }: { field: string; flag: Flag },
  options: Options,
): Promise<void> {
  const option = optionOf(field, flag);
  const file = fileOf(field, flag, options);
  if (file === undefined) return;
  if (body[field] !== undefined) {
    throw new CliFault(`the ${flag.fromFile} is given twice, by --${option} and --${option}-file; choose one`, 'usage');
  }
  body[field] = await readText(process, file, `--${option}-file`);
}

function mustReadStdinOnce(flags: Readonly<Record<string, Flag>>, options: Options): void {
  const files = Object.entries(flags).filter(([field, flag]) => fileOf(field, flag, options) === '-');
  if (files.length > 1) {
    throw new CliFault('standard input holds one body; read the other one from a file', 'usage');
  }
}

const fileOf = (field: string, flag: Flag, options: Options): string | undefined =>
  flag.fromFile === undefined
    ? undefined
    : (options[`${attributeOf(optionOf(field, flag))}File`] as string | undefined);

function parse(text: string, holds: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliFault(`the ${holds} is no JSON: ${(error as Error).message.slice(0, 120)}`, 'usage');
  }
}

function readCleared(clears: readonly string[], body: Body, fields: readonly string[] = []): Body {
  for (const field of fields) {
    if (!clears.includes(field)) {
      throw new CliFault(`--clear takes ${clears.join(', ')}; got ${JSON.stringify(field)}`, 'usage');
    }
    if (field in body) throw new CliFault(`${field} is both given and cleared; choose one`, 'usage');
  }
  return Object.fromEntries(fields.map((field) => [field, null]));
}
