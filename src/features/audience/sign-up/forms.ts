import type { CreateFormRequest, UpdateFormRequest } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Executor, Page } from '../../../platform/db/index.ts';
import { invalidField, invalidFields, notFound, refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { findDomainByName } from '../../../mail/domains/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { READER_TEXTS } from '../readers/reader-texts.ts';
import { liveSegments } from '../segments/segments.store.ts';
import { mustAsk } from '../topics/topics.ts';
import { findTopic } from '../topics/topics.store.ts';
import { renderSolver } from './proof-of-work.ts';
import {
  countForms,
  findForm,
  insertForm,
  listFormRows,
  removeForm,
  updateFormRow,
  type FormRow,
} from './forms.store.ts';

const FORMS_MAX = 100;

/**
 * A field that people do not see, and that programs fill in. Its name is none that browsers and password managers fill
 * in.
 */
export const TRAP_FIELD = 'topic_line';

export async function createForm({ store, teamId }: Ctx, input: CreateFormRequest) {
  const empty: FormRow = {
    id: store.ids.uuid(),
    team_id: teamId,
    name: input.name,
    topic_id: null,
    segment_ids: '[]',
    sender: null,
    confirmation_template_id: null,
    redirect_url: null,
    confirmed_url: null,
    allowed_origins: '[]',
    enabled: 1,
    proof_of_work: 0,
    created_at: store.clock.now(),
  };
  const row = withInput(empty, input);
  await store.db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    if ((await countForms(tx, teamId)) >= FORMS_MAX) throw tooMany();
    await mustWork(tx, row);
    await insertForm(tx, row);
  });
  return { object: 'form' as const, id: row.id };
}

const tooMany = () =>
  refuse('validation_error', { status: 422, say: `A team may have at most ${FORMS_MAX} forms; delete one first.` });

export async function updateForm({ store, teamId }: Ctx, id: string, input: UpdateFormRequest) {
  await store.db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    const before = await findForm(tx, teamId, id);
    if (!before) throw notFound('Form');
    const after = withInput(before, input);
    await mustWork(tx, after);
    await updateFormRow(tx, after);
  });
  return { object: 'form' as const, id };
}

function withInput(row: FormRow, input: UpdateFormRequest): FormRow {
  const { topic_id: topicId = row.topic_id, confirmation_template_id: templateId = row.confirmation_template_id } =
    input;
  const { from = row.sender, redirect_url: redirectUrl, confirmed_url: confirmedUrl } = input;
  const { segment_ids: segmentIds, allowed_origins: origins, enabled, proof_of_work: needsProof } = input;
  return {
    ...row,
    name: (input.name ?? row.name).trim(),
    topic_id: topicId?.toLowerCase() ?? null,
    segment_ids:
      segmentIds === undefined
        ? row.segment_ids
        : JSON.stringify([...new Set(segmentIds.map((id) => id.toLowerCase()))]),
    sender: from === null ? null : readSender(from),
    confirmation_template_id: templateId?.toLowerCase() ?? null,
    redirect_url: redirectUrl === undefined ? row.redirect_url : readPageUrl('redirect_url', redirectUrl),
    confirmed_url: confirmedUrl === undefined ? row.confirmed_url : readPageUrl('confirmed_url', confirmedUrl),
    allowed_origins:
      origins === undefined ? row.allowed_origins : JSON.stringify([...new Set(origins.map(readOrigin))]),
    enabled: enabled === undefined ? row.enabled : enabled ? 1 : 0,
    proof_of_work: needsProof === undefined ? row.proof_of_work : needsProof ? 1 : 0,
  };
}

function readSender(text: string): string {
  const parsed = parseMailbox(text);
  if (!parsed.ok) throw invalidFields([{ path: 'from', message: `from: ${parsed.fault}` }]);
  return text.trim();
}

function readPageUrl(path: 'redirect_url' | 'confirmed_url', text: string | null): string | null {
  if (text === null) return null;
  const url = URL.parse(text);
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url.href;
  throw invalidFields([{ path, message: `${path} must be an https address, without a user name and a password.` }]);
}

