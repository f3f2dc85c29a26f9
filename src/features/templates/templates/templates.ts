import type { CreateTemplateRequest, PublishTemplateRequest, UpdateTemplateRequest } from '../../../contract/index.ts';
import { isUniqueViolation, type Executor, type Page } from '../../../platform/db/index.ts';
import {
  mustBeUnchanged,
  mustMayAlter,
  nextChangeAt,
  readAppName,
  readGrantId,
  type Ctx,
} from '../../../tenancy/access/index.ts';
import {
  aliasTaken,
  mustBeWritable,
  readList,
  declareVariables,
  mustFit,
  readVariables,
  isOneLine,
  BUILT_IN_KEYS,
  TEAM_KEYS,
  type Variable,
} from './template-content.ts';
import {
  insertTemplate,
  insertVersion,
  rewriteDraft,
  saveTemplate,
  findTemplate,
  findVersion,
  keepNewestVersions,
  deleteTemplateRows,
  lockTemplate,
  listTemplateRows,
  type VersionRow,
  type TemplateRow,
} from './templates.store.ts';
import type { Store } from '../../../platform/store.ts';
import { refuse, notFound, type FieldFault } from '../../../platform/refusal.ts';
import { findKeys } from '../../../platform/text-thread/index.ts';
import { isoTime } from '../../../platform/clock.ts';

/** Older versions are removed, because no send uses them: publishing in a loop would fill the disk otherwise. */
const VERSIONS_KEPT = 20;

type Published = TemplateReference & { warnings?: string[] };

