import { invalidField } from '../../../platform/refusal/index.ts';
import type { Subscription } from '../../../protocol/contact-filter/index.ts';

export interface Choice {
  id: string;
  subscription: Subscription;
}

/** Choices of a body, the last one of each topic, among the topics of the team. */
export function readChoices(given: readonly Choice[], live: readonly { id: string }[]): Choice[] {
  const known = new Set(live.map(({ id }) => id));
  const chosen = new Map<string, Choice>();
  for (const [i, { id, subscription }] of given.entries()) {
    const topicId = id.toLowerCase();
    if (!known.has(topicId)) {
      throw invalidField(`topics.${i}.id`, `topics.${i}.id names no topic of this team.`);
    }
    chosen.set(topicId, { id: topicId, subscription });
  }
  return [...chosen.values()];
}
