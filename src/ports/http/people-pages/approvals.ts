import type { AnswerOf } from '../../../contract/index.ts';
import { Refusal } from '../../../platform/refusal/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi } from '../layout/index.ts';
import { timeInWords } from '../share-page/index.ts';
import { renderContent, visible } from './approval-content.ts';
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

const PATH = '/account/approvals';
const ONE_PATH = '/account/approvals/one';

type PersonCtx = PageCtx & { session: SignedIn };
type One = AnswerOf<'getApproval'>;

/** What apps want to do in the team of the session. The link of a mail leads here; it decides nothing. */
export const approvalsPage: PeoplePage = {
  path: PATH,
  get: forSignedIn(async (ctx, { query }) => {
    if (ctx.session.teamId === null) return withoutTeam();
    const [after, isAll] = [query.get('after'), query.get('all') === 'yes'];
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

/** One of them, with all that it would do. */
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

/** What this person may decide; where they may not, why. */
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

/** By their checksums, so that the person who has looked knows what is sent. */
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
