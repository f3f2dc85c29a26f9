import { createHash } from 'node:crypto';
import type { ApprovalMessage, BodyOf, CreateBroadcastRequest, PostalAddress } from '../../../contract/index.ts';
import { NoSuchBlob } from '../../../platform/blobs/index.ts';
import { isUuid } from '../../../platform/ids.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { World } from '../../../platform/world.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  ANY_CONTACTS,
  BROADCAST_TEXTS,
  FILTERED,
  listHeaders,
  type Content,
  type HeldFile,
  type ReviewedCall,
  type ProposedCall,
  type FilledCall,
} from './proposed-call.ts';
import { getAutomation, previewContinuedRuns } from '../../automations/index.ts';
import {
  fallbacksIn,
  readFallbacks,
  findBroadcast,
  countRecipients,
  getBroadcast,
  listSubjects,
  readAbTest,
  loadAudience,
  NOBODY,
  presentAudience,
  readTarget,
  sampleAudience,
  type Fallbacks,
  type Target,
} from '../../campaigns/index.ts';
import {
  declaredProperties,
  findContactsByIds,
  getContact,
  getContactProperty,
  getForm,
  getSegment,
  getTopic,
  listContactTopics,
} from '../../audience/index.ts';
import { getEmail, sizeOfFile, readAttachments, type DraftAttachment } from '../../../mail/emails/index.ts';
import { getDraft, getInbox, getInboxThread, inboxNamed } from '../../inbox/index.ts';
import { listAttachments } from '../../../mail/attachments/index.ts';
import { getSuppression } from '../../../mail/suppressions/index.ts';
import { findTeam, getTeam } from '../../../tenancy/teams/index.ts';
import { findNamedContent, findTemplate, findVersionContent, getTemplate } from '../../templates/index.ts';
import {
  previewDraft,
  previewDraftTemplate,
  previewForward,
  previewReply,
  type ComposedMail,
} from '../../inbox/start.ts';
import { fetchAttachments } from '../../../mail/accept/index.ts';

const OF_BROADCASTS = new Set(['sendBroadcast', 'testBroadcast', 'resumeBroadcast', 'archiveBroadcast']);
/** Operations on a broadcast that send nothing to its audience. */
const WITHOUT_AUDIENCE = new Set(['testBroadcast', 'archiveBroadcast']);
const OF_AUTOMATIONS = new Set(['createAutomation', 'updateAutomation']);
/** Operations that start or continue runs of an automation, which they do not change. */
const OF_RUNS = new Set(['createAutomationRun', 'retryAutomationRun', 'skipAutomationStep', 'retryAutomationRuns']);
const OF_ONE_RUN = new Set(['retryAutomationRun', 'skipAutomationStep']);
const OF_EMAILS = new Set(['updateEmail', 'createShare']);

type Fields = Readonly<Record<string, unknown>>;

/** Content to show of one call, as it is collected. */
interface Showing {
  ctx: Ctx<World>;
  call: ProposedCall;
  messages: ApprovalMessage[];
  sender: Content['sender'];
  audience: Content['audience'];
  automation: Content['automation'];
  sampleRecipients: ReviewedCall['sampleRecipients'];
  changes: Content['changes'];
  objects: Content['objects'];
  /** When the draft that the call sends or publishes was last changed. */
  draftAt: number | null;
  ids: string[];
  /** The ids of files; the name and size alone could belong to another file. */
  files: string[];
  /** The version to show of each template, by id or alias. */
  templates: Map<string, 'draft' | 'published'>;
}

/**
 * Reads what a call names and does not contain. A person approves what they see, so the hash covers everything that is
 * shown, except the recipients of a broadcast, which change all the time and are compared by their sample. Missing
 * objects are not shown; the call itself will report them.
 */
