import { refuse, type FieldFault } from '../../../platform/refusal/index.ts';
import { findKeys } from '../../../platform/text-thread/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { isOneLine } from './content.ts';
import type { TemplateReference } from './create-template.ts';
import { templateToChange } from './read-templates.ts';
import { findTemplate, findVersion, keepNewestVersions, saveTemplate, type VersionRow } from './templates.store.ts';
import { BUILT_IN_KEYS, readVariables, TEAM_KEYS, type Variable } from './variables.ts';

/** Older versions are removed, because no send uses them: publishing in a loop would fill the disk otherwise. */
const VERSIONS_KEPT = 20;

type Published = TemplateReference & { warnings?: string[] };

/** Publishes the latest draft. Warns of variables that only some mails with the template fill. */
export async function publishTemplate(ctx: Ctx, idOrAlias: string): Promise<Published> {
  const { store, teamId } = ctx;
  for (;;) {
    // The draft is parsed before the transaction, which others wait for, because a large one takes long.
    const read = await readKeys(ctx, idOrAlias);
    const published = await store.db.tx(async (tx): Promise<Published | undefined> => {
      const { row, draft } = await templateToChange(tx, teamId, idOrAlias);
      if (read?.versionId !== draft.id) return undefined;
      if (draft.id !== row.published_version_id) {
        mustBeSendable(draft, read.keys);
        const now = store.clock.now();
        await saveTemplate(tx, { ...row, published_version_id: draft.id, published_at: now, updated_at: now });
        await keepNewestVersions(tx, row.id, VERSIONS_KEPT);
      }
      const warnings = warnOfVariables(draft, read.keys);
      return { object: 'template', id: row.id, ...(warnings.length === 0 ? {} : { warnings }) };
    });
    // It is undefined if the draft was changed in between.
    if (published) return published;
  }
}

/** The keys that each part of a draft uses: all of them, and those that occur at least once without a default. */
type UsedKeys = Record<'html' | 'text' | 'subject', { all: ReadonlySet<string>; bare: ReadonlySet<string> }>;

async function readKeys(
  { store, teamId }: Ctx,
  idOrAlias: string,
): Promise<{ versionId: string; keys: UsedKeys } | undefined> {
  const row = await findTemplate(store.db, teamId, idOrAlias);
  const draft = row && (await findVersion(store.db, row.draft_version_id));
  if (!draft) return undefined;
  const read = (written: string | null): Promise<UsedKeys['html']> =>
    store.texts.run({ teamId, chars: written?.length ?? 0, task: findKeys }, written ?? '');
  const keys = { html: await read(draft.html), text: await read(draft.text), subject: await read(draft.subject) };
  return { versionId: draft.id, keys };
}

const FAULTS_MAX = 20;

/** Refuses a draft that no send could render, while it can still be changed. */
function mustBeSendable(draft: VersionRow, keys: UsedKeys): void {
  const variables = readVariables(draft.variables);
  const faults = [...undeclared(keys, variables), ...brokenSubject(keys, variables)].slice(0, FAULTS_MAX);
  const [first] = faults;
  if (!first) return;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  throw refuse('validation_error', { status: 422, say: first.message + more, errors: faults });
}

/** Warns of variables that only broadcasts and automations fill: sends give values only to declared variables. */
function warnOfVariables(draft: VersionRow, keys: UsedKeys): string[] {
  const declared = new Set(readVariables(draft.variables).map(({ key }) => key));
  return (['html', 'text', 'subject'] as const).flatMap((field) => {
    const bare = [...keys[field].bare].filter((key) => !declared.has(key)).map((key) => `{{{${key}}}}`);
    if (bare.length === 0) return [];
    return `${field} uses ${bare.join(', ')}, which broadcasts and automations fill; an email of POST /emails with this template prints nothing there, unless a default such as {{{KEY|default}}} is written.`;
  });
}

/** A send can give no value to an undeclared variable; most likely its name is misspelt. */
function undeclared(keys: UsedKeys, variables: readonly Variable[]): FieldFault[] {
  const declared = new Set([...variables.map(({ key }) => key), ...BUILT_IN_KEYS, ...TEAM_KEYS]);
  return (['html', 'text', 'subject'] as const).flatMap((field) => {
    const unknown = [...keys[field].all].filter((key) => !declared.has(key));
    return unknown.map((key) => {
      return { path: field, message: `${field} uses {{{${key}}}}, but variables does not declare ${key}.` };
    });
  });
}

function brokenSubject({ subject }: UsedKeys, variables: readonly Variable[]): FieldFault[] {
  const broken = variables.filter(({ key, fallback }) => subject.all.has(key) && !isOneLine(String(fallback)));
  return broken.map(({ key }) => {
    const message = `subject uses {{{${key}}}}, whose fallback_value is not one line without control characters.`;
    return { path: 'subject', message };
  });
}
