import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { findPlaces } from '../../platform/text-thread/index.ts';
import { notePlaces, parseMerge, renderMerge, type MergeText } from '../../protocol/merge/index.ts';
import { findSharedBody, type SharedBodyRow } from './shared-bodies.store.ts';

/** What one recipient's body says, of the variables that the shared body uses. */
export interface SharedValues {
  given: Record<string, string>;
  /** Of keys without a value: the fallbacks that their properties declare, which come after a default in the text. */
  fallbacks?: Record<string, string>;
}

export interface RenderedBody {
  html: string | null;
  text: string | null;
}

export interface MergedBody {
  html: MergeText | null;
  text: MergeText | null;
}

interface ParsedBody extends MergedBody {
  chars: number;
}

/** Bodies under way are few, and each is rendered many times in a row. */
const KEPT_CHARS_MAX = 8 * 1024 * 1024;
const kept = new Map<string, ParsedBody>();
let keptChars = 0;

/** The body of one recipient. `values` is the JSON of `SharedValues`; undefined where the shared body is gone. */
export async function renderSharedBody(
  store: Store,
  db: Executor,
  id: string,
  values: string,
): Promise<RenderedBody | undefined> {
  const body = kept.get(id) ?? (await load(store, db, id));
  if (!body) return undefined;
  return renderBody(body, JSON.parse(values) as SharedValues);
}

/** A body with one recipient's values in it. */
export function renderBody(body: MergedBody, { given, fallbacks = {} }: SharedValues): RenderedBody {
  const merge = { given: new Map(Object.entries(given)), fallbacks: new Map(Object.entries(fallbacks)) };
  return {
    html: body.html && renderMerge(body.html, merge, { escape: 'html', areForeign: true }),
    text: body.text && renderMerge(body.text, merge, { escape: 'none' }),
  };
}

export function parseBody({ html, text }: RenderedBody): MergedBody {
  const parse = (written: string | null): MergeText | null => (written === null ? null : parseMerge(written));
  return { html: parse(html), text: parse(text) };
}

/** Returns the parsed body of a team with the places of its variables; a large body is parsed in the text thread. */
export async function readBody(
  { texts }: Store,
  { team_id: teamId, html: written, text }: Pick<SharedBodyRow, 'team_id' | 'html' | 'text'>,
): Promise<MergedBody> {
  const body = parseBody({ html: null, text });
  if (written === null) return body;
  const html = await texts.run({ teamId, chars: written.length, task: findPlaces, isPatient: true }, written);
  notePlaces(html.text, html.places);
  return { ...body, html: html.text };
}

async function load(store: Store, db: Executor, id: string): Promise<ParsedBody | undefined> {
  const row = await findSharedBody(db, id);
  if (!row) return undefined;
  const chars = (row.html?.length ?? 0) + (row.text?.length ?? 0);
  const body = { ...(await readBody(store, row)), chars };
  if (chars > KEPT_CHARS_MAX) return body;
  if (!kept.has(id)) keptChars += chars;
  kept.set(id, body);
  for (const [oldest, { chars: freed }] of kept) {
    if (keptChars <= KEPT_CHARS_MAX) break;
    kept.delete(oldest);
    keptChars -= freed;
  }
  return body;
}
