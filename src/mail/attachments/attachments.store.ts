import type { Executor, Page } from '../../platform/db/index.ts';
import type { AttachmentRow } from '../emails/index.ts';

export const isEmailOfTeam = async (db: Executor, teamId: string, emailId: string): Promise<boolean> =>
  (await db.get('select 1 as one from emails where team_id = ? and id = ?', [teamId, emailId])) !== undefined;

/** Returns a page in the order of the email. Reads one row more than asked, to learn whether there is another page. */
export async function attachmentPage(
  db: Executor,
  emailId: string,
  page: Page,
): Promise<{ rows: AttachmentRow[]; hasMore: boolean }> {
  const cursor = page.after ?? page.before;
  const isBack = page.before !== undefined;
  const edge =
    cursor === undefined
      ? ''
      : `and position ${isBack ? '<' : '>'} (select position from email_attachments where id = ? and email_id = ?)`;
  const rows = await db.all<AttachmentRow>(
    `select * from email_attachments where email_id = ? ${edge} order by position ${isBack ? 'desc' : 'asc'} limit ?`,
    [emailId, ...(cursor === undefined ? [] : [cursor, emailId]), page.limit + 1],
  );
  const kept = rows.slice(0, page.limit);
  return { rows: isBack ? kept.reverse() : kept, hasMore: rows.length > page.limit };
}

export const findAttachment = (db: Executor, emailId: string, id: string): Promise<AttachmentRow | undefined> =>
  db.get<AttachmentRow>('select * from email_attachments where email_id = ? and id = ?', [emailId, id]);