export async function reviewCall(
  ctx: Ctx<World>,
  call: ProposedCall,
  files: readonly HeldFile[],
): Promise<ReviewedCall> {
  const showing: Showing = {
    ctx,
    call,
    messages: [],
    sender: null,
    audience: null,
    automation: null,
    sampleRecipients: async () => null,
    changes: [],
    objects: [],
    draftAt: null,
    ids: [],
    files: [],
    templates: new Map(),
  };
  await showObjects(showing);
  await ifThere(showEmails(showing));
  await ifThere(showBroadcast(showing));
  await ifThere(showInboxMail(showing));
  await ifThere(showAutomation(showing));
  await ifThere(showChanges(showing));
  await showTemplates(showing);
  const { objects, messages, sender, audience, automation, changes, ids } = showing;
  const content = { objects, messages, sender, audience, automation, changes };
  const to = audience && { ...audience, contacts: null, subscribed: null };
  const seen = { objects, messages, sender, to, automation, changes, files: showing.files };
  const hash = createHash('sha256')
    .update(JSON.stringify([seen, files]))
    .digest('base64url');
  const bytes = Buffer.byteLength(JSON.stringify(content));
  return {
    content,
    bytes,
    hash,
    draftAt: showing.draftAt,
    sampleRecipients: showing.sampleRecipients,
    ids: [...new Set(ids)],
  };
}

async function ifThere(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof NoSuchBlob)) throw error;
  }
}

const toFields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const listIn = (value: unknown): string[] =>
  (Array.isArray(value) ? (value as unknown[]) : [value]).filter((one): one is string => typeof one === 'string');
const pathIn = ({ path }: ProposedCall, name: string): string => String(path[name]);

function buildMessage(kind: ApprovalMessage['kind'], fields: Partial<ApprovalMessage>): ApprovalMessage {
  const { to = [], cc = [], bcc = [] } = fields;
  return {
    kind,
    name: null,
    from: null,
    to,
    cc,
    bcc,
    reply_to: [],
    recipients: to.length + cc.length + bcc.length,
    subjects: [],
    preview_text: null,
    html: null,
    text: null,
    template: null,
    alias: null,
    headers: [],
    options: [],
    fallbacks: {},
    attachments: [],
    ...fields,
  };
}

/** Readers of the names of objects, by the parameters and fields that name them. */
const NAMES: Readonly<Record<string, (ctx: Ctx<World>, id: string, call: ProposedCall) => Promise<string>>> = {
  contact: async (ctx, id) => (await getContact(ctx, id)).email,
  contact_id: async (ctx, id) => (await getContact(ctx, id)).email,
  suppression: async (ctx, id) => (await getSuppression(ctx, id)).email,
  ids: async (ctx, id) => (await getSuppression(ctx, id)).email,
  segment: async (ctx, id) => (await getSegment(ctx, id.toLowerCase())).name,
  segment_id: async (ctx, id) => (await getSegment(ctx, id.toLowerCase())).name,
  audience_id: async (ctx, id) => (await getSegment(ctx, id.toLowerCase())).name,
  segments: async (ctx, id) => (await getSegment(ctx, id.toLowerCase())).name,
  segment_ids: async (ctx, id) => (await getSegment(ctx, id.toLowerCase())).name,
  exclude_segment_ids: async (ctx, id) => (await getSegment(ctx, id.toLowerCase())).name,
  topic_id: async (ctx, id) => (await getTopic(ctx, id.toLowerCase())).name,
  topics: async (ctx, id) => (await getTopic(ctx, id.toLowerCase())).name,
  contact_property_id: async (ctx, id) => (await getContactProperty(ctx, id)).key,
  broadcast_id: async (ctx, id) => (await getBroadcast(ctx, id)).name,
  not_received_from: async (ctx, id) => (await getBroadcast(ctx, id.toLowerCase())).name,
  received_but_not_opened: async (ctx, id) => (await getBroadcast(ctx, id.toLowerCase())).name,
  automation_id: async (ctx, id) => (await getAutomation(ctx, id)).name,
  template: async (ctx, id) => (await getTemplate(ctx, id)).name,
  confirmation_template_id: async (ctx, id) => (await getTemplate(ctx, id)).name,
  form_id: async (ctx, id) => (await getForm(ctx, id)).name,
  email_id: async (ctx, id) => (await getEmail(ctx, id)).subject ?? '',
  inbox: async (ctx, id) => (await inboxNamed(ctx, id)).address,
  thread_id: async (ctx, id, call) => (await getInboxThread(ctx, pathIn(call, 'inbox'), id)).subject ?? '',
  draft_id: async (ctx, id, call) => (await getDraft(ctx, pathIn(call, 'inbox'), id)).subject ?? '',
};

