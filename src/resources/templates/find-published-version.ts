import type { Executor } from '../../platform/db/index.ts';
import { readVersion, type PublishedVersion } from './published-versions.ts';
import { findTemplate, findVersion } from './templates.store.ts';

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
