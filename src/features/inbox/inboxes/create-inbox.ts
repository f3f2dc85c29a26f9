import type { CreateInboxRequest } from '../../../contract/index.ts';
import { recordEvents } from '../../../mail/events/index.ts';
import { isUniqueViolation } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { lockDomain } from '../../../mail/domains/index.ts';
import { countInboxes, insertInbox, presentInbox, sourceOf, type NewInbox } from '../inbox-rows/index.ts';
import { readInboxAddress } from './read-inbox-address.ts';

const INBOXES_MAX = 100;

export async function createInbox(ctx: Ctx, input: CreateInboxRequest) {
  const { store, teamId, actor } = ctx;
  const { address, key, domain, receivingAddress } = await readInboxAddress(ctx, input);
  const at = store.clock.now();
  const row: NewInbox = {
    ...{ id: store.ids.uuid(), team_id: teamId, domain_id: domain.id },
    ...{ address, address_key: key, receiving_address: receivingAddress },
    name: input.name ?? null,
    from_name: input.from_name ?? null,
    channel: input.channel ?? 'open',
    signature: input.signature ?? null,
    thread_by_subject: input.thread_by_subject === true ? 1 : 0,
    ...{ agent_instructions: null, agent_tone: null, agent_actions: '[]' },
    ...{ last_received_at: null, created_at: at, updated_at: at },
  };
  try {
    await store.db.tx(async (tx) => {
      await lockTeam(tx, teamId);
      if ((await countInboxes(tx, teamId)) >= INBOXES_MAX) throw tooMany();
      // It may have been deleted since it was looked at.
      if (!(await lockDomain(tx, teamId, domain.id))) throw domainGone(domain.name);
      await insertInbox(tx, row);
      const inbox = presentInbox({ ...row, deleted_at: null }, { unread: 0, drafts: 0 });
      const data = { source: sourceOf(actor), inbox_id: row.id, inbox };
      await recordEvents(tx, store.ids, [{ teamId, type: 'inbox.created', subjectId: row.id, data, at }]);
    });
  } catch (error) {
    throw isUniqueViolation(error) ? addressTaken(address) : error;
  }
  return { object: 'inbox' as const, id: row.id };
}

const addressTaken = (address: string) => refuse('resource_locked', { say: `${address} is an inbox already.` });

const tooMany = () =>
  refuse('validation_error', { status: 422, say: `A team may have at most ${INBOXES_MAX} inboxes; delete one first.` });

const domainGone = (name: string) =>
  refuse('validation_error', { status: 422, say: `email_address: ${name} is no domain of this team any more.` });