/** Shows the names of the objects that a call names by ids: nobody recognizes an id. */
async function showObjects({ ctx, call, objects }: Showing): Promise<void> {
  const seen = new Set<string>();
  const named = listNamed(call);
  // The items of a batch may name a thousand contacts.
  const emails = await readEmails(
    ctx,
    named.flatMap(([field, id]) => (field === 'contact_id' ? [id] : [])),
  );
  for (const [field, id] of named) {
    const read = Object.hasOwn(NAMES, field) ? NAMES[field] : undefined;
    if (!read || seen.has(`${field} ${id}`)) continue;
    seen.add(`${field} ${id}`);
    const email = field === 'contact_id' ? emails.get(id.toLowerCase()) : undefined;
    if (email !== undefined) {
      objects.push({ field, id, name: email });
      continue;
    }
    await ifThere(
      read(ctx, id, call).then((name) => {
        if (name !== id) objects.push({ field, id, name });
      }),
    );
  }
}

/** Returns the addresses of contacts by their ids. */
async function readEmails({ store, teamId }: Ctx<World>, ids: readonly string[]): Promise<Map<string, string>> {
  const wanted = [...new Set(ids.map((id) => id.toLowerCase()))].filter(isUuid);
  if (wanted.length === 0) return new Map();
  const rows = await findContactsByIds(store.db, teamId, wanted);
  return new Map(rows.map(({ id, email }) => [id, email]));
}

/**
 * Lists the ids in the path and the body of a call, in each item of a batch, and in the steps of an automation, with the
 * fields that have them.
 */
function listNamed({ operationId, path, body }: ProposedCall): [field: string, id: string][] {
  const steps = toFields(body)['steps'];
  const items = Array.isArray(body) ? (body as unknown[]) : [body];
  const parts = [
    path,
    ...(operationId === 'updateContactTopics' && Array.isArray(body) ? [{ topics: items }] : items.map(toFields)),
    ...(Array.isArray(steps) ? (steps as unknown[]) : []).map((step) => toFields(toFields(step)['config'])),
  ];
  return parts
    .flatMap((part) => Object.entries(part))
    .flatMap(([field, value]) => idsIn(value).map((id): [string, string] => [field, id]));
}

/** Returns the id in a value, or the ids in a list of ids or of objects with ids. */
const idsIn = (value: unknown): string[] =>
  (Array.isArray(value) ? (value as unknown[]) : [value])
    .map((one) => (typeof one === 'string' ? one : toFields(one)['id']))
    .filter((id): id is string => typeof id === 'string');

const ATTACHMENTS_MAX = 100;

/** Shows the emails in the call itself, each one of a batch, and an email that exists already. */
async function showEmails({ ctx, call, messages, templates }: Showing): Promise<void> {
  const { operationId, body } = call;
  if (OF_EMAILS.has(operationId)) {
    const id = pathIn(call, 'email_id');
    const email = await getEmail(ctx, id);
    const { data: files } = await listAttachments(ctx, id, { limit: ATTACHMENTS_MAX });
    messages.push(
      buildMessage('email', {
        from: email.from,
        to: listIn(email.to),
        cc: listIn(email.cc),
        bcc: listIn(email.bcc),
        reply_to: listIn(email.reply_to),
        subjects: listIn(email.subject),
        html: email.html,
        text: email.text,
        attachments: files.map(({ filename, size }) => ({ filename, size })),
      }),
    );
    return;
  }
  if (operationId !== 'sendEmail' && operationId !== 'sendBatch') return;
  const emails: readonly unknown[] = Array.isArray(body) ? (body as unknown[]) : [body];
  for (const [i, email] of emails.map(toFields).entries()) {
    const template = textIn(toFields(email['template'])['id']);
    if (template !== null) templates.set(template, 'published');
    messages.push(
      buildMessage('email', {
        name: Array.isArray(body) ? `${i}` : null,
        from: textIn(email['from']),
        to: listIn(email['to']),
        cc: listIn(email['cc']),
        bcc: listIn(email['bcc']),
        reply_to: [...listIn(email['reply_to']), ...repliesTo(listHeaders(email))],
        headers: listHeaders(email),
        subjects: listIn(email['subject']),
        html: textIn(email['html']),
        text: textIn(email['text']),
        template,
        attachments: listAttached(email),
      }),
    );
  }
}

/** Returns the files that are in a mail of the call itself, or that it names by URLs. */
const listAttached = ({ attachments }: Fields): ApprovalMessage['attachments'] =>
  (Array.isArray(attachments) ? (attachments as unknown[]) : [])
    .map(toFields)
    .map((file) => ({ filename: textIn(file['filename']), size: null }));

