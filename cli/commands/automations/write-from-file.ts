import { buildCall, readStructure, type Typed } from '../../input/index.ts';
import { CliFault } from '../../output/index.ts';
import { prepare, printResponse, readText, runAction, type Call } from '../run-action.ts';
import type { Session } from '../session.ts';

/** Creates an automation from options, or from a file whose fields the options replace. */
export async function runCreate(session: Session, call: Call): Promise<void> {
  if (typeof call.options['file'] === 'string') return writeFromFile(session, call, call.options['file']);
  if (call.words[0] === undefined) throw new CliFault("missing required argument 'name', or --file", 'usage');
  return runAction(session, call);
}

/** Changes an automation by options, or by a file whose fields the options replace. */
export async function runUpdate(session: Session, call: Call): Promise<void> {
  if (typeof call.options['file'] === 'string') return writeFromFile(session, call, call.options['file']);
  return runAction(session, call);
}

async function writeFromFile(session: Session, call: Call, file: string): Promise<void> {
  const { action, words } = call;
  const text = await readText(session.process, file, '--file');
  const given = await readStructure(text, 'automation', file);
  const fields = readFields(call, given, file);
  const amend = (typed: Typed): Typed => ({ ...typed, fields: { ...omit(fields, typed), ...typed.fields } });
  const isNamed = fields['name'] !== undefined || words[Object.keys(action.path).length] !== undefined;
  if (action.operation === 'createAutomation' && !isNamed) {
    throw new CliFault(`${file} has no name; add one, or type it`, 'usage');
  }
  const [path, body] = await prepare(session, call, amend);
  await printResponse(session, call, await session.client.call(...buildCall(action, path, body)), body);
}

/** Returns the fields of a file as they would be typed; throws for fields that the command does not have. */
function readFields({ action: { flags } }: Call, given: unknown, file: string): Record<string, unknown> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new CliFault(`${file} must contain one automation with steps and connections`, 'usage');
  }
  const known = Object.keys(flags);
  const unknown = Object.keys(given).filter((field) => !known.includes(field));
  if (unknown.length > 0) {
    throw new CliFault(`${file} has unknown fields: ${unknown.join(', ')}; known are ${known.join(', ')}`, 'usage');
  }
  return Object.fromEntries(
    Object.entries(given).map(([field, value]) => [field, flags[field]?.isJson ? JSON.stringify(value) : value]),
  );
}

/** Returns the fields that no option sets by a value or a file, or clears. */
const omit = (fields: Record<string, unknown>, { files, cleared }: Typed): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([field]) => !(field in files) && !(field in cleared)));
