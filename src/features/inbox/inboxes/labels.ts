import type { CreateInboxLabelRequest, UpdateInboxLabelRequest } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import { isUniqueViolation } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import { foldForSearch } from '../../../mail/emails/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { insertLabel, labelsOf, lockInbox, markLabelDeleted, updateLabelRow } from '../inbox-rows/index.ts';
import { inboxNamed } from './read-inboxes.ts';

const LABELS_MAX = 100;
const GREY = '#8B8D98';

export async function listInboxLabels(ctx: Ctx, named: string) {
  const inbox = await inboxNamed(ctx, named);
  const rows = await labelsOf(ctx.store.db, inbox.id);
  const data = rows.map(({ id, name, color, created_at: at }) => ({
    id,
    name,
    color,
    created_at: isoTime(Number(at)),
  }));
  return { object: 'list' as const, data };
}

export async function createInboxLabel(ctx: Ctx, named: string, { name, color = GREY }: CreateInboxLabelRequest) {
  const { store, teamId } = ctx;
  const inbox = await inboxNamed(ctx, named);
  const id = store.ids.uuid();
  const row = { ...{ id, inbox_id: inbox.id, name, name_key: keyOf(name), color }, created_at: store.clock.now() };
  await unlessTaken(name, async () => {
    await store.db.tx(async (tx) => {
      if (!(await lockInbox(tx, teamId, inbox.id))) throw notFound('Inbox');
      if ((await labelsOf(tx, inbox.id)).length >= LABELS_MAX) throw tooMany();
      await insertLabel(tx, row);
    });
  });
  return { object: 'inbox_label' as const, id };
}

export async function updateInboxLabel(ctx: Ctx, named: string, id: string, input: UpdateInboxLabelRequest) {
  const inbox = await inboxNamed(ctx, named);
  const { name, color } = input;
  const change = {
    ...(name === undefined ? {} : { name, name_key: keyOf(name) }),
    ...(color === undefined ? {} : { color }),
  };
  await unlessTaken(name ?? '', async () => {
    if (!(await ctx.store.db.tx((tx) => updateLabelRow(tx, inbox.id, id, change)))) throw notFound('Label');
  });
  return { object: 'inbox_label' as const, id };
}

export async function deleteInboxLabel(ctx: Ctx, named: string, id: string) {
  const inbox = await inboxNamed(ctx, named);
  const at = ctx.store.clock.now();
  if (!(await ctx.store.db.tx((tx) => markLabelDeleted(tx, inbox.id, id, at)))) throw notFound('Label');
  return { object: 'inbox_label' as const, id, deleted: true as const };
}

const keyOf = (name: string): string => foldForSearch(name.trim());

async function unlessTaken(name: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw refuse('invalid_parameter', {
      say: `name: there is a label called ${JSON.stringify(name)} already; choose another.`,
    });
  }
}

const tooMany = () =>
  refuse('validation_error', {
    status: 422,
    say: `An inbox may have at most ${LABELS_MAX} labels; delete one first.`,
  });