/** Returns the values of Reply-To among additional headers. */
const repliesTo = (headers: ApprovalMessage['headers']): string[] =>
  headers.flatMap(({ name, value }) => (name.toLowerCase() === 'reply-to' ? [value] : []));

async function showBroadcast(showing: Showing): Promise<void> {
  const { ctx, call, messages, ids, templates } = showing;
  const { store, teamId } = ctx;
  const properties = await declaredProperties(store.db, teamId);
  if (call.operationId === 'createBroadcast') {
    const body = toFields(call.body) as Partial<CreateBroadcastRequest>;
    const template = body.template?.id ?? null;
    if (template !== null) templates.set(template, 'published');
    messages.push(
      buildMessage('broadcast', {
        name: body.name ?? null,
        from: textIn(body.from),
        reply_to: listIn(body.reply_to),
        subjects: [...listIn(body.subject), ...(body.ab?.subjects ?? [])],
        preview_text: body.preview_text ?? null,
        html: body.html ?? null,
        text: body.text ?? null,
        template,
        options: listOptions(body),
        fallbacks: await fallbacksUsed(ctx, body, { template, fallbacks: fallbacksIn(properties) }),
      }),
    );
    await showAudience(showing, readTarget(NOBODY, body));
    return;
  }
  if (!OF_BROADCASTS.has(call.operationId)) return;
  const row = await findBroadcast(store.db, teamId, pathIn(call, 'broadcast_id'));
  if (!row) return;
  ids.push(row.id);
  if (call.operationId === 'sendBroadcast') showing.draftAt = Number(row.updated_at);
  const team = await findTeam(store.db, teamId);
  if (!team) throw new Error(`team row of the broadcast ${row.id} missing`);
  // A broadcast that was sent or scheduled uses the version that was fixed then.
  const fixed =
    row.template_version_id === null ? undefined : await findVersionContent(store.db, row.template_version_id);
  if (!fixed && row.template_id !== null) templates.set(row.template_id, 'published');
  messages.push(
    buildMessage('broadcast', {
      name: row.name,
      from: row.sender,
      to: call.operationId === 'testBroadcast' ? listIn(toFields(call.body)['to']) : [],
      reply_to: JSON.parse(row.reply_to_list) as string[],
      subjects: listSubjects(row),
      preview_text: row.preview_text,
      html: row.html ?? fixed?.html ?? null,
      text: row.text ?? fixed?.text ?? null,
      template: row.template_id,
      options: listOptions({
        ...row,
        local_time: row.local_time === 1,
        ab: readAbTest(row),
        archive: row.archive === 1 || call.operationId === 'archiveBroadcast',
      }),
      fallbacks: {
        ...Object.fromEntries(fixed?.fallbacks ?? []),
        ...(await fallbacksUsed(
          ctx,
          { ...row, fixed },
          { template: row.template_id, fallbacks: readFallbacks(row, { properties, team }) },
        )),
      },
    }),
  );
  if (WITHOUT_AUDIENCE.has(call.operationId)) return;
  await showAudience(showing, row);
}

/** Lists how a broadcast is sent, which nobody sees in its text or its recipients. */
function listOptions(
  broadcast: Pick<CreateBroadcastRequest, 'rate_per_minute' | 'pool' | 'local_time' | 'ab' | 'archive'>,
) {
  const { rate_per_minute: rate, pool, local_time: isLocal, ab, archive } = broadcast;
  const options: Readonly<Record<string, unknown>> = {
    rate_per_minute: rate,
    pool,
    local_time: isLocal ? true : null,
    'ab.test_percent': ab?.test_percent,
    'ab.wait_minutes': ab?.wait_minutes,
    archive: archive ? 'true (everybody can read the email on the web)' : null,
  };
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [{ name, value: String(value) }],
  );
}

/** Returns the fallbacks of the keys that a broadcast or its template mentions. */
async function fallbacksUsed(
  { store, teamId }: Ctx<World>,
  written: object,
  { template, fallbacks }: { template: string | null; fallbacks: Fallbacks },
): Promise<Fallbacks> {
  const found =
    template === null ? undefined : await findNamedContent(store.db, teamId, { id: template, which: 'published' });
  const text = JSON.stringify([written, found?.version]).toLowerCase();
  return Object.fromEntries(Object.entries(fallbacks).filter(([key]) => text.includes(key)));
}

