import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../../platform/db/index.ts';

export type Decision = 'approved' | 'changes_requested';

export interface ReviewRow {
  id: string;
  broadcast_id: string;
  /** Hash of the content that was reviewed. */
  version: string;
  decision: Decision;
  name: string;
  note: string | null;
  created_at: number;
}

const COLUMNS = ['id', 'broadcast_id', 'version', 'decision', 'name', 'note', 'created_at'] as const;

export const insertReview = (tx: Executor, row: ReviewRow): Promise<number> =>
  tx.insertMany('broadcast_reviews', COLUMNS, [COLUMNS.map((column) => row[column])]);

export const findLatestReview = (
  db: Executor,
  broadcastId: string,
): Promise<Pick<ReviewRow, 'version' | 'decision'> | undefined> =>
  db.get('select version, decision from broadcast_reviews where broadcast_id = ? order by id desc limit 1', [
    broadcastId,
  ]);

export async function countReviews(db: Executor, broadcastId: string): Promise<number> {
  const sql = 'select count(*) as n from broadcast_reviews where broadcast_id = ?';
  return Number((await db.get<{ n: number }>(sql, [broadcastId]))?.n ?? 0);
}

export async function reviewsPage(
  db: Executor,
  broadcastId: string,
  page: Page,
): Promise<{ rows: ReviewRow[]; hasMore: boolean }> {
  const sql = pageSql('broadcast_reviews', 'broadcast_id = ?', page);
  return cutPage(await db.all<ReviewRow>(sql, [broadcastId, ...pageValues(page)]), page);
}
