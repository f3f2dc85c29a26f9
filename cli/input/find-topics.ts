import type { Client } from '../client/index.ts';
import { findId } from './find-id.ts';
import type { Where } from './read-where.ts';

/** People know topics by their names, the API by their ids. */
export async function findTopics(client: Client, where: Where): Promise<Where> {
  const each = async (parts: readonly Where[]): Promise<Where[]> => {
    const found: Where[] = [];
    for (const part of parts) found.push(await findTopics(client, part));
    return found;
  };
  if ('all' in where) return { all: await each(where.all) };
  if ('any' in where) return { any: await each(where.any) };
  if ('not' in where) return { not: await each(where.not) };
  return 'topic' in where ? { ...where, topic: await findId(client, 'topic_id', where.topic) } : where;
}
