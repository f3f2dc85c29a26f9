import type { Executor } from '../../../platform/db/index.ts';
import type { BroadcastRow } from './broadcasts.store.ts';

/** A broadcast of the archive without what its author wrote into its bodies. */
export type ArchivedRow = Pick<
  BroadcastRow,
  'id' | 'subject' | 'ab_test' | 'ab_decision' | 'fallbacks' | 'started_at' | 'body_id'
>;

const COLUMNS = 'id, subject, ab_test, ab_decision, fallbacks, started_at, body_id';

/** Selects the broadcasts of the archive. Emails exist only after a review and after the start of sending. */
const IS_PUBLISHED = 'archive = 1 and recipients > 0';

export const isPublished = ({ archive, recipients }: Pick<BroadcastRow, 'archive' | 'recipients'>): boolean =>
  archive === 1 && recipients > 0;

/** Finds a broadcast of the archive of a team; one that is in no archive is not found. */
export const findPublished = (db: Executor, teamId: string, id: string): Promise<ArchivedRow | undefined> =>
  db.get<ArchivedRow>(`select ${COLUMNS} from broadcasts where team_id = ? and id = ? and ${IS_PUBLISHED}`, [
    teamId,
    id,
  ]);

/** The place in the archive next to which a page begins. */
export interface ArchiveEdge {
  id: string;
  startedAt: number;
  /** The page has newer broadcasts than this one; otherwise older ones. */
  isNewer: boolean;
}

/** Lists a page of the archive, newest first. */
export async function listPublished(
  db: Executor,
  teamId: string,
  { edge, limit }: { edge: ArchiveEdge | undefined; limit: number },
): Promise<ArchivedRow[]> {
  const isNewer = edge?.isNewer === true;
  const order = isNewer ? 'asc' : 'desc';
  const beyond = edge === undefined ? '' : `and (started_at, id) ${isNewer ? '>' : '<'} (?, ?)`;
  const sql = `select ${COLUMNS} from broadcasts where team_id = ? and ${IS_PUBLISHED} ${beyond}
    order by started_at ${order}, id ${order} limit ?`;
  const from = edge === undefined ? [] : [edge.startedAt, edge.id];
  const rows = await db.all<ArchivedRow>(sql, [teamId, ...from, limit]);
  return isNewer ? rows.reverse() : rows;
}

/** Puts a broadcast into the archive, or takes it out. A draft is changed by this, as by its author. */
export async function saveArchive(
  tx: Executor,
  id: string,
  {
    archive,
    draft,
  }: {
    archive: boolean;
    draft: Pick<BroadcastRow, 'author_grant_id' | 'changed_by_app' | 'updated_at'> | undefined;
  },
): Promise<void> {
  const sets = draft === undefined ? '' : ', author_grant_id = ?, changed_by_app = ?, updated_at = ?';
  const values = draft === undefined ? [] : [draft.author_grant_id, draft.changed_by_app, draft.updated_at];
  await tx.run(`update broadcasts set archive = ?${sets} where id = ?`, [archive ? 1 : 0, ...values, id]);
}
