import { refuse, type FieldFault } from '../../platform/refusal/index.ts';
import { keysOf, parseMerge } from '../../protocol/merge/index.ts';
import type { Ctx } from '../access/index.ts';
import { isOneLine } from './content.ts';
import type { TemplateReference } from './create-template.ts';
import { templateToChange } from './read-templates.ts';
import { keepNewestVersions, saveTemplate, type VersionRow } from './templates.store.ts';
import { BUILT_IN_KEYS, readVariables, TEAM_KEYS, type Variable } from './variables.ts';

/** Older versions are removed, because no send uses them: publishing in a loop would fill the disk otherwise. */
const VERSIONS_KEPT = 20;

/** Publishes what was written last; warns of variables that only some mails with the template fill. */
export async function publishTemplate(
  ctx: Ctx,
  idOrAlias: string,
): Promise<TemplateReference & { warnings?: string[] }> {
  const { store, teamId } = ctx;
  return store.db.tx(async (tx) => {
    const { row, draft } = await templateToChange(tx, teamId, idOrAlias);
    if (draft.id !== row.published_version_id) {
      mustBeSendable(draft);
      const now = store.clock.now();
      await saveTemplate(tx, { ...row, published_version_id: draft.id, published_at: now, updated_at: now });
      await keepNewestVersions(tx, row.id, VERSIONS_KEPT);
    }
    const warnings = warnOfVariables(draft);
    return { object: 'template', id: row.id, ...(warnings.length === 0 ? {} : { warnings }) };
  });
}

const FAULTS_MAX = 20;

/** Refuses a draft that no send could render, while it can still be changed. */
function mustBeSendable(draft: VersionRow): void {
  const variables = readVariables(draft.variables);
  const faults = [...undeclared(draft, variables), ...brokenSubject(draft, variables)].slice(0, FAULTS_MAX);
  const [first] = faults;
  if (!first) return;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  throw refuse('validation_error', { status: 422, say: first.message + more, errors: faults });
}

/** Warns of what broadcasts and automations fill and nobody else can: sends give values to declared variables alone. */
function warnOfVariables(draft: VersionRow): string[] {
  const declared = new Set(readVariables(draft.variables).map(({ key }) => key));
  return (['html', 'text', 'subject'] as const).flatMap((field) => {
    const bare = parseMerge(draft[field] ?? '').filter(
      (part) => typeof part !== 'string' && part.inlineDefault === undefined && !declared.has(part.key),
    );
    const keys = [...keysOf(bare)].map((key) => `{{{${key}}}}`);
    if (keys.length === 0) return [];
    return `${field} uses ${keys.join(', ')}, which broadcasts and automations fill; an email of POST /emails with this template prints nothing there, unless a default such as {{{KEY|default}}} is written.`;
  });
}

/** A send can give no value to an undeclared variable; most likely its name is misspelt. */
function undeclared(draft: VersionRow, variables: readonly Variable[]): FieldFault[] {
  const declared = new Set([...variables.map(({ key }) => key), ...BUILT_IN_KEYS, ...TEAM_KEYS]);
  return (['html', 'text', 'subject'] as const).flatMap((field) => {
    const unknown = [...keysOf(parseMerge(draft[field] ?? ''))].filter((key) => !declared.has(key));
    return unknown.map((key) => {
      return { path: field, message: `${field} uses {{{${key}}}}, but variables does not declare ${key}.` };
    });
  });
}

function brokenSubject(draft: VersionRow, variables: readonly Variable[]): FieldFault[] {
  const used = keysOf(parseMerge(draft.subject ?? ''));
  const broken = variables.filter(({ key, fallback }) => used.has(key) && !isOneLine(String(fallback)));
  return broken.map(({ key }) => {
    const message = `subject uses {{{${key}}}}, whose fallback_value is not one line without control characters.`;
    return { path: 'subject', message };
  });
}
