import type { AnswerOf, ApprovalContent, ApprovalMessage } from '../../../contract/index.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi } from '../layout/index.ts';
import { timeInWords } from '../share-page/index.ts';
import {
  afterFault,
  attempt,
  forSignedIn,
  renderAlert,
  renderForm,
  renderLink,
  renderLinks,
  renderStatus,
} from './elements.ts';
import type { PageCtx, PeoplePage, Shown, SignedIn } from './page.ts';

const TITLES: Record<ApprovalMessage['kind'], string> = {
  email: 'The email',
  broadcast: 'The broadcast',
  draft: 'The draft',
  reply: 'The answer',
  forward: 'The forward',
  template: 'The template',
  automation_step: 'The email of a step',
};

/** Renders in full what a call names and does not contain: a person decides on texts and recipients, not on ids. */
function renderContent({ content }: AnswerOf<'getApproval'>): string {
  if (content === null) return '';
  return [
    content.is_changed ? renderAlert(CHANGED) : '',
    renderAudience(content),
    renderSender(content),
    ...content.messages.map(renderMessage),
    renderChanges(content),
  ].join('\n');
}

const CHANGED =
  'Content that this call names has changed since the app asked, or it would go to more contacts. It cannot be approved: reject it, and let the app ask again.';

function renderMessage(message: ApprovalMessage): string {
  const { kind, name, template, fallbacks, attachments } = message;
  const files = attachments.map(
    ({ filename, size }) => `${filename ?? 'a file'}${size === null ? '' : ` (${size} bytes)`}`,
  );
  const rows = renderRows({
    Name: name ?? '',
    From: message.from ?? '',
    To: message.to.join(', '),
    Cc: message.cc.join(', '),
    Bcc: message.bcc.join(', '),
    'Reply to': message.reply_to.join(', '),
    Recipients: message.recipients > 1 ? `${message.recipients}` : '',
    Subject: message.subjects.join(' / '),
    'Shown after the subject': message.preview_text ?? '',
    Template: kind === 'template' ? '' : (template ?? ''),
    'Without a value': Object.entries(fallbacks)
      .map(([key, value]) => `${key}: ${value}`)
      .join(', '),
    Files: files.join(', '),
  });
  return `<h2>${TITLES[kind]}</h2>${rows}${renderBodies(message)}`;
}

/** Renders the recipients of a broadcast as of now. Until the decision the app may not add contacts. */
function renderAudience({ audience }: ApprovalContent): string {
  if (audience === null) return '';
  const { contacts, subscribed, subscribed_before: before, segment_name: segment, topic_name: topic } = audience;
  const earlier = before === null || before === subscribed ? '' : `; ${before} when the app asked`;
  const rows = {
    Segment: segment,
    Topic: topic ?? '',
    Contacts: `${contacts}, of whom ${subscribed} want mail${earlier}`,
  };
  return `<h2>Recipients</h2>${renderRows(rows)}`;
}

function renderSender({ sender }: ApprovalContent): string {
  if (sender === null) return '';
  const lines = Object.values(sender.postal_address ?? {}).filter((line) => typeof line === 'string');
  return `<h2>Sender named below it</h2>${renderRows({ Name: sender.name, Address: lines.join(', ') })}`;
}

function renderChanges({ changes }: ApprovalContent): string {
  if (changes.length === 0) return '';
  const inWords = (value: unknown): string =>
    typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2);
  const rows = changes.map(
    ({ field, before, after }) =>
      `<h3>${bdi(field)}</h3><p>Now:</p><pre>${escapeHtml(visible(inWords(before)))}</pre><p>After it:</p><pre>${escapeHtml(visible(inWords(after)))}</pre>`,
  );
  return `<h2>What changes</h2>${rows.join('')}`;
}

const renderRows = (values: Readonly<Record<string, string>>): string => {
  const rows = Object.entries(values).filter(([, value]) => value !== '');
  return `<dl>${rows.map(([label, value]) => `<div><dt>${label}</dt><dd>${bdi(value)}</dd></div>`).join('')}</dl>`;
};

/** Renders HTML and text, because a mail program shows one of them, and we cannot know which. */
const renderBodies = ({ text, html }: Pick<ApprovalMessage, 'text' | 'html'>): string =>
  [text, html]
    .filter((body) => body !== null && body !== '')
    .map((body) => `<pre>${escapeHtml(visible(body ?? ''))}</pre>`)
    .join('');

