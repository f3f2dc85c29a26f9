import type { Executor } from '../../../platform/db/index.ts';
import type { Declared } from '../../../protocol/contact-filter/index.ts';
import { declaredProperties } from '../contact-properties/index.ts';
import { liveTopics } from '../topics/index.ts';

/** What the filters of a team may name at this moment. */
export async function declaredFor(db: Executor, teamId: string): Promise<Declared> {
  return { properties: await declaredProperties(db, teamId), topics: await liveTopics(db, teamId) };
}