/** Shows the current recipients of a broadcast, and who is named as its sender. */
async function showAudience(showing: Showing, target: Target): Promise<void> {
  const { ctx, ids } = showing;
  const { store, teamId } = ctx;
  ids.push(BROADCAST_TEXTS);
  const team = await findTeam(store.db, teamId);
  const address = team?.postal_address ? (JSON.parse(team.postal_address) as PostalAddress) : null;
  if (team) showing.sender = { name: team.sender_name ?? team.name, postal_address: address && { ...address } };
  const { topic_id: topicId } = target;
  if (topicId !== null) ids.push(topicId);
  const audience = await loadAudience(store.db, teamId, target, store.clock.now());
  if ('failed' in audience) return;
  const segments = [...audience.segments, ...audience.excludedSegments];
  ids.push(...segments.map(({ id }) => id), ANY_CONTACTS);
  if (segments.some(({ filter }) => filter !== null)) ids.push(FILTERED);
  const counted = await countRecipients(store.db, teamId, { audience, topicId, now: store.clock.now() });
  const { contacts, recipients } = counted;
  const [first] = audience.segments;
  if (!first) return;
  showing.audience = {
    segment_id: first.id,
    segment_name: first.name,
    ...presentAudience(audience),
    topic_id: topicId,
    topic_name: null,
    contacts,
    subscribed: recipients,
    subscribed_before: null,
    over_marketing_cap: counted.over_marketing_cap,
  };
  showing.sampleRecipients = (before) => sampleAudience(ctx, { audience, topicId, recipients }, before);
  if (topicId !== null) showing.audience.topic_name = (await getTopic(ctx, topicId)).name;
}

const OF_INBOX_MAIL = new Set([
  'replyToInboxEmail',
  'forwardInboxEmail',
  'sendInboxDraft',
  'createInboxDraft',
  'updateInboxDraft',
]);

/**
 * Shows replies, forwards and drafts as they would be sent, with their quotes and signature, and the bodies that the
 * template of a draft renders to.
 */
async function showInboxMail(showing: Showing): Promise<void> {
  const { ctx, call, messages, ids, files } = showing;
  const { operationId, path } = call;
  if (!OF_INBOX_MAIL.has(operationId)) return;
  const named = String(path['inbox']);
  const templateId = textIn(toFields(toFields(call.body)['template'])['id']);
  const template = templateId === null ? undefined : await findTemplate(ctx.store.db, ctx.teamId, templateId);
  if (template) ids.push(template.id);
  if (operationId === 'createInboxDraft' || operationId === 'updateInboxDraft') {
    const id = operationId === 'updateInboxDraft' ? pathIn(call, 'draft_id') : undefined;
    const filled = await previewDraftTemplate(ctx, { named, id, body: toFields(call.body) });
    if (!filled) return;
    const { html = null, text = null, subject } = filled;
    messages.push(buildMessage('draft', { html, text, subjects: listIn(subject), template: templateId }));
    return;
  }
  ids.push((await inboxNamed(ctx, named)).id);
  if (operationId === 'sendInboxDraft') {
    const id = (await getDraft(ctx, named, pathIn(call, 'draft_id'))).id;
    ids.push(id);
    const { headers = null } = toFields(call.body) as { headers?: Record<string, string> };
    const { mail, files: own, updatedAt } = await previewDraft(ctx, { named, id, headers });
    showing.draftAt = updatedAt;
    files.push(...own.map((file) => file.id));
    messages.push(shownMail('draft', mail, call));
    return;
  }
  const of = { named, threadId: pathIn(call, 'thread_id'), emailId: pathIn(call, 'inbox_email_id') };
  if (operationId === 'replyToInboxEmail') {
    const mail = await previewReply(ctx, { ...of, body: toFields(call.body) });
    messages.push({ ...shownMail('reply', mail, call), template: templateId });
    return;
  }
  const body = toFields(call.body) as Parameters<typeof previewForward>[1]['body'];
  messages.push(shownMail('forward', await previewForward(ctx, { ...of, body }), call));
}

/** Header that Outlook sorts conversations by. It contains the time, so it is made anew whenever a reply is composed. */
const THREAD_INDEX = 'thread-index';

