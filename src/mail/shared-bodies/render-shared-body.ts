import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { findPlaces, parseVariables } from '../../platform/text-thread/index.ts';
import { mergedChars, notePlaces, parseMerge, renderMerge, type MergeText } from '../../protocol/merge.ts';
import { findSharedBody, type SharedBodyRow } from './shared-bodies.store.ts';
import { BoundedMap } from '../../platform/limits/index.ts';

/** The values of one recipient for the variables that the shared body uses. */
export interface SharedValues {
  given: Record<string, string>;
  /** Fallbacks that the properties declare for keys without a value; a default in the text takes precedence. */
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
  htmlSize: SourceSize;
  textSize: SourceSize;
  /** True if the values may be written by others than the sender, such as the properties of a contact. */
  areForeign: boolean;
}

/** Describes a text as it is stored: its bytes, and the characters outside of its variables. */
interface SourceSize {
  bytes: number;
  plainChars: number;
}

/** The body of one recipient before it is rendered, with an upper bound of its bytes. */
export interface OpenedBody {
  htmlBytes: number;
  textBytes: number;
  render(): RenderedBody;
}

/** Bodies under way are few, and each is rendered many times in a row. */
const KEPT_CHARS_MAX = 8 * 1024 * 1024;
const kept = new BoundedMap<string, ParsedBody>(KEPT_CHARS_MAX, ({ chars }) => chars);
/** Loads in progress, so that many emails that are read at once load their body once. */
const loading = new Map<string, Promise<ParsedBody | undefined>>();

/** Opens the body of one recipient. `values` is the JSON of `SharedValues`. Returns undefined if the shared body is gone. */
export async function openSharedBody(
  store: Store,
  db: Executor,
  id: string,
  values: string,
): Promise<OpenedBody | undefined> {
  const body = kept.get(id) ?? (await loadOnce(store, db, id));
  if (!body) return undefined;
  const { areForeign } = body;
  const merge = readMergeValues(JSON.parse(values) as SharedValues);
  const htmlChars = body.html ? mergedChars(body.html, merge, { escape: 'html', areForeign }) : 0;
  const textChars = body.text ? mergedChars(body.text, merge, { escape: 'none' }) : 0;
  return {
    htmlBytes: boundBytes(body.htmlSize, htmlChars),
    textBytes: boundBytes(body.textSize, textChars),
    render: () => renderParts(body, merge, areForeign),
  };
}

/** Maximum number of bytes in UTF-8 for each unit of the length of a string. */
const BYTES_A_CHAR = 3;

/** Returns an upper bound for the bytes of a rendered text, from its source and its rendered length. */
const boundBytes = ({ bytes, plainChars }: SourceSize, renderedChars: number): number =>
  bytes + BYTES_A_CHAR * (renderedChars - plainChars);

function measureSource(written: string | null, parsed: MergeText | null): SourceSize {
  let plainChars = 0;
  for (const part of parsed ?? []) if (typeof part === 'string') plainChars += part.length;
  return { bytes: Buffer.byteLength(written ?? ''), plainChars };
}

/** Returns a body with the values of one recipient, who may have written them. */
export const renderBody = (body: MergedBody, values: SharedValues): RenderedBody =>
  renderParts(body, readMergeValues(values), true);

interface MergeMaps {
  given: Map<string, string>;
  fallbacks: Map<string, string>;
}

const readMergeValues = ({ given, fallbacks = {} }: SharedValues): MergeMaps => ({
  given: new Map(Object.entries(given)),
  fallbacks: new Map(Object.entries(fallbacks)),
});

const renderParts = ({ html, text }: MergedBody, values: MergeMaps, areForeign: boolean): RenderedBody => ({
  html: html && renderMerge(html, values, { escape: 'html', areForeign }),
  text: text && renderMerge(text, values, { escape: 'none' }),
});

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

/** Returns the parsed body of a request of a team; large texts are parsed in the text thread. */
async function readOwnBody({ texts }: Store, { team_id: teamId, html, text }: SharedBodyRow): Promise<MergedBody> {
  const parse = async (written: string | null): Promise<MergeText | null> =>
    written === null
      ? null
      : texts.run({ teamId, chars: written.length, task: parseVariables, isPatient: true }, written);
  return { html: await parse(html), text: await parse(text) };
}

function loadOnce(store: Store, db: Executor, id: string): Promise<ParsedBody | undefined> {
  let found = loading.get(id);
  if (!found) {
    found = load(store, db, id).finally(() => loading.delete(id));
    loading.set(id, found);
  }
  return found;
}

async function load(store: Store, db: Executor, id: string): Promise<ParsedBody | undefined> {
  const row = await findSharedBody(db, id);
  if (!row) return undefined;
  const chars = (row.html?.length ?? 0) + (row.text?.length ?? 0);
  // Emails of one request have values of their sender, which are rendered as in a single send.
  const areForeign = row.last_email_id === null;
  const merged = areForeign ? await readBody(store, row) : await readOwnBody(store, row);
  const body = {
    ...merged,
    chars,
    htmlSize: measureSource(row.html, merged.html),
    textSize: measureSource(row.text, merged.text),
    areForeign,
  };
  if (chars <= KEPT_CHARS_MAX) kept.set(id, body);
  return body;
}
