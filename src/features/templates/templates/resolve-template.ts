import type { ResolvedTemplate, TemplateUse } from '../../../mail/accept/index.ts';
import type { Db } from '../../../platform/db/index.ts';
import { invalidFields, notFound, refuse, Refusal, type FieldFault } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { defineTextTask, type TextTask } from '../../../platform/text-thread/index.ts';
import { collectKeys, mergedChars, renderMerge, type MergeText } from '../../../protocol/merge.ts';
import type { SharedValues } from '../../../mail/shared-bodies/index.ts';
import { BODY_BYTES_MAX, isOneLine, valueFault } from './template-content.ts';
import { createVersionCache, readVersion, type PublishedVersion } from './published-versions.ts';
import { findTemplate, findVersion, type VersionRow } from './templates.store.ts';
import { BoundedMap } from '../../../platform/limits/index.ts';

const VALUES_MAX = 50;
/** Keys are free text: an error message shows the start of a long one. */
const KEY_CHARS_SHOWN = 60;

/**
 * Returns the values of a send as text. The refusal names every invalid and every missing value. A key for which
 * `isFilled` returns true has a value of the recipient's own, so the send may omit it.
 */
export function readValues(
  version: PublishedVersion,
  given: Readonly<Record<string, unknown>>,
  { rendersSubject, isFilled = () => false }: { rendersSubject: boolean; isFilled?: (key: string) => boolean },
): Map<string, string> {
  const entries = Object.entries(given);
  if (entries.length > VALUES_MAX) {
    const message = `template.variables may have at most ${VALUES_MAX} values; got ${entries.length}.`;
    throw invalidFields([{ path: 'template.variables', message }]);
  }
  const faults: FieldFault[] = [];
  const values = new Map<string, string>();
  const inSubject = rendersSubject ? collectKeys(version.subject ?? []) : new Set<string>();
  for (const [key, value] of entries) {
    const says = findFault(version, key, value) ?? (inSubject.has(key) ? subjectFault(String(value)) : undefined);
    if (says === undefined) values.set(key, String(value));
    else faults.push(faultAt(key, says));
  }
  const { bodies, subject } = version.needs;
  for (const key of new Set([...bodies, ...(rendersSubject ? subject : [])])) {
    if (Object.hasOwn(given, key) || isFilled(key)) continue;
    faults.push(faultAt(key, 'is missing; the template declares no fallback_value for it.'));
  }
  if (faults.length > 0) throw invalidFields(faults);
  return values;
}

function findFault({ variables }: PublishedVersion, key: string, value: unknown): string | undefined {
  const variable = variables.get(key);
  if (variable) return valueFault(variable.type, value);
  const known = variables.size === 0 ? 'it declares none' : `declared are ${[...variables.keys()].join(', ')}`;
  return `is not a variable of this template; ${known}.`;
}

function subjectFault(value: string): string | undefined {
  return isOneLine(value) ? undefined : 'is used in the subject and must be one line without control characters.';
}

function faultAt(key: string, says: string): FieldFault {
  const shown = key.length > KEY_CHARS_SHOWN ? `${key.slice(0, KEY_CHARS_SHOWN)}…` : key;
  const path = `template.variables.${shown}`;
  return { path, message: `${path} ${says}` };
}

/**
 * Returns the faults for which a send with these values would be refused; values that are only known later are assumed
 * valid.
 */
export function valueFaults(
  version: PublishedVersion,
  given: Readonly<Record<string, unknown>>,
  {
    rendersSubject,
    isLater,
    isFilled,
  }: { rendersSubject: boolean; isLater: (value: unknown) => boolean; isFilled: (key: string) => boolean },
): string[] {
  const assumed = Object.entries(given).map(([key, value]) => {
    const stands = version.variables.get(key)?.type === 'number' ? 0 : 'x';
    return [key, isLater(value) ? stands : value];
  });
  try {
    readValues(version, Object.fromEntries(assumed) as Record<string, unknown>, { rendersSubject, isFilled });
    return [];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return (error.errors ?? []).map(({ message }) => message);
  }
}

/**
 * Renders the version of a template that was published last. The caller checks the result like the fields of any send:
 * addresses, subject and bodies meet the same rules.
 */
export async function resolveTemplate(store: Store, teamId: string, use: TemplateUse): Promise<ResolvedTemplate> {
  const { findPublished, findContent } = findOrCreateReaders(store.db);
  const template = await findPublished(`${teamId} ${use.id}`);
  if (!template) throw notFound('Template');
  const found = template.versionId === null ? undefined : await findContent(template.versionId);
  if (!found) throw template.versionId === null ? unpublished(use.id) : notFound('Template');
  if (!isRow(found)) return render(template.id, found, { use, values: readSendValues(found, use) });
  // Refusals and rendering need only these.
  const { id, variables = null, subject = null, offered } = use;
  return store.texts.run(
    { teamId, chars: countChars(found), task: renderTemplate, isPatient: true },
    { templateId: template.id, row: found, use: { id, variables, subject, offered } },
  );
}

interface Unrendered {
  templateId: string;
  row: VersionRow;
  use: TemplateUse;
}

const renderTemplate: TextTask<Unrendered, ResolvedTemplate> = defineTextTask(
  'templates.render',
  ({ templateId, row, use }) => {
    const version = readVersion(row);
    const values = readSendValues(version, use);
    const resolved = render(templateId, version, { use, values });
    const isShareable = countVariables(version.html) + countVariables(version.text ?? []) <= SHARED_VARIABLES_MAX;
    if (isShareable) resolved.merged = { versionId: row.id, values: JSON.stringify(bodyValues(version, values)) };
    return resolved;
  },
);

