import type { Executor } from '../../../platform/db/index.ts';
import { findTemplate, findVersion, type TemplateRow, type VersionRow } from './templates.store.ts';
import { readVariables, type Variable } from './template-content.ts';
import { collectKeys, parseMerge, type MergeText } from '../../../protocol/merge.ts';
import { BoundedMap } from '../../../platform/limits/index.ts';

/** Published version, read and parsed once for many sends. */
export interface PublishedVersion {
  from: string | undefined;
  replyTo: string[];
  subject: MergeText | undefined;
  html: MergeText;
  text: MergeText | undefined;
  variables: ReadonlyMap<string, Variable>;
  fallbacks: ReadonlyMap<string, string>;
  /** Declared variables that are used somewhere without a default, by place of use. */
  needs: { bodies: string[]; subject: string[] };
}

export function readVersion(row: VersionRow): PublishedVersion {
  const variables = new Map(readVariables(row.variables).map((variable) => [variable.key, variable]));
  const fallbacks = new Map<string, string>();
  for (const { key, fallback } of variables.values()) if (fallback !== null) fallbacks.set(key, String(fallback));
  const html = parseMerge(row.html);
  const text = row.text === null ? undefined : parseMerge(row.text);
  const subject = row.subject === null ? undefined : parseMerge(row.subject);
  const listNeeded = (...texts: (MergeText | undefined)[]): string[] => {
    const bare = texts.flatMap((parts) => [...collectKeys((parts ?? []).filter(hasNoDefault))]);
    return [...new Set(bare)].filter((key) => variables.has(key) && !fallbacks.has(key));
  };
  return {
    from: row.sender ?? undefined,
    replyTo: JSON.parse(row.reply_to_list) as string[],
    subject,
    html,
    text,
    variables,
    fallbacks,
    needs: { bodies: listNeeded(html, text), subject: listNeeded(subject) },
  };
}

const hasNoDefault = (part: MergeText[number]): boolean => typeof part !== 'string' && part.inlineDefault === undefined;

/** Room for a thousand ordinary templates; templates of 2 MB must not fill the memory of the process. */
const BYTES_MAX = 32 * 1024 * 1024;
const BYTES_A_PART = 100;

/** An LRU cache of published versions. They never change, so that no entry can be stale. */
export function createVersionCache(
  load: (id: string) => Promise<VersionRow | undefined>,
  bytesMax = BYTES_MAX,
): (id: string) => Promise<PublishedVersion | undefined> {
  const kept = new BoundedMap<string, { version: PublishedVersion; bytes: number }>(bytesMax, ({ bytes }) => bytes);
  return async (id) => {
    const found = kept.get(id);
    if (found) {
      kept.set(id, found);
      return found.version;
    }
    const row = await load(id);
    if (!row) return undefined;
    const version = readVersion(row);
    const bytes = estimateBytes(row, version);
    // Versions larger than a quarter of the cache are not kept: each send would evict most others.
    if (bytes > bytesMax / 4) return version;
    kept.set(id, { version, bytes });
    return version;
  };
}

function estimateBytes(row: VersionRow, { html, text, subject }: PublishedVersion): number {
  const chars = row.html.length + (row.text?.length ?? 0) + (row.subject?.length ?? 0) + row.variables.length;
  const parts = html.length + (text?.length ?? 0) + (subject?.length ?? 0);
  return 2 * chars + BYTES_A_PART * (parts + 10);
}

/**
 * Returns the version of a template that sends use now; undefined if there is no such template, or it was never
 * published.
 */
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

/** Template content that a campaign uses: the bodies as written, since the values of contacts are not known yet. */
export interface PublishedContent {
  versionId: string;
  subject: string | null;
  html: string;
  text: string | null;
  fallbacks: ReadonlyMap<string, string>;
}

/** Returns the content of the version that `findPublishedVersion` would find. */
export async function findPublishedContent(
  db: Executor,
  teamId: string,
  id: string,
): Promise<PublishedContent | undefined> {
  const template = await findTemplate(db, teamId, id);
  return template?.published_version_id ? findVersionContent(db, template.published_version_id) : undefined;
}

/** Returns the content of one version, even if another was published since. */
export async function findVersionContent(db: Executor, versionId: string): Promise<PublishedContent | undefined> {
  const row = await findVersion(db, versionId);
  return row && readContent(row);
}

function readContent(row: VersionRow): PublishedContent {
  return { versionId: row.id, subject: row.subject, html: row.html, text: row.text, fallbacks: fallbacksIn(row) };
}

interface NamedContent extends Pick<TemplateRow, 'id' | 'name'> {
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