/** Reads an origin. Pages on this machine may use http, to try a form. */
function readOrigin(text: string, index: number): string {
  const url = URL.parse(text);
  const isLocal = url?.protocol === 'http:' && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  if (url && (url.protocol === 'https:' || isLocal) && (text === url.origin || text === `${url.origin}/`)) {
    return url.origin;
  }
  const path = `allowed_origins.${index}`;
  throw invalidFields([
    { path, message: `${path} must be an origin such as https://www.example.com, without a path.` },
  ]);
}

/** Throws if nobody could sign up with the form. */
async function mustWork(tx: Executor, row: FormRow): Promise<void> {
  const { team_id: teamId, topic_id: topicId, confirmation_template_id: templateId, sender } = row;
  const segmentIds = readIds(row.segment_ids);
  if (topicId === null && segmentIds.length === 0) {
    throw invalidField('topic_id', 'topic_id or segment_ids is required, so that people sign up for something.');
  }
  if (topicId !== null && !(await findTopic(tx, teamId, topicId))) {
    throw invalidField('topic_id', 'topic_id does not match a topic of this team.');
  }
  const known = new Set((await liveSegments(tx, teamId, segmentIds)).map(({ id }) => id));
  const stray = segmentIds.findIndex((id) => !known.has(id));
  if (stray >= 0) {
    const path = `segment_ids.${stray}`;
    throw invalidField(path, `${path} does not match a segment of this team.`);
  }
  if (templateId !== null) return mustAsk(tx, teamId, templateId);
  const parsed = parseMailbox(sender ?? '');
  if (sender === null || !parsed.ok) {
    throw invalidField(
      'from',
      'from is required without a confirmation_template_id; set it to the sender of the email.',
    );
  }
  if (!(await findDomainByName(tx, teamId, parsed.mailbox.domain))) {
    throw invalidField('from', `from: ${parsed.mailbox.domain} is not a domain of this team; add and verify it first.`);
  }
}

export const readIds = (json: string): string[] => JSON.parse(json) as string[];

export async function deleteForm({ store, teamId }: Ctx, id: string) {
  const isDone = await store.db.tx((tx) => removeForm(tx, teamId, id));
  if (!isDone) throw notFound('Form');
  return { object: 'form' as const, id, deleted: true as const };
}

export async function listForms({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await listFormRows(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map((row) => present(store, row)) };
}

export async function getForm({ store, teamId }: Ctx, id: string) {
  const row = await findForm(store.db, teamId, id);
  if (!row) throw notFound('Form');
  return { object: 'form' as const, ...present(store, row) };
}

const present = (store: Store, row: FormRow) => ({
  id: row.id,
  name: row.name,
  topic_id: row.topic_id,
  segment_ids: readIds(row.segment_ids),
  from: row.sender,
  confirmation_template_id: row.confirmation_template_id,
  redirect_url: row.redirect_url,
  confirmed_url: row.confirmed_url,
  allowed_origins: readIds(row.allowed_origins),
  enabled: row.enabled === 1,
  proof_of_work: row.proof_of_work === 1,
  url: formUrl(store, row.id),
  created_at: isoTime(row.created_at),
});

const formUrl = (store: Store, id: string): string => `${store.origin()}/subscribe/${id}`;

/** Returns the form as HTML for a page of the team's own. */
export async function getFormSnippet({ store, teamId }: Ctx, id: string) {
  const row = await findForm(store.db, teamId, id);
  const team = row && (await findTeam(store.db, teamId));
  if (!team) throw notFound('Form');
  const language = team.default_language;
  const texts = READER_TEXTS[language];
  const field = `subscribe-${id}`;
  const html = `<form method="post" action="${escapeHtml(formUrl(store, id))}" lang="${language}">
  <label for="${field}">${escapeHtml(texts.emailAddress)}</label>
  <input id="${field}" type="email" name="email" autocomplete="email" maxlength="254" required>
  <p hidden><label>${escapeHtml(texts.leaveEmpty)} <input name="${TRAP_FIELD}" tabindex="-1" autocomplete="off"></label></p>
  <input type="hidden" name="language" value="${language}">
  <button type="submit">${escapeHtml(texts.subscribe)}</button>
${row.proof_of_work === 1 ? renderSolver(language) : ''}</form>
`;
  return { object: 'form_snippet' as const, id, html };
}
