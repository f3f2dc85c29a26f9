import type { Client } from '../../client/index.ts';
import { callOf, findId } from '../../input/index.ts';
import { readWhere, type Where } from '../../input/read-where.ts';
import { CliFault } from '../../output/index.ts';
import { prepare, tell, type Call } from '../run-action.ts';
import type { Session } from '../session.ts';

/** The filter may be a condition in words. */
export async function runByWhere(session: Session, call: Call): Promise<void> {
  const { client } = session;
  const { where } = call.options;
  const isJson = call.options['filter'] !== undefined || call.options['filterFile'] !== undefined;
  if (where !== undefined && isJson) throw new CliFault('--where and --filter say the same; choose one', 'usage');
  const filter = typeof where === 'string' ? await withTopics(client, readWhere(where)) : undefined;
  const [path, body] = await prepare(session, call, (typed) =>
    filter === undefined ? typed : { ...typed, fields: { ...typed.fields, filter: JSON.stringify(filter) } },
  );
  await tell(session, call, await client.call(...callOf(call.action, path, body)), body);
}

/** People know topics by their names, the API by their ids. */
async function withTopics(client: Client, where: Where): Promise<Where> {
  const each = async (parts: readonly Where[]): Promise<Where[]> => {
    const found: Where[] = [];
    for (const part of parts) found.push(await withTopics(client, part));
    return found;
  };
  if ('all' in where) return { all: await each(where.all) };
  if ('any' in where) return { any: await each(where.any) };
  if ('not' in where) return { not: await each(where.not) };
  return 'topic' in where ? { ...where, topic: await findId(client, 'topic_id', where.topic) } : where;
}
