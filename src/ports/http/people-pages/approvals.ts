import {
  escapeUnseen,
  escapeUnseenInLines,
  type AnswerOf,
  type ApprovalContent,
  type ApprovalMessage,
} from '../../../contract/index.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi as isolate } from '../layout/index.ts';
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

/** Isolates text of an app, in which characters that nobody sees are escaped. */
const bdi = (text: string): string => isolate(escapeUnseen(text));

const TITLES: Record<ApprovalMessage['kind'], string> = {
  email: 'Email',
  broadcast: 'Broadcast',
  draft: 'Draft',
  reply: 'Reply',
  forward: 'Forwarded email',
  template: 'Template',
  automation_step: 'Email of an automation step',
};

/** Renders in full the content that a call refers to by id, because a person decides on texts and recipients. */
function renderContent({ content }: AnswerOf<'getApproval'>): string {
  if (content === null) return '';
  return [
    content.is_changed ? renderAlert(CHANGED) : '',
    renderObjects(content),
    renderAudience(content),
    renderSender(content),
    ...content.messages.map(renderMessage),
    renderAutomation(content),
    renderChanges(content),
  ].join('\n');
}

const CHANGED =
  'The content of this request has changed since the app made it, or it would now go to more contacts. It cannot be approved. Reject it, and have the app make the request again.';

function renderMessage(message: ApprovalMessage): string {
  const { kind, name, template, fallbacks, attachments } = message;
  const files = attachments.map(
    ({ filename, size }) => `${filename ?? 'unnamed file'}${size === null ? '' : ` (${size} bytes)`}`,
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
    'Preview text': message.preview_text ?? '',
    Template: kind === 'template' ? '' : (template ?? ''),
    Alias: message.alias ?? '',
    Headers: message.headers.map(({ name: header, value }) => `${header}: ${value}`).join(' / '),
    Options: message.options.map(({ name: option, value }) => `${option}: ${value}`).join(' / '),
    'Fallback values': Object.entries(fallbacks)
      .map(([key, value]) => `${key}: ${value}`)
      .join(', '),
    Attachments: files.join(', '),
  });
  return `<h2>${TITLES[kind]}</h2>${rows}${renderBodies(message)}`;
}

/** Renders the names of the objects that the call names by ids. */
function renderObjects({ objects }: ApprovalContent): string {
  if (objects.length === 0) return '';
  const rows = objects.map(
    ({ field, id, name }) =>
      `<div><dt>${escapeHtml(nameField(field))}</dt><dd>${bdi(name)} <span class="quiet">${bdi(id)}</span></dd></div>`,
  );
  return `<h2>What it refers to</h2><dl>${rows.join('')}</dl>`;
}

/** Returns a field of the API in words, such as `Contact property` for `contact_property_id`. */
function nameField(field: string): string {
  const words = field.replace(/_id$/, '').replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Renders the current recipients of a broadcast. The app cannot add contacts before the decision. */
function renderAudience({ audience }: ApprovalContent): string {
  if (audience === null) return '';
  const { contacts, subscribed, subscribed_before: before, topic_name: topic } = audience;
  const earlier = before === null || before === subscribed ? '' : ` (${before} when the app made the request)`;
  const over = audience.over_marketing_cap ?? 0;
  const rows = {
    Segment: joinNames(audience.segments),
    'Without segment': joinNames(audience.exclude_segments),
    'Not to recipients of': joinNames(audience.not_received_from),
    'Only to those who have not opened': audience.received_but_not_opened?.name ?? '',
    Topic: topic ?? '',
    Contacts: `${contacts} ${contacts === 1 ? 'contact' : 'contacts'}, ${subscribed} of them get it${earlier}`,
    'Over the limit of marketing mail now': over === 0 ? '' : `${over} of them, who do not get it`,
  };
  return `<h2>Recipients</h2>${renderRows(rows)}`;
}

const joinNames = (named: readonly { name: string }[]): string => named.map(({ name }) => name).join(', ');

function renderSender({ sender }: ApprovalContent): string {
  if (sender === null) return '';
  const lines = Object.values(sender.postal_address ?? {}).filter((line) => typeof line === 'string');
  return `<h2>Sender identity</h2>${renderRows({ Name: sender.name, Address: lines.join(', ') })}`;
}

/** Renders what an automation does, each step in one line. */
function renderAutomation({ automation }: ApprovalContent): string {
  if (automation === null) return '';
  const { name, status, reentry, exit_on: exitOn, steps } = automation;
  const rows = renderRows({
    Name: name ?? '',
    Status: status ?? '',
    'Runs again': reentry ?? '',
    'Ends on': exitOn.join(', '),
  });
  return `<h2>Automation</h2>${rows}<ol>${steps.map((step) => `<li>${bdi(step)}</li>`).join('')}</ol>`;
}

function renderChanges({ changes }: ApprovalContent): string {
  if (changes.length === 0) return '';
  const asText = (value: unknown): string =>
    typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2);
  const rows = changes.map(
    ({ field, before, after }) =>
      `<h3>${bdi(field)}</h3><p>Now:</p><pre>${escapeHtml(escapeUnseenInLines(asText(before)))}</pre><p>After approval:</p><pre>${escapeHtml(escapeUnseenInLines(asText(after)))}</pre>`,
  );
  return `<h2>Changes</h2>${rows.join('')}`;
}

