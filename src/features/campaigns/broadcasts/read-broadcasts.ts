import type { QueryOf } from '../../../contract/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import { foldText } from '../../../protocol/contact-filter/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { clicksOf, countsOf, exclusionsPage, linksPage, recipientsPage } from '../broadcast-recipients/index.ts';
import { imagesShownIn } from '../../templates/images/index.ts';
import { findContactsByIds } from '../../audience/contacts/index.ts';
import { findBroadcast, listBroadcastRows, type BroadcastRow } from './broadcasts.store.ts';
import { checkZones } from './check-zones.ts';
import { checkAbTest, presentAbTest } from './ab-test.ts';
import { aroundOf } from './freeze-broadcast.ts';
import { checkBodies, countChars } from './text-tasks.ts';
import { lookAround, runGate } from './gate.ts';
import { emailIn, presentBroadcast, presentBroadcastItem, presentRecipient } from './present.ts';

export async function getBroadcast(ctx: Ctx, id: string) {
  const row = await broadcastOf(ctx, id);
  const { db } = ctx.store;
  return { ...presentBroadcast(row, (await countsOf(db, [id])).get(id)), ab: await presentAbTest(db, row) };
}

export async function listBroadcasts({ store, teamId }: Ctx, query: QueryOf<'listBroadcasts'>, page: Page) {
  const { search, status } = query;
  const wanted = search === undefined ? undefined : foldText(search);
  const { rows, hasMore } = await listBroadcastRows(
    store.db,
    teamId,
    {
      status,
      ...(wanted !== undefined && {
        matches: ({ name, subject }) => foldText(name).includes(wanted) || foldText(subject).includes(wanted),
      }),
    },
    page,
  );
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentBroadcastItem) };
}

export async function listBroadcastRecipients(
  ctx: Ctx,
  id: string,
  query: QueryOf<'listBroadcastRecipients'>,
  page: Page,
) {
  const { type, email, bounce_type: bounceType } = query;
  if (bounceType !== undefined && type !== 'bounced') {
    throw refuse('invalid_parameter', { say: `bounce_type goes with type bounced alone; got type ${type}.` });
  }
  const { db } = ctx.store;
  await broadcastOf(ctx, id);
  const { rows, hasMore } = await recipientsPage(db, { broadcastId: id, type, email, bounceType }, page);
  const live = await liveAmong(ctx, rows);
  const emailIds = type === 'clicked' ? rows.flatMap((row) => row.email_id ?? []) : [];
  const clicks = Map.groupBy(emailIds.length > 0 ? await clicksOf(db, emailIds) : [], (one) => one.email_id);
  const data = rows.map((row) => presentRecipient(row, { type, live, clicks: clicks.get(row.email_id ?? '') ?? [] }));
  return { object: 'list' as const, has_more: hasMore, data };
}

export async function listBroadcastExclusions(ctx: Ctx, id: string, page: Page) {
  await broadcastOf(ctx, id);
  const { rows, hasMore } = await exclusionsPage(ctx.store.db, id, page);
  const live = await liveAmong(ctx, rows);
  const data = rows.flatMap((row) =>
    row.excluded === null
      ? []
      : [{ id: row.id, contact_id: liveId(row.contact_id, live), email: emailIn(row), reason: row.excluded }],
  );
  return { object: 'list' as const, has_more: hasMore, data };
}

export async function listBroadcastLinks(ctx: Ctx, id: string, page: Page) {
  await broadcastOf(ctx, id);
  const { rows, hasMore } = await linksPage(ctx.store.db, id, page);
  const data = rows.map(({ id: linkId, url, clicks, unique_clicks, machine_clicks }) => ({
    ...{ id: linkId, url, clicks, unique_clicks, machine_clicks },
  }));
  return { object: 'list' as const, has_more: hasMore, data };
}

/** What a send would be told now; nothing is sent. */
export async function getBroadcastChecklist(ctx: Ctx, id: string) {
  const { store, teamId } = ctx;
  const row = await broadcastOf(ctx, id);
  const around = await lookAround(store, teamId, row);
  const { items, source, domain } = await runGate(store, store.db, { teamId, row, around });
  const zones = await checkZones(store.db, teamId, row);
  const { properties, team } = await aroundOf(store.db, row);
  const shown = await imagesShownIn(store, store.db, teamId, source?.html ?? '');
  const { subject, preview_text, ab_test } = row;
  const ofContent = await store.texts.run(
    { teamId, chars: countChars(source), task: checkBodies },
    { written: { subject, preview_text, ab_test }, source, properties, team, shown },
  );
  const checks = [...ofContent, ...zones, ...checkAbTest(row, domain)];
  return { object: 'broadcast_checklist' as const, gate: items, checks };
}

async function broadcastOf({ store, teamId }: Ctx, id: string): Promise<BroadcastRow> {
  const row = await findBroadcast(store.db, teamId, id);
  if (!row) throw notFound('Broadcast');
  return row;
}

/** Of the contacts of these rows, those that were not deleted since. */
async function liveAmong(
  { store, teamId }: Ctx,
  rows: readonly { contact_id: string | null }[],
): Promise<ReadonlySet<string>> {
  const ids = rows.flatMap((row) => row.contact_id ?? []);
  return new Set((await findContactsByIds(store.db, teamId, ids)).map((contact) => contact.id));
}

const liveId = (id: string | null, live: ReadonlySet<string>): string | null =>
  id !== null && live.has(id) ? id : null;
