import type { CallOf, OperationId } from '../client/index.ts';
import type { Action, Body } from '../families/index.ts';

/** The call that does an action: with its body where it has fields, and by its other operation where several are named. */
export function callOf(
  { operation, flags, several }: Action,
  path: Readonly<Record<string, string>>,
  body: Body,
): [operation: OperationId, call: CallOf<OperationId>] {
  const named = several && (body[several.field] as readonly unknown[] | undefined);
  const [operationId, given] =
    several && named && named.length > 1
      ? [several.operation, { body: { [several.as]: named } }]
      : [operation, { path, ...bodyOf(flags, several && named ? { ...body, [several.field]: named[0] } : body) }];
  return [operationId as OperationId, given as CallOf<OperationId>];
}

const bodyOf = (flags: Action['flags'], body: Body): object => (Object.keys(flags).length > 0 ? { body } : {});