const renderRows = (values: Readonly<Record<string, string>>): string => {
  const rows = Object.entries(values).filter(([, value]) => value !== '');
  return `<dl>${rows.map(([label, value]) => `<div><dt>${label}</dt><dd>${bdi(value)}</dd></div>`).join('')}</dl>`;
};

/** Renders both HTML and text, because it is not known which of them a mail program will show. */
const renderBodies = ({ text, html }: Pick<ApprovalMessage, 'text' | 'html'>): string =>
  [text, html]
    .filter((body) => body !== null && body !== '')
    .map((body) => `<pre>${escapeHtml(escapeUnseenInLines(body ?? ''))}</pre>`)
    .join('');

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
    if (ctx.session.teamId === null) return renderNoTeam();
    const after = query.get('after');
    const isAll = query.get('all') === 'yes';
    const wanted = { ...(isAll ? {} : { status: 'pending' as const }), ...(after === undefined ? {} : { after }) };
    const page = await ctx.call('listApprovals', { query: wanted });
    const older = `${PATH}?after=${page.data.at(-1)?.id ?? ''}${isAll ? '&all=yes' : ''}`;
    return {
      title: 'Approval requests',
      content: [
        page.data.length === 0 ? '<p>There are no requests to show in this team.</p>' : '',
        `<ul class="rows">${page.data.map(renderRow).join('')}</ul>`,
        renderRejections(ctx, page.data),
        renderLinks(
          page.has_more ? renderLink(older, 'Older requests') : '',
          isAll ? renderLink(PATH, 'Show pending requests') : renderLink(`${PATH}?all=yes`, 'Show all requests'),
          renderLink('/account', 'Back to your account, where you can switch teams'),
        ),
      ].join('\n'),
    };
  }),
  post: forSignedIn(async (ctx, { form }) => {
    await ctx.call('rejectCallsOfApp', { body: { app: form.get('app') ?? '' } });
    return { to: PATH };
  }),
};

const STATUSES: Record<One['status'], string> = {
  pending: 'Waiting for approval',
  running: 'In progress',
  done: 'Done',
  failed: 'Failed',
  rejected: 'Rejected',
  expired: 'Expired',
};

function renderRow(one: AnswerOf<'listApprovals'>['data'][number]): string {
  const about = `${bdi(one.grant.client_name)}, ${timeInWords(Date.parse(one.created_at))}, ${STATUSES[one.status]}`;
  const what = describeAbout(one.about);
  const brief = what === '' ? '' : `<br>${bdi(what)}`;
  return `<li><div>${renderLink(`${ONE_PATH}?id=${one.id}`, one.summary)}${brief}<br><span class="quiet">${about}</span></div></li>`;
}

/** Names the first recipient or segment with the number of recipients, the subject, and the fields that change. */
function describeAbout(about: AnswerOf<'listApprovals'>['data'][number]['about']): string {
  if (about === null) return '';
  const { to, recipients, subject, changes, object } = about;
  const count = recipients === null || recipients === 1 ? '' : ` (${recipients} recipients)`;
  const parts = [
    to === null ? (subject === null ? (object ?? '') : '') : `To ${to}${count}`,
    subject === null ? '' : `Subject: ${subject}`,
    changes.length === 0 ? '' : `Changes: ${changes.join(', ')}`,
  ];
  return parts.filter((part) => part !== '').join('. ');
}

/** Renders a button for each app of the page that has pending requests, because a runaway app makes many at once. */
function renderRejections(ctx: PersonCtx, data: AnswerOf<'listApprovals'>['data']): string {
  if (ctx.findRefusal('rejectCallsOfApp') !== undefined) return '';
  const pending = data.filter(({ status }) => status === 'pending');
  const apps = [...new Map(pending.map(({ grant }) => [grant.id, grant.client_name]))];
  return apps
    .map(([id, name]) =>
      renderForm({
        action: PATH,
        submit: `Reject all requests of ${escapeUnseen(name)}`,
        isSecond: true,
        hidden: { app: id },
        id: `reject-${id}`,
      }),
    )
    .join('');
}

