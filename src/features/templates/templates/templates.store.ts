import { cutPage, pageSql, pageValues, type Executor, type Page, type Value } from '../../../platform/db/index.ts';
import { isUuid } from '../../../platform/ids.ts';

export interface TemplateRow {
  id: string;
  team_id: string;
  name: string;
  alias: string | null;
  draft_version_id: string;
  published_version_id: string | null;
  created_at: number;
  updated_at: number;
  published_at: number | null;
  /** Grant of the app that is the only writer; null once anybody else has written. */
  author_grant_id: string | null;
  /** Name of the app that wrote it or changed it last; null if no app did. */
  changed_by_app: string | null;
}

/** The content of a template. Once published, a version is never written again. Lists are JSON text. */
export interface VersionRow {
  id: string;
  template_id: string;
  sender: string | null;
  subject: string | null;
  reply_to_list: string;
  html: string;
  text: string | null;
  variables: string;
  created_at: number;
}

const TEMPLATE_COLUMNS = [
  'id',
  'team_id',
  'name',
  'alias',
  'draft_version_id',
  'published_version_id',
  'created_at',
  'updated_at',
  'published_at',
  'author_grant_id',
  'changed_by_app',
] as const;
const CONTENT_COLUMNS = ['sender', 'subject', 'reply_to_list', 'html', 'text', 'variables'] as const;
const VERSION_COLUMNS = ['id', 'template_id', ...CONTENT_COLUMNS, 'created_at'] as const;

export async function insertTemplate(tx: Executor, row: TemplateRow, version: VersionRow): Promise<void> {
  await tx.insertMany('templates', TEMPLATE_COLUMNS, [TEMPLATE_COLUMNS.map((column) => row[column])]);
  await insertVersion(tx, version);
}

export async function insertVersion(tx: Executor, version: VersionRow): Promise<void> {
  await tx.insertMany('template_versions', VERSION_COLUMNS, [VERSION_COLUMNS.map((column) => version[column])]);
}

/** An alias never has the form of an id. */
function named(teamId: string, idOrAlias: string): { where: string; values: Value[] } {
  return isUuid(idOrAlias)
    ? { where: 'team_id = ? and id = ?', values: [teamId, idOrAlias.toLowerCase()] }
    : { where: 'team_id = ? and alias = ?', values: [teamId, idOrAlias] };
}

export function findTemplate(db: Executor, teamId: string, idOrAlias: string): Promise<TemplateRow | undefined> {
  const { where, values } = named(teamId, idOrAlias);
  return db.get<TemplateRow>(`select * from templates where ${where}`, values);
}

/** Locks the template until the end of the transaction, so that changes to its versions come one after the other. */
export function lockTemplate(tx: Executor, teamId: string, idOrAlias: string): Promise<TemplateRow | undefined> {
  const { where, values } = named(teamId, idOrAlias);
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  return tx.get<TemplateRow>(`select * from templates where ${where} ${lock}`, values);
}

export const findVersion = (db: Executor, id: string): Promise<VersionRow | undefined> =>
  db.get<VersionRow>('select * from template_versions where id = ?', [id]);

export async function listTemplateRows(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: TemplateRow[]; hasMore: boolean }> {
  const rows = await db.all<TemplateRow>(pageSql('templates', 'team_id = ?', page), [teamId, ...pageValues(page)]);
  return cutPage(rows, page);
}

export async function saveTemplate(tx: Executor, row: TemplateRow): Promise<void> {
  const columns = TEMPLATE_COLUMNS.slice(2);
  const sets = columns.map((column) => `${column} = ?`).join(', ');
  const values = columns.map((column) => row[column]);
  await tx.run(`update templates set ${sets} where team_id = ? and id = ?`, [...values, row.team_id, row.id]);
}

/** Changes a version that was not published yet: published ones are cached without a time limit. */
export async function rewriteDraft(tx: Executor, version: VersionRow): Promise<void> {
  const sets = CONTENT_COLUMNS.map((column) => `${column} = ?`).join(', ');
  const values = CONTENT_COLUMNS.map((column) => version[column]);
  await tx.run(`update template_versions set ${sets} where id = ?`, [...values, version.id]);
}

export async function keepNewestVersions(tx: Executor, templateId: string, count: number): Promise<void> {
  await tx.run(
    `delete from template_versions where template_id = ? and id not in
      (select id from template_versions where template_id = ? order by id desc limit ?)`,
    [templateId, templateId, count],
  );
}

export async function deleteTemplateRows(tx: Executor, id: string): Promise<void> {
  await tx.run('delete from template_versions where template_id = ?', [id]);
  await tx.run('delete from templates where id = ?', [id]);
}