/** Publishes the latest draft. Warns of variables that only some mails with the template fill. */
export async function publishTemplate(
  ctx: Ctx,
  idOrAlias: string,
  { unchanged_since: unchangedSince }: PublishTemplateRequest = {},
): Promise<Published> {
  const { store, teamId } = ctx;
  for (;;) {
    // The draft is parsed before the transaction, which others wait for, because a large one takes long.
    const read = await readKeys(ctx, idOrAlias);
    const published = await store.db.tx(async (tx): Promise<Published | undefined> => {
      const { row, draft } = await templateToChange(tx, teamId, idOrAlias);
      mustBeUnchanged(ctx.actor, row, unchangedSince);
      if (read?.versionId !== draft.id || read.updatedAt !== row.updated_at) return undefined;
      if (draft.id !== row.published_version_id) {
        mustBeSendable(draft, read.keys);
        const now = nextChangeAt(store.clock.now(), row);
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

/** Keys that each part of a draft uses: all of them, and those that occur at least once without a default. */
type UsedKeys = Record<'html' | 'text' | 'subject', { all: ReadonlySet<string>; bare: ReadonlySet<string> }>;

async function readKeys(
  { store, teamId }: Ctx,
  idOrAlias: string,
): Promise<{ versionId: string; updatedAt: number; keys: UsedKeys } | undefined> {
  const row = await findTemplate(store.db, teamId, idOrAlias);
  const draft = row && (await findVersion(store.db, row.draft_version_id));
  if (!draft) return undefined;
  const read = (written: string | null): Promise<UsedKeys['html']> =>
    store.texts.run({ teamId, chars: written?.length ?? 0, task: findKeys }, written ?? '');
  const keys = { html: await read(draft.html), text: await read(draft.text), subject: await read(draft.subject) };
  return { versionId: draft.id, updatedAt: row.updated_at, keys };
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
    return `${field} uses ${bare.join(', ')}, which only broadcasts and automations fill; emails of POST /emails with this template show nothing there unless you write a default, such as {{{KEY|default}}}.`;
  });
}

/** A send can give no value to an undeclared variable; most likely its name is misspelled. */
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

const NAME_CHARS_MAX = 200;

/**
 * Copies a template. The copy is a draft with the latest content, published or not, and without an alias, because an
 * alias names one template.
 */
export async function duplicateTemplate(ctx: Ctx, idOrAlias: string): Promise<TemplateReference> {
  const { store, teamId } = ctx;
  const row = await findTemplate(store.db, teamId, idOrAlias);
  const draft = row && (await findVersion(store.db, row.draft_version_id));
  if (!row || !draft) throw notFound('Template');
  const now = store.clock.now();
  const variables = readVariables(draft.variables).map((variable) => ({
    ...variable,
    id: store.ids.uuid(),
    createdAt: now,
    updatedAt: now,
  }));
  const name = [...`Copy of ${row.name}`].slice(0, NAME_CHARS_MAX).join('');
  const content = { ...draft, variables: JSON.stringify(variables) };
  return addTemplate(ctx, { name, alias: null, changedByApp: row.changed_by_app }, content);
}

/** Deletes a template. Emails are rendered when they are accepted, so accepted ones no longer need it. */
export async function deleteTemplate(ctx: Ctx, idOrAlias: string): Promise<TemplateReference & { deleted: true }> {
  return ctx.store.db.tx(async (tx) => {
    const row = await lockTemplate(tx, ctx.teamId, idOrAlias);
    if (!row) throw notFound('Template');
    const isUnused = row.alias === null && row.published_version_id === null;
    mustMayAlter(ctx.actor, { isOwn: isUnused && row.author_grant_id === readGrantId(ctx.actor) });
    await deleteTemplateRows(tx, row.id);
    return { object: 'template', id: row.id, deleted: true };
  });
}

/** Updates a template. Name and alias change at once; changed content goes to a draft version until it is published. */
export async function updateTemplate(
  ctx: Ctx,
  idOrAlias: string,
  input: UpdateTemplateRequest,
): Promise<TemplateReference> {
  mustBeWritable(input);
  const { store, teamId } = ctx;
  try {
    return await store.db.tx(async (tx) => {
      const { row, draft } = await templateToChange(tx, teamId, idOrAlias);
      const isOwn = row.author_grant_id === readGrantId(ctx.actor);
      mustMayAlter(ctx.actor, { isOwn });
      if (Object.keys(input).length > 0) {
        const draftId = await writeContent(store, tx, row, draft, toContent(store, input, draft));
        await saveTemplate(tx, {
          ...row,
          name: input.name ?? row.name,
          alias: input.alias === undefined ? row.alias : input.alias,
          draft_version_id: draftId,
          updated_at: nextChangeAt(store.clock.now(), row),
          author_grant_id: isOwn ? row.author_grant_id : null,
          // A person who changes one field may not have seen what the app wrote into the others.
          changed_by_app: readAppName(ctx.actor) ?? row.changed_by_app,
        });
      }
      return { object: 'template', id: row.id };
    });
  } catch (error) {
    throw input.alias && isUniqueViolation(error) ? aliasTaken(input.alias) : error;
  }
}

/** Returns the content fields of the request, as they are stored. */
function toContent(store: Store, input: UpdateTemplateRequest, draft: VersionRow): Partial<Content> {
  const { from, subject, reply_to: replyTo, html, text, variables } = input;
  const change: Partial<Content> = {};
  if (from !== undefined) change.sender = from?.trim() ?? null;
  if (subject !== undefined) change.subject = subject;
  if (replyTo !== undefined) change.reply_to_list = JSON.stringify(readList(replyTo).map((address) => address.trim()));
  if (html !== undefined) change.html = html;
  if (text !== undefined) change.text = text;
  if (variables !== undefined) {
    const stamp = { now: store.clock.now(), newId: () => store.ids.uuid() };
    change.variables = JSON.stringify(declareVariables(variables ?? [], readVariables(draft.variables), stamp));
  }
  return change;
}

/** Writes changed content; returns the id of the version that has it now. */
async function writeContent(
  store: Store,
  tx: Executor,
  row: TemplateRow,
  draft: VersionRow,
  change: Partial<Content>,
): Promise<string> {
  if (Object.keys(change).length === 0) return draft.id;
  const changed = { ...draft, ...change };
  mustFit(changed);
  if (draft.id !== row.published_version_id) {
    await rewriteDraft(tx, changed);
    return draft.id;
  }
  const fresh = { ...changed, id: store.ids.uuid(), created_at: store.clock.now() };
  await insertVersion(tx, fresh);
  return fresh.id;
}

export async function getTemplate(ctx: Ctx, idOrAlias: string) {
  const { db } = ctx.store;
  const row = await findTemplate(db, ctx.teamId, idOrAlias);
  // The template may be deleted or published between the two statements.
  const draft = row && (await findVersion(db, row.draft_version_id));
  if (!row || !draft) throw notFound('Template');
  return presentTemplate(row, draft);
}

export async function listTemplates(ctx: Ctx, page: Page) {
  const { rows, hasMore } = await listTemplateRows(ctx.store.db, ctx.teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentTemplateItem) };
}

/** Returns the template and its draft, locked for a change. */
async function templateToChange(
  tx: Executor,
  teamId: string,
  idOrAlias: string,
): Promise<{ row: TemplateRow; draft: VersionRow }> {
  const row = await lockTemplate(tx, teamId, idOrAlias);
  if (!row) throw notFound('Template');
  const draft = await findVersion(tx, row.draft_version_id);
  if (!draft) throw new Error(`template ${row.id} has lost its draft ${row.draft_version_id}`);
  return { row, draft };
}

function presentTemplateItem(row: TemplateRow) {
  return {
    id: row.id,
    name: row.name,
    alias: row.alias,
    status: row.published_version_id === null ? ('draft' as const) : ('published' as const),
    changed_by_app: row.changed_by_app,
    published_at: row.published_at === null ? null : isoTime(row.published_at),
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  };
}

function presentTemplate(row: TemplateRow, draft: VersionRow) {
  return {
    object: 'template' as const,
    ...presentTemplateItem(row),
    current_version_id: row.published_version_id ?? row.draft_version_id,
    has_unpublished_versions: row.published_version_id !== row.draft_version_id,
    from: draft.sender,
    subject: draft.subject,
    reply_to: JSON.parse(draft.reply_to_list) as string[],
    html: draft.html,
    text: draft.text,
    variables: readVariables(draft.variables).map((variable) => ({
      id: variable.id,
      key: variable.key,
      type: variable.type,
      fallback_value: variable.fallback,
      created_at: isoTime(variable.createdAt),
      updated_at: isoTime(variable.updatedAt),
    })),
  };
}

interface TemplateReference {
  object: 'template';
  id: string;
}

/** Creates a template. A draft may use undeclared variables, because it may be unfinished; publishing refuses them. */
export async function createTemplate(ctx: Ctx, input: CreateTemplateRequest): Promise<TemplateReference> {
  mustBeWritable(input);
  const { ids, clock } = ctx.store;
  const variables = declareVariables(input.variables ?? [], [], { now: clock.now(), newId: () => ids.uuid() });
  return addTemplate(
    ctx,
    { name: input.name, alias: input.alias ?? null, changedByApp: null },
    {
      sender: input.from?.trim() ?? null,
      subject: input.subject ?? null,
      reply_to_list: JSON.stringify(readList(input.reply_to).map((text) => text.trim())),
      html: input.html,
      text: input.text ?? null,
      variables: JSON.stringify(variables),
    },
  );
}

type Content = Omit<VersionRow, 'id' | 'template_id' | 'created_at'>;

async function addTemplate(
  { store, teamId, actor }: Ctx,
  { name, alias, changedByApp }: { name: string; alias: string | null; changedByApp: string | null },
  content: Content,
): Promise<TemplateReference> {
  const now = store.clock.now();
  const id = store.ids.uuid();
  const version: VersionRow = { ...content, id: store.ids.uuid(), template_id: id, created_at: now };
  const row = {
    id,
    team_id: teamId,
    name,
    alias,
    draft_version_id: version.id,
    published_version_id: null,
    created_at: now,
    updated_at: now,
    published_at: null,
    author_grant_id: readGrantId(actor),
    changed_by_app: readAppName(actor) ?? changedByApp,
  };
  try {
    await store.db.tx((tx) => insertTemplate(tx, row, version));
  } catch (error) {
    throw alias !== null && isUniqueViolation(error) ? aliasTaken(alias) : error;
  }
  return { object: 'template', id };
}