/** Shows direction marks, because they would make the text look different from the one that is sent. */
const visible = (text: string): string =>
  text.replaceAll(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\u${mark.codePointAt(0)?.toString(16)}`);

const PATH = '/account/approvals';
const ONE_PATH = '/account/approvals/one';

type PersonCtx = PageCtx & { session: SignedIn };
type One = AnswerOf<'getApproval'>;

/**
 * Lists the calls that apps want to make in the team of the session. The link in the mail leads here; following it
 * decides nothing.
 */
export const approvalsPage: PeoplePage = {
  path: PATH,
  get: forSignedIn(async (ctx, { query }) => {
    if (ctx.session.teamId === null) return withoutTeam();
    const after = query.get('after');
    const isAll = query.get('all') === 'yes';
    const wanted = { ...(isAll ? {} : { status: 'pending' as const }), ...(after === undefined ? {} : { after }) };
    const page = await ctx.call('listApprovals', { query: wanted });
    const older = `${PATH}?after=${page.data.at(-1)?.id ?? ''}${isAll ? '&all=yes' : ''}`;
    return {
      title: 'What apps want to do',
      content: [
        page.data.length === 0 ? '<p>Nothing waits for you in this team.</p>' : '',
        `<ul class="rows">${page.data.map(rowOf).join('')}</ul>`,
        renderLinks(
          page.has_more ? renderLink(older, 'Older ones') : '',
          isAll ? renderLink(PATH, 'What waits alone') : renderLink(`${PATH}?all=yes`, 'With what was decided'),
          renderLink('/account', 'Back to your account, where you switch the team'),
        ),
      ].join('\n'),
    };
  }),
};

function rowOf(one: AnswerOf<'listApprovals'>['data'][number]): string {
  const about = `${bdi(one.grant.client_name)}, ${timeInWords(Date.parse(one.created_at))}, ${one.status}`;
  return `<li><div>${renderLink(`${ONE_PATH}?id=${one.id}`, one.summary)}<br><span class="quiet">${about}</span></div></li>`;
}

/** Shows one of them, with all its effects. */
export const approvalPage: PeoplePage = {
  path: ONE_PATH,
  get: forSignedIn((ctx, { query }) => showOne(ctx, query.get('id') ?? '')),
  post: forSignedIn(async (ctx, { form }) => {
    const id = form.get('approval_id') ?? '';
    const path = { approval_id: id };
    const decision = form.get('decision');
    if (decision !== 'approve' && decision !== 'reject') return showOne(ctx, id);
    const done = await attempt(
      decision === 'approve' ? ctx.call('approveCall', { path }) : ctx.call('rejectCall', { path, body: {} }),
    );
    return done instanceof Refusal ? showOne(ctx, id, done) : { to: `${ONE_PATH}?id=${encodeURIComponent(id)}` };
  }),
};

async function showOne(ctx: PersonCtx, id: string, fault?: Refusal): Promise<Shown> {
  if (ctx.session.teamId === null) return withoutTeam();
  const one = await ctx.call('getApproval', { path: { approval_id: id } });
  const form = (submit: string, decision: string, isSecond: boolean): string =>
    renderForm({ action: ONE_PATH, submit, isSecond, hidden: { approval_id: one.id, decision }, id: decision });
  return {
    title: one.summary,
    content: [
      fault ? renderAlert(fault.message) : '',
      saidOf(one),
      `<p>An app that calls itself <strong>${bdi(one.grant.client_name)}</strong> asked for this ${timeInWords(Date.parse(one.created_at))}. It is done as the app has asked, or not at all.</p>`,
      renderContent(one),
      filesIn(one),
      `<h2>The call</h2><pre>${escapeHtml(visible(inWords(one)))}</pre>`,
      one.status === 'pending' ? decisionsOf(ctx, one, form) : '',
      renderLinks(renderLink(PATH, 'Back to what waits')),
    ].join('\n'),
    ...afterFault(fault),
  };
}

type ShowForm = (submit: string, decision: string, isSecond: boolean) => string;

/** Renders the decisions that this person may make, or the reason why they may not. */
function decisionsOf({ whyNot }: PersonCtx, { operation_id: operation, content }: One, form: ShowForm): string {
  const not = whyNot('approveCall') ?? whyNot(operation);
  const refused = not && `<p>You cannot approve this: ${bdi(not.message)}</p>`;
  const approve = refused ?? (content?.is_changed ? '' : form('Approve', 'approve', false));
  return approve + (whyNot('rejectCall') === undefined ? form('Reject', 'reject', true) : '');
}

function saidOf({ status, error, decided_by: by }: One): string {
  const who = by?.name ? ` by ${by.name}` : '';
  switch (status) {
    case 'pending':
      return '';
    case 'done':
      return renderStatus(`It was approved${who}, and is done.`);
    case 'failed':
      return renderAlert(`It was approved${who}, and did not work: ${error?.message ?? ''}`);
    case 'running':
      return renderStatus(`It was approved${who} at this moment.`);
    case 'rejected':
      return renderStatus(`It was rejected${who}.`);
    case 'expired':
      return renderStatus('Nobody decided in time; the app has to ask again.');
  }
}

/** Lists the files with their checksums, so that the person who reviews them knows what is sent. */
function filesIn({ files }: One): string {
  if (files.length === 0) return '';
  const rows = files.map(
    ({ url, bytes, sha256 }) => `<li>${bdi(url)}: ${bytes} bytes, SHA-256 <code>${escapeHtml(sha256)}</code></li>`,
  );
  return `<h2>The files</h2><p>As they were when the app asked; another one is not sent.</p><ul>${rows.join('')}</ul>`;
}

function inWords({ operation_id: operation, call }: One): string {
  return `${operation} ${JSON.stringify({ ...call, body: headFirst(call.body) }, null, 2)}`;
}

const HEAD = ['from', 'to', 'cc', 'bcc', 'reply_to', 'subject'];

/** Puts the recipients first. */
function headFirst(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(headFirst);
  if (typeof body !== 'object' || body === null) return body;
  const known = Object.entries(body);
  const isHead = ([name]: [string, unknown]) => HEAD.includes(name);
  return Object.fromEntries([...known.filter(isHead), ...known.filter((one) => !isHead(one))]);
}

const withoutTeam = (): Shown => ({
  title: 'Choose a team first',
  content: `<p>What apps want to do is of a team, and your session is in none.</p>${renderLinks(renderLink('/account', 'Your account'))}`,
  status: 403,
  isFault: true,
});
