import type { CreateBroadcastRequest } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { grantIdOf, readApprovedContacts, type Ctx } from '../../../tenancy/access/index.ts';
import { insertBroadcast, lockBroadcast, type BroadcastContent, type NewBroadcastRow } from './broadcasts.store.ts';
import { lookAround } from './gate.ts';
import { mustBeAddressed, readNewContent, readTemplateId } from './read-content.ts';
import { prepareContent, repeatWhileChanged } from './prepare-content.ts';
import { readWhen } from './read-when.ts';
import { sendDraft } from './send-broadcast.ts';

export const broadcastNamed = (id: string) => ({ object: 'broadcast' as const, id });

/**
 * With `send` the draft is sent in the same transaction: what refuses that leaves nothing behind. `keep` writes there what is
 * answered, for the requests that repeat this one.
 */
export async function createBroadcast(
  ctx: Ctx,
  input: CreateBroadcastRequest,
  keep?: (tx: Executor, answer: object) => Promise<void>,
) {
  const { store, teamId } = ctx;
  const content = readNewContent(input);
  const when = readWhen(input.scheduled_at, store.clock.now());
  if (input.template) content.template_id = await readTemplateId(store.db, teamId, input.template.id);
  const isSent = input.send === true;
  const around = isSent ? await lookAround(store, teamId, content) : undefined;
  const row = draftOf(ctx, content);
  const answer = broadcastNamed(row.id);
  await repeatWhileChanged(async () => {
    const prepared = isSent ? await prepareContent(store, row) : undefined;
    await store.db.tx(async (tx) => {
      await mustBeAddressed(tx, teamId, {
        segmentId: isSent ? null : content.segment_id,
        topicId: content.topic_id,
      });
      await insertBroadcast(tx, row);
      const draft = around && (await lockBroadcast(tx, teamId, row.id));
      const isAcknowledged = input.acknowledge_checks === true;
      const isLocal = draft?.local_time === 1;
      if (draft) {
        const approvedContacts = readApprovedContacts(ctx.actor);
        await sendDraft(store, tx, draft, { around, prepared, when, isLocal, isAcknowledged, approvedContacts });
      }
      await keep?.(tx, answer);
    });
  });
  return answer;
}

export function draftOf({ store, teamId, actor }: Ctx, content: BroadcastContent): NewBroadcastRow {
  const now = store.clock.now();
  const author_grant_id = grantIdOf(actor);
  const made = { id: store.ids.uuid(), team_id: teamId, status: 'draft' as const, author_grant_id };
  return { ...content, ...made, created_at: now, updated_at: now };
}
