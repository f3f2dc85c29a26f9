import type { CallOf, OperationId } from '../client/index.ts';
import type { Action, Body } from '../families/index.ts';

/**
 * The call that does an action: with its body where it has fields, and by its other operation where several are named. One that
 * is done once has `key`, or a key of what it says and to what.
 */
export function callOf(
  { operation, flags, several, sets, isOnce }: Action,
  path: Readonly<Record<string, string>>,
  body: Body,
  key?: string,
): [operation: OperationId, call: CallOf<OperationId>] {
  const named = several && (body[several.field] as readonly unknown[] | undefined);
  const [operationId, given] =
    several && named && named.length > 1
      ? [several.operation, { body: { [several.as]: named } }]
      : [operation, { path, ...bodyOf(flags, several && named ? { ...body, [several.field]: named[0] } : body) }];
  const said = sets === undefined ? given : { ...given, body: { ...sets, ...(given as { body?: object }).body } };
  const once = isOnce ? { header: { 'Idempotency-Key': key ?? keyOf(operationId, said) } } : {};
  return [operationId as OperationId, { ...said, ...once } as CallOf<OperationId>];
}

/** A caller that does not know whether it was done repeats it with the same key: it is done once. */
const keyOf = (operation: string, said: object): string =>
  // Few calls need it, and it is a tenth of a start.
  `cli-${process
    .getBuiltinModule('node:crypto')
    .createHash('sha256')
    .update(JSON.stringify([operation, said]))
    .digest('hex')}`;

/** Where it has fields; those of the query apart. */
function bodyOf(flags: Action['flags'], body: Body): object {
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