/** Shows one request with all its effects, and takes the decision. */
export const approvalPage: PeoplePage = {
  path: ONE_PATH,
  get: forSignedIn((ctx, { query }) => showRequest(ctx, query.get('id') ?? '')),
  post: forSignedIn(async (ctx, { form }) => {
    const id = form.get('approval_id') ?? '';
    const path = { approval_id: id };
    const decision = form.get('decision');
    if (decision !== 'approve' && decision !== 'reject') return showRequest(ctx, id);
    const done = await attempt(
      decision === 'approve' ? ctx.call('approveCall', { path }) : ctx.call('rejectCall', { path, body: {} }),
    );
    return done instanceof Refusal ? showRequest(ctx, id, done) : { to: `${ONE_PATH}?id=${encodeURIComponent(id)}` };
  }),
};

async function showRequest(ctx: PersonCtx, id: string, fault?: Refusal): Promise<Shown> {
  if (ctx.session.teamId === null) return renderNoTeam();
  const one = await ctx.call('getApproval', { path: { approval_id: id } });
  const form = (submit: string, decision: string, isSecond: boolean): string =>
    renderForm({ action: ONE_PATH, submit, isSecond, hidden: { approval_id: one.id, decision }, id: decision });
  return {
    title: one.summary,
    content: [
      fault ? renderAlert(fault.message) : '',
      renderOutcome(one),
      `<p>The app <strong>${bdi(one.grant.client_name)}</strong> made this request on ${timeInWords(Date.parse(one.created_at))}. If you approve it, it is executed exactly as shown.</p>`,
      renderContent(one),
      renderFiles(one),
      `<h2>API call</h2><pre>${escapeHtml(escapeUnseenInLines(formatCall(one)))}</pre>`,
      one.status === 'pending' ? renderDecisions(ctx, one, form) : '',
      renderLinks(renderLink(PATH, 'Back to approval requests')),
    ].join('\n'),
    ...afterFault(fault),
  };
}

type ShowForm = (submit: string, decision: string, isSecond: boolean) => string;

/** Renders the decisions that this person may make, or the reason why they may not. */
function renderDecisions(
  { findRefusal }: PersonCtx,
  { operation_id: operation, content }: One,
  form: ShowForm,
): string {
  const not = findRefusal('approveCall') ?? findRefusal(operation);
  const refused = not && `<p>You cannot approve this request. ${bdi(not.message)}</p>`;
  const approve = refused ?? (content?.is_changed ? '' : form('Approve', 'approve', false));
  return approve + (findRefusal('rejectCall') === undefined ? form('Reject', 'reject', true) : '');
}

function renderOutcome({ status, error, decided_by: by }: One): string {
  const who = by?.name ? ` by ${escapeUnseen(by.name)}` : '';
  switch (status) {
    case 'pending':
      return '';
    case 'done':
      return renderStatus(`This request was approved${who} and executed.`);
    case 'failed':
      return renderAlert(`This request was approved${who} but failed: ${escapeUnseen(error?.message ?? '')}`);
    case 'running':
      return renderStatus(`This request was approved${who} and is in progress.`);
    case 'rejected':
      return renderStatus(`This request was rejected${who}.`);
    case 'expired':
      return renderStatus('This request expired before it was decided. The app has to make it again.');
  }
}

/** Lists the files with their checksums, so that the person who reviews them knows what is sent. */
function renderFiles({ files }: One): string {
  if (files.length === 0) return '';
  const rows = files.map(
    ({ url, bytes, sha256 }) => `<li>${bdi(url)}: ${bytes} bytes, SHA-256 <code>${escapeHtml(sha256)}</code></li>`,
  );
  return `<h2>Files</h2><p>These are the files as they were when the app made the request. A file that has changed since then is not sent.</p><ul>${rows.join('')}</ul>`;
}

function formatCall({ operation_id: operation, call }: One): string {
  return `${operation} ${JSON.stringify({ ...call, body: putHeadFirst(call.body) }, null, 2)}`;
}

const HEAD = ['from', 'to', 'cc', 'bcc', 'reply_to', 'subject'];

/** Puts the sender, the recipients and the subject first. */
function putHeadFirst(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(putHeadFirst);
  if (typeof body !== 'object' || body === null) return body;
  const known = Object.entries(body);
  const isHead = ([name]: [string, unknown]) => HEAD.includes(name);
  return Object.fromEntries([...known.filter(isHead), ...known.filter((one) => !isHead(one))]);
}

const renderNoTeam = (): Shown => ({
  title: 'Choose a team first',
  content: `<p>Approval requests belong to a team, and no team is selected in your session.</p>${renderLinks(renderLink('/account', 'Your account'))}`,
  status: 403,
  isFault: true,
});