function shownMail(kind: ApprovalMessage['kind'], { draft }: ComposedMail, { body }: ProposedCall): ApprovalMessage {
  const { from, to, cc, bcc } = draft.headerMailboxes;
  const written = new Set(listHeaders(body).map(({ name }) => name.toLowerCase()));
  const headers = draft.headers
    .filter(([name]) => name.toLowerCase() !== THREAD_INDEX || written.has(THREAD_INDEX))
    .map(([name, value]) => ({ name, value }));
  const attachments = [
    ...draft.attachments.map((file) => ({ filename: file.filename, size: sizeOfFile(file) })),
    ...listAttached(toFields(body)),
  ];
  return buildMessage(kind, {
    from,
    to,
    cc,
    bcc,
    reply_to: repliesTo(headers),
    headers,
    subjects: [draft.subject],
    html: draft.html,
    text: draft.text,
    attachments,
  });
}

/**
 * Shows the automation as it would be after the call, and the mail of each step. Runs continue in the version that they
 * started with, so its steps are shown for them.
 */
async function showAutomation(showing: Showing): Promise<void> {
  const { ctx, call } = showing;
  const isOfRuns = OF_RUNS.has(call.operationId);
  if (!OF_AUTOMATIONS.has(call.operationId) && !isOfRuns) return;
  const isThere = call.operationId !== 'createAutomation';
  const before = isThere ? await getAutomation(ctx, pathIn(call, 'automation_id')) : undefined;
  const after: Fields = { ...before, ...(isOfRuns ? {} : toFields(call.body)) };
  const graphs = await showRuns(showing);
  if (graphs.length === 0) graphs.push(after);
  const label = (at: number): string => (graphs.length === 1 ? '' : `version ${at + 1} of ${graphs.length}, `);
  showing.automation = {
    name: textIn(after['name']),
    status: textIn(after['status']) ?? 'disabled',
    reentry: textIn(after['reentry']) ?? 'always',
    exit_on: listIn(after['exit_on']),
    steps: graphs.flatMap((graph, at) => {
      const connections = fieldsIn(graph['connections']);
      return fieldsIn(graph['steps']).map((step) => `${label(at)}${describeStep(step, connections)}`);
    }),
  };
  for (const graph of graphs) showStepMail(showing, fieldsIn(graph['steps']));
}

const fieldsIn = (list: unknown): Fields[] => (Array.isArray(list) ? (list as unknown[]).map(toFields) : []);

/** Shows the contacts of the runs that a call continues. Returns the graphs of the versions that they started with. */
async function showRuns({ ctx, call, objects }: Showing): Promise<Fields[]> {
  const { operationId, body } = call;
  if (operationId !== 'retryAutomationRuns' && !OF_ONE_RUN.has(operationId)) return [];
  const which = OF_ONE_RUN.has(operationId)
    ? { runId: pathIn(call, 'run_id') }
    : (toFields(body) as BodyOf<'retryAutomationRuns'>);
  const runs = await previewContinuedRuns(ctx, pathIn(call, 'automation_id'), which);
  const emails = await readEmails(
    ctx,
    runs.map(({ contactId }) => contactId),
  );
  for (const { id, contactId } of runs) objects.push({ field: 'run_id', id, name: emails.get(contactId) ?? contactId });
  const graphs = new Map(runs.map(({ version, graph }) => [version, graph]));
  return [...graphs].sort(([a], [b]) => a - b).map(([, graph]) => toFields(graph));
}

/** Shows the mail of each step of an automation. */
function showStepMail({ messages, templates }: Showing, steps: readonly Fields[]): void {
  for (const step of steps) {
    if (step['type'] !== 'send_email') continue;
    const config = toFields(step['config']);
    const template = textIn(toFields(config['template'])['id']);
    if (template !== null) templates.set(template, 'published');
    messages.push(
      buildMessage('automation_step', {
        name: textIn(step['key']),
        from: textIn(config['from']),
        reply_to: listIn(config['reply_to']),
        subjects: listIn(config['subject']),
        template,
      }),
    );
  }
}

/** Describes a step in one line: its values as JSON, in which line ends are escaped, and what follows it. */
function describeStep({ key, type, config }: Fields, connections: readonly Fields[]): string {
  const values = Object.entries(toFields(config)).map(([field, value]) => `${field}: ${JSON.stringify(value)}`);
  const next = connections
    .filter(({ from }) => from === key)
    .map(({ to, type: kind = 'default' }) => `then ${String(to)}${kind === 'default' ? '' : ` if ${String(kind)}`}`);
  return [`${String(key)}: ${String(type)}`, ...values, ...next].join(', ');
}

