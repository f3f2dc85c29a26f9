import { type Executor } from '../../platform/db/index.ts';

export type PageKind = 'broadcast' | 'template' | 'automation';

export interface PageShareRow {
  token_hash: string;
  team_id: string;
  kind: PageKind;
  target_id: string;
  /** A JSON list of ids. */
  contact_ids: string;
  /** 1 if readers may review the content. */
  allow_review: number;
  created_at: number;
  expires_at: number;
}

const COLUMNS = [
  'token_hash',
  'team_id',
  'kind',
  'target_id',
  'contact_ids',
  'allow_review',
  'created_at',
  'expires_at',
] as const;

export const insertPageShare = (db: Executor, row: PageShareRow): Promise<number> =>
  db.insertMany('page_shares', COLUMNS, [COLUMNS.map((column) => row[column])]);

/** Uses one query for unknown, expired and revoked links, so that their responses take the same time too. */
export const findLivePageShare = (db: Executor, tokenHash: string, now: number): Promise<PageShareRow | undefined> =>
  db.get<PageShareRow>('select * from page_shares where token_hash = ? and expires_at > ?', [tokenHash, now]);

/** Removes the links to one page; returns when each of them would have expired. */
export const removePageShares = (
  tx: Executor,
  { teamId, targetId }: { teamId: string; targetId: string },
): Promise<Pick<PageShareRow, 'expires_at'>[]> =>
  tx.all('delete from page_shares where team_id = ? and target_id = ? returning expires_at', [teamId, targetId]);

export const deleteExpiredPageShares = (db: Executor, now: number): Promise<number> =>
  db.run('delete from page_shares where expires_at <= ?', [now]);