/** A shared body is rendered in the event loop for each email, in a time that grows with its variables. */
const SHARED_VARIABLES_MAX = 1000;

function countVariables(text: MergeText): number {
  let count = 0;
  for (const part of text) if (typeof part !== 'string') count++;
  return count;
}

/** Returns the values that the bodies use. A fallback is of no use next to a given value. */
function bodyValues({ html, text }: PublishedVersion, { given, fallbacks }: SendValues): SharedValues {
  const keys = new Set([...collectKeys(html), ...collectKeys(text ?? [])]);
  const used = (values: ReadonlyMap<string, string>): [string, string][] =>
    [...values].filter(([key]) => keys.has(key));
  return {
    given: Object.fromEntries(used(given)),
    fallbacks: Object.fromEntries(used(fallbacks).filter(([key]) => !given.has(key))),
  };
}

export const textTasks: readonly TextTask<never, unknown>[] = [renderTemplate];

const countChars = ({ html, text }: VersionRow): number => html.length + (text?.length ?? 0);

const isRow = (found: PublishedVersion | VersionRow): found is VersionRow => 'sender' in found;

function unpublished(id: string) {
  const message = `template.id: the template ${id} is a draft; publish it before sending with it.`;
  return refuse('validation_error', { status: 422, say: message, errors: [{ path: 'template.id', message }] });
}

interface SendValues {
  given: ReadonlyMap<string, string>;
  fallbacks: ReadonlyMap<string, string>;
  /** Untrusted senders may have written some of the values. */
  areForeign: boolean;
}

function readSendValues(version: PublishedVersion, use: TemplateUse): SendValues {
  const rendersSubject = (use.subject ?? undefined) === undefined;
  const own = use.variables ?? {};
  const offered = Object.entries(use.offered ?? {}).filter(
    ([key]) => version.variables.get(key)?.type === 'string' && !Object.hasOwn(own, key),
  );
  const variables = { ...Object.fromEntries(offered), ...own };
  return {
    given: readValues(version, variables, { rendersSubject }),
    fallbacks: version.fallbacks,
    areForeign: offered.length > 0,
  };
}

function render(
  templateId: string,
  version: PublishedVersion,
  { use, values }: { use: TemplateUse; values: SendValues },
): ResolvedTemplate {
  const ownSubject = use.subject ?? undefined;
  mustFit(version, values);
  const html = renderMerge(version.html, values, { escape: 'html', areForeign: values.areForeign });
  const text = version.text === undefined ? null : renderMerge(version.text, values, { escape: 'none' });
  const bytes = Buffer.byteLength(html) + Buffer.byteLength(text ?? '');
  if (bytes > BODY_BYTES_MAX) throw tooLong(`${bytes} bytes`);
  const subject = ownSubject ?? (version.subject && renderMerge(version.subject, values, { escape: 'none' }));
  return {
    templateId,
    ...(version.from === undefined ? {} : { from: version.from }),
    ...(subject === undefined ? {} : { subject }),
    ...(version.replyTo.length === 0 ? {} : { replyTo: version.replyTo }),
    html,
    text,
  };
}

/** A short template can repeat a long value a hundred thousand times: the length is computed before rendering. */
function mustFit({ html, text }: PublishedVersion, values: Parameters<typeof mergedChars>[1]): void {
  const chars =
    mergedChars(html, values, { escape: 'html' }) + (text ? mergedChars(text, values, { escape: 'none' }) : 0);
  if (chars > BODY_BYTES_MAX) throw tooLong(`${chars} characters`);
}

function tooLong(size: string) {
  const message = `template.variables: with these values, html and text would have ${size}; at most ${BODY_BYTES_MAX} bytes are allowed.`;
  return invalidFields([{ path: 'template.variables', message }]);
}

interface Readers {
  findPublished: (teamAndName: string) => Promise<{ id: string; versionId: string | null } | undefined>;
  /** A large version as it is stored; it is parsed where it is rendered, in the text thread. */
  findContent: (versionId: string) => Promise<PublishedVersion | VersionRow | undefined>;
}

const readers = new WeakMap<Db, Readers>();

function findOrCreateReaders(db: Db): Readers {
  let made = readers.get(db);
  if (!made) {
    const findPublished = db.memo(['templates'], async (teamAndName) => {
      const space = teamAndName.indexOf(' ');
      const row = await findTemplate(db, teamAndName.slice(0, space), teamAndName.slice(space + 1));
      return row && { id: row.id, versionId: row.published_version_id };
    });
    made = { findPublished, findContent: createContentFinder(db) };
    readers.set(db, made);
  }
  return made;
}

const LARGE_CHARS = 32 * 1024;
/** Versions that are known to be large, so that they are not loaded twice. */
const LARGE_KNOWN_MAX = 10_000;

function createContentFinder(db: Db): Readers['findContent'] {
  const large = new BoundedMap<string, true>(LARGE_KNOWN_MAX);
  const findSmall = createVersionCache(async (id) => {
    const row = await findVersion(db, id);
    if (!row || countChars(row) <= LARGE_CHARS) return row;
    large.set(id, true);
    return undefined;
  });
  return async (id) => {
    const found = large.has(id) ? undefined : await findSmall(id);
    return found ?? (large.has(id) ? findVersion(db, id) : undefined);
  };
}