/** Shows every template that is named, once and in full. */
async function showTemplates(showing: Showing): Promise<void> {
  const { ctx, call, messages, ids, templates } = showing;
  if (call.operationId === 'publishTemplate') {
    const named = pathIn(call, 'template');
    // Read before the content, so that a change in between is found when the template is published.
    showing.draftAt = (await findTemplate(ctx.store.db, ctx.teamId, named))?.updated_at ?? null;
    templates.set(named, 'draft');
  }
  for (const [id, which] of templates) {
    const found = await findNamedContent(ctx.store.db, ctx.teamId, { id, which });
    if (!found) continue;
    const { version } = found;
    ids.push(found.id);
    messages.push(
      buildMessage('template', {
        name: found.name,
        alias: (await getTemplate(ctx, found.id)).alias,
        from: version.sender,
        reply_to: JSON.parse(version.reply_to_list) as string[],
        subjects: listIn(version.subject),
        html: version.html,
        text: version.text,
        template: id,
        fallbacks: Object.fromEntries(found.fallbacks),
      }),
    );
  }
}

/** Readers of the values before a change, for operations that write text which mail contains. */
const BEFORE: Readonly<Record<string, (ctx: Ctx<World>, call: ProposedCall) => Promise<object>>> = {
  updateTeam: (ctx) => getTeam(ctx),
  updateInbox: (ctx, call) => getInbox(ctx, pathIn(call, 'inbox')),
  updateInboxDraft: (ctx, call) => getDraft(ctx, pathIn(call, 'inbox'), pathIn(call, 'draft_id')),
  updateBroadcast: (ctx, call) => getBroadcast(ctx, pathIn(call, 'broadcast_id')),
  updateTemplate: (ctx, call) => getTemplate(ctx, pathIn(call, 'template')),
  updateAutomation: (ctx, call) => getAutomation(ctx, pathIn(call, 'automation_id')),
  updateTopic: (ctx, call) => getTopic(ctx, pathIn(call, 'topic_id').toLowerCase()),
  updateForm: (ctx, call) => getForm(ctx, pathIn(call, 'form_id')),
  updateContact: (ctx, call) => getContact(ctx, pathIn(call, 'contact')),
  updateAudienceContact: (ctx, call) => getContact(ctx, pathIn(call, 'contact')),
  updateContactProperty: (ctx, call) => getContactProperty(ctx, pathIn(call, 'contact_property_id')),
  updateEmail: (ctx, call) => getEmail(ctx, pathIn(call, 'email_id')),
  updateInboxThread: (ctx, call) => getInboxThread(ctx, pathIn(call, 'inbox'), pathIn(call, 'thread_id')),
  updateSegment: (ctx, call) => getSegment(ctx, pathIn(call, 'segment').toLowerCase()),
};

const toDeletion = (before: object): Content['changes'] =>
  Object.entries(before).map(([field, value]) => ({ field, before: value as unknown, after: null }));
const toCreation = (after: object): Content['changes'] =>
  Object.entries(after).map(([field, value]) => ({ field, before: null, after: value as unknown }));

