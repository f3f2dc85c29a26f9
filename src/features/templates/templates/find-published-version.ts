import type { Executor } from '../../../platform/db/index.ts';
import { readVersion, type PublishedVersion } from './published-versions.ts';
import { findTemplate, findVersion, type TemplateRow, type VersionRow } from './templates.store.ts';
import { readVariables } from './variables.ts';

/** The version of a template that sends use at present; undefined without such a template, or when it was never published. */
export async function findPublishedVersion(
  db: Executor,
  teamId: string,
  id: string,
): Promise<PublishedVersion | undefined> {
  const template = await findTemplate(db, teamId, id);
  if (!template?.published_version_id) return undefined;
  const row = await findVersion(db, template.published_version_id);
  return row && readVersion(row);
}

/** A published version with the name of its template, and its bodies as they were written. */
export interface PublishedTemplate {
  id: string;
  version: PublishedVersion;
  content: PublishedContent;
}

export async function findPublishedTemplate(
  db: Executor,
  teamId: string,
  id: string,
): Promise<PublishedTemplate | undefined> {
  const template = await findTemplate(db, teamId, id);
  if (!template?.published_version_id) return undefined;
  const row = await findVersion(db, template.published_version_id);
  return row && { id: template.id, version: readVersion(row), content: readContent(row) };
}

/** What a campaign takes of a template: the bodies as they are written, since no contact's values are known yet. */
export interface PublishedContent {
  versionId: string;
  subject: string | null;
  html: string;
  text: string | null;
  fallbacks: ReadonlyMap<string, string>;
}

/** As `findPublishedVersion` finds it. */
export async function findPublishedContent(
  db: Executor,
  teamId: string,
  id: string,
): Promise<PublishedContent | undefined> {
  const template = await findTemplate(db, teamId, id);
  return template?.published_version_id ? findVersionContent(db, template.published_version_id) : undefined;
}

/** The same of one version, whichever is published since. */
export async function findVersionContent(db: Executor, versionId: string): Promise<PublishedContent | undefined> {
  const row = await findVersion(db, versionId);
  return row && readContent(row);
}

function readContent(row: VersionRow): PublishedContent {
  return { versionId: row.id, subject: row.subject, html: row.html, text: row.text, fallbacks: fallbacksIn(row) };
}

export interface NamedContent extends Pick<TemplateRow, 'id' | 'name'> {
  version: VersionRow;
  fallbacks: ReadonlyMap<string, string>;
}

/** Returns the content of a template: of the version that sends use, or of the draft that would be published next. */
export async function findNamedContent(
  db: Executor,
  teamId: string,
  { id, which }: { id: string; which: 'draft' | 'published' },
): Promise<NamedContent | undefined> {
  const template = await findTemplate(db, teamId, id);
  const versionId = which === 'draft' ? template?.draft_version_id : template?.published_version_id;
  const version = versionId ? await findVersion(db, versionId) : undefined;
  return template && version && { id: template.id, name: template.name, version, fallbacks: fallbacksIn(version) };
}

const fallbacksIn = ({ variables }: VersionRow): ReadonlyMap<string, string> =>
  new Map(
    readVariables(variables).flatMap(({ key, fallback }) => (fallback === null ? [] : [[key, String(fallback)]])),
  );
