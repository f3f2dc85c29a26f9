import { buildCall } from '../../input/index.ts';
import { findNamedInWhere } from '../../input/find-id.ts';
import { readWhere } from '../../input/read-where.ts';
import { CliFault } from '../../output/index.ts';
import { prepare, printResponse, type Call } from '../run-action.ts';
import type { Session } from '../session.ts';

/** The filter may be a condition in words. */
export async function runByWhere(session: Session, call: Call): Promise<void> {
  const { client } = session;
  const { where } = call.options;
  const isJson = call.options['filter'] !== undefined || call.options['filterFile'] !== undefined;
  if (where !== undefined && isJson) throw new CliFault('--where and --filter mean the same; choose one', 'usage');
  const filter = typeof where === 'string' ? await findNamedInWhere(client, readWhere(where)) : undefined;
  const [path, body] = await prepare(session, call, (typed) =>
    filter === undefined ? typed : { ...typed, fields: { ...typed.fields, filter: JSON.stringify(filter) } },
  );
  await printResponse(session, call, await client.call(...buildCall(call.action, path, body)), body);
}