async function showChanges({ ctx, call, changes, messages, templates }: Showing): Promise<void> {
  const { operationId } = call;
  const body = toFields(call.body);
  if (operationId === 'createTopic' || operationId === 'updateTopic') {
    const confirmation = textIn(body['confirmation_template_id']) ?? (await findConfirmation(ctx, call));
    if (confirmation !== null) templates.set(confirmation, 'published');
  }
  if (operationId === 'createForm' || operationId === 'updateForm') {
    const before = operationId === 'updateForm' ? await getForm(ctx, pathIn(call, 'form_id')) : undefined;
    const { confirmation_template_id: confirmation } = { ...before, ...body };
    if (typeof confirmation === 'string') templates.set(confirmation, 'published');
  }
  if (operationId === 'updateContactTopics') {
    changes.push(await readTopicChoices(ctx, call));
    return;
  }
  if (operationId === 'deleteTemplate') {
    const { name, alias } = await getTemplate(ctx, pathIn(call, 'template'));
    changes.push(...toDeletion({ name, alias }));
  }
  if (operationId === 'addContactToSegment' || operationId === 'removeContactFromSegment') {
    const member = {
      contact: (await getContact(ctx, pathIn(call, 'contact'))).email,
      segment: (await getSegment(ctx, pathIn(call, 'segment').toLowerCase())).name,
    };
    changes.push(...(operationId === 'addContactToSegment' ? toCreation(member) : toDeletion(member)));
  }
  if (call.operationId === 'deleteContactProperty') {
    const { key, type, fallback_value } = await getContactProperty(ctx, pathIn(call, 'contact_property_id'));
    changes.push(...toDeletion({ key, type, fallback_value }));
    return;
  }
  const read = Object.hasOwn(BEFORE, call.operationId) ? BEFORE[call.operationId] : undefined;
  if (!read) {
    // What is created, or what is done otherwise, unless it is shown as a message.
    const isShown = messages.length > 0 && operationId !== 'createInboxDraft' && !OF_RUNS.has(operationId);
    // The fields of a list are its items, by their positions.
    const fields = Array.isArray(call.body) ? { ...call.body } : body;
    if (changes.length === 0 && !isShown && !OF_AUTOMATIONS.has(operationId)) changes.push(...toCreation(fields));
    return;
  }
  const before = (await read(ctx, call)) as Fields;
  for (const [field, after] of Object.entries(toFields(call.body))) {
    changes.push({ field, before: before[field] ?? null, after: after ?? null });
  }
}

const TOPICS_MAX = 1000;

async function readTopicChoices(ctx: Ctx<World>, call: ProposedCall): Promise<Content['changes'][number]> {
  const named = Array.isArray(call.body) ? (call.body as unknown[]) : toFields(call.body)['topics'];
  const ids = new Set(idsIn(named).map((id) => id.toLowerCase()));
  const page = { limit: TOPICS_MAX, after: undefined };
  const { data } = await listContactTopics(ctx, pathIn(call, 'contact'), page);
  const before = data.filter(({ id }) => ids.has(id)).map(({ id, subscription }) => ({ id, subscription }));
  return { field: 'topics', before, after: named ?? null };
}

/** Returns the template with which an existing topic asks new subscribers for confirmation. */
const findConfirmation = async (ctx: Ctx<World>, call: ProposedCall): Promise<string | null> =>
  call.operationId === 'updateTopic'
    ? ((await getTopic(ctx, pathIn(call, 'topic_id').toLowerCase())).confirmation_template_id ?? null)
    : null;

type Written = Parameters<typeof readAttachments>[0][number];

/** A file in a body and its position. */
interface Place {
  file: Written & { path: string };
  field: string;
  fill(content: DraftAttachment): void;
}

/**
 * Fetches the files that a call names. Throws the error that the call itself would return if a file cannot be fetched.
 */
export async function fetchCallFiles({ store, whenGone }: Ctx<World>, call: ProposedCall): Promise<FilledCall> {
  const body = structuredClone(call.body);
  const places = placesIn(body);
  if (places.length === 0) return { files: [], call };
  const attachments = places.flatMap(({ file }) => readAttachments([file]));
  for (const [i, attachment] of attachments.entries()) attachment.field = places[i]?.field ?? attachment.field;
  await fetchAttachments(store, [{ attachments }], whenGone);
  const files = attachments.map(({ content }, i): HeldFile => {
    const { file, field } = places[i] as Place;
    return { field, url: file.path, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
  });
  for (const [i, attachment] of attachments.entries()) places[i]?.fill(attachment);
  return { files, call: { ...call, body } };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Returns the attachments with a URL in a single mail or in each mail of a batch. */
function placesIn(body: unknown): Place[] {
  const mails: readonly (readonly [at: string, mail: unknown])[] = Array.isArray(body)
    ? (body as unknown[]).map((mail, i) => [`${i}.`, mail] as const)
    : [['', body]];
  return mails.flatMap(([at, mail]) => {
    const attachments = isObject(mail) ? mail['attachments'] : undefined;
    if (!Array.isArray(attachments)) return [];
    return (attachments as unknown[]).flatMap((file, i): Place[] => {
      if (!isObject(file) || typeof file['path'] !== 'string') return [];
      const fill = ({ content, contentType }: DraftAttachment): void => {
        delete file['path'];
        Object.assign(file, { content: content.toString('base64'), content_type: contentType });
      };
      return [{ file: { ...file } as Place['file'], field: `${at}attachments.${i}`, fill }];
    });
  });
}
