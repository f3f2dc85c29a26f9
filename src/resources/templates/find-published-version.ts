import type { Executor } from '../../platform/db/index.ts';
import { readVersion, type PublishedVersion } from './published-versions.ts';
import { findTemplate, findVersion } from './templates.store.ts';

/** What a template says to everybody at present; undefined where there is none, or a draft alone. */
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
