import { createHash } from 'node:crypto';
import { isoTime } from '../../../platform/clock.ts';
import type { Executor, Page } from '../../../platform/db/index.ts';
import { invalidField, notFound, refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findTemplate } from '../../templates/index.ts';
import { findBroadcast, lockBroadcast, type BroadcastRow, type BroadcastStatus } from './broadcasts.store.ts';
import { countReviews, findLatestReview, insertReview, reviewsPage, type Decision } from './reviews.store.ts';

export type ReviewStatus = Decision | 'none' | 'outdated';

/** A reader approves everything that the author writes, except the speed of sending and a name that is in no link. */
type Reviewed = Pick<
  BroadcastRow,
  | 'team_id'
  | 'sender'
  | 'subject'
  | 'reply_to_list'
  | 'preview_text'
  | 'html'
  | 'text'
  | 'ab_test'
  | 'utm'
  | 'name'
  | 'template_id'
  | 'template_version_id'
  | 'body_id'
  | 'topic_id'
  | 'segment_id'
  | 'segment_ids'
  | 'exclude_segment_ids'
  | 'not_received_from'
  | 'received_but_not_opened'
  | 'archive'
>;

/** Returns a hash of what is sent and to whom, and of its publication; of a draft, with the version of its template that is published now. */
export async function computeVersion(db: Executor, row: Reviewed): Promise<string> {
  const content = [
    row.sender,
    row.subject,
    row.reply_to_list,
    row.preview_text,
    row.html,
    row.text,
    row.ab_test,
    row.utm,
    // The campaign among the parameters of links is made from the name.
    row.utm === null ? null : row.name,
    row.template_id,
    await findVersionId(db, row),
    row.topic_id,
    row.segment_id,
    row.segment_ids,
    row.exclude_segment_ids,
    row.not_received_from,
    row.received_but_not_opened,
    row.archive,
  ];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

async function findVersionId(db: Executor, row: Reviewed): Promise<string | null> {
  if (row.template_id === null || row.body_id !== null) return row.template_version_id;
  return (await findTemplate(db, row.team_id, row.template_id))?.published_version_id ?? null;
}

/** Returns the latest decision on the current content. */
export async function loadReviewStatus(db: Executor, row: Reviewed & { id: string }): Promise<ReviewStatus> {
  const latest = await findLatestReview(db, row.id);
  if (!latest) return 'none';
  return latest.version === (await computeVersion(db, row)) ? latest.decision : 'outdated';
}

/** Reports whether a broadcast may be sent as far as its review is concerned. */
export const isCleared = async (db: Executor, row: BroadcastRow): Promise<boolean> =>
  row.require_review === 0 || (await loadReviewStatus(db, row)) === 'approved';

const UNSENT: ReadonlySet<BroadcastStatus> = new Set(['draft', 'scheduled', 'queued']);

/** Reports whether a review still has an effect. */
export const isReviewable = ({ status }: { status: BroadcastStatus }): boolean => UNSENT.has(status);

/** Anyone with the link can add reviews, so their number is limited. */
const REVIEWS_MAX = 200;

interface Review {
  decision: Decision;
  name: string;
  note?: string | null | undefined;
  version: string;
}

/** Records the decision of a reader on the content that the reader saw. */
export async function reviewBroadcast(
  store: Store,
  { teamId, id }: { teamId: string; id: string },
  { decision, name, note, version }: Review,
) {
  const said = (note ?? '').trim();
  if (decision === 'changes_requested' && said === '') {
    throw invalidField('note', 'note must say which changes are requested.');
  }
  const row = {
    id: store.ids.uuid(),
    broadcast_id: id,
    version,
    decision,
    name: name.trim(),
    note: said === '' ? null : said,
    created_at: store.clock.now(),
  };
  await store.db.tx(async (tx) => {
    const broadcast = await lockBroadcast(tx, teamId, id);
    if (!broadcast) throw notFound('Broadcast');
    if (!isReviewable(broadcast)) {
      throw refuse('invalid_permission', {
        say: 'This broadcast is being sent or has ended, so it cannot be reviewed.',
      });
    }
    if (version !== (await computeVersion(tx, broadcast))) {
      throw refuse('validation_error', {
        status: 422,
        say: 'The broadcast was changed after you opened its page. Open the page again and review the current content.',
      });
    }
    if ((await countReviews(tx, id)) >= REVIEWS_MAX) {
      throw refuse('validation_error', {
        status: 422,
        say: `This broadcast has ${REVIEWS_MAX} reviews, the limit. Ask the team to copy it and to share the copy.`,
      });
    }
    await insertReview(tx, row);
  });
  return { object: 'broadcast_review' as const, id: row.id, decision };
}

export async function listBroadcastReviews({ store, teamId }: Ctx, id: string, page: Page) {
  const broadcast = await findBroadcast(store.db, teamId, id);
  if (!broadcast) throw notFound('Broadcast');
  const version = await computeVersion(store.db, broadcast);
  const { rows, hasMore } = await reviewsPage(store.db, id, page);
  const data = rows.map((row) => ({
    id: row.id,
    decision: row.decision,
    name: row.name,
    note: row.note,
    is_current: row.version === version,
    created_at: isoTime(Number(row.created_at)),
  }));
  return { object: 'list' as const, has_more: hasMore, data };
}
