import { createHash } from 'node:crypto';
import {
  readSharedPage,
  renderPageMail,
  type PageBroadcast,
  type SharedContent,
  type SharedPage,
} from '../../../features/sharing/index.ts';
import { notFound, Refusal, refuse } from '../../../platform/refusal.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { ANYBODY, arePagesOverloaded, COSTLY_BYTES } from '../costly-work.ts';
import { bdi, documentEnd, documentStart, readingStyle } from '../layout/index.ts';
import type { Page } from '../page.ts';
import { renderReport, REPORT_STYLE } from './broadcast-report.ts';
import {
  renderBusyPage,
  renderedOnce,
  renderEmail,
  renderFrame,
  renderLinks,
  renderNoSharePage,
  renderTime,
  sharePageHeaders,
  TOO_MANY,
  type RenderedEmail,
} from './share-page.ts';

/** The choices that a reader makes by the links of the page. */
export interface View {
  contact: number;
  /** The number of the email of an automation. */
  email: number;
  width: 'phone' | 'desktop';
  colors: 'light' | 'dark';
  part: 'html' | 'text';
  images: boolean;
  /** True if the page loads itself again while the broadcast is being sent. */
  live: boolean;
}

const FIRST_VIEW: View = {
  contact: 1,
  email: 1,
  width: 'desktop',
  colors: 'light',
  part: 'html',
  images: false,
  live: true,
};

const REFRESH_SECONDS = 30;

/** The emails of these pages have no attachments that they could show by content ids. */
const NO_IMAGES: SharedContent['images'] = new Map();

export const getPreviewPage: Page<'getPreviewPage'> = async (
  { store, requestId },
  { path, query },
  { services: { executor }, reply, accept },
) => {
  const view: View = {
    contact: Number(query?.contact ?? FIRST_VIEW.contact),
    email: Number(query?.email ?? FIRST_VIEW.email),
    width: query?.width ?? FIRST_VIEW.width,
    colors: query?.colors ?? FIRST_VIEW.colors,
    part: query?.part ?? FIRST_VIEW.part,
    images: query?.images === '1',
    live: query?.live !== '0',
  };
  reply.headers(sharePageHeaders(view.images));
  // A browser gets a page; a program gets the error body of every other route.
  const isPerson = /\btext\/html\b/i.test(accept);
  const answerBusy = (): string => {
    if (!isPerson) throw refuse('service_unavailable', { say: TOO_MANY });
    reply.code(503).type('text/html; charset=utf-8');
    return renderBusyPage();
  };
  const page = await readSharedPage(store, path.token, requestId);
  if (!page) {
    if (!isPerson) throw notFound('Share link');
    reply.code(404).type('text/html; charset=utf-8');
    return renderNoSharePage();
  }
  if (arePagesOverloaded(executor)) return answerBusy();
  const shown = await composeMail(page, view);
  if (shown === 'busy') return answerBusy();
  reply.type('text/html; charset=utf-8');
  const bytes = shown.content?.bytes ?? 0;
  if (bytes <= COSTLY_BYTES) return renderPreviewPage({ page, view, shown, token: path.token });
  await executor.run(() => void reply.send(renderPreviewPage({ page, view, shown, token: path.token })), {
    tenant: ANYBODY,
  });
  return reply;

  /** Renders the email once for all readers who look at the same content. */
  async function composeMail(found: SharedPage, { contact, email, colors }: View): Promise<ShownMail | 'busy'> {
    try {
      const mail = await renderPageMail(store, found, { contact, email, requestId });
      if (!mail) return NO_MAIL;
      const { text, ...fields } = mail;
      const html = fields.html === null ? null : settleColors(fields.html, colors);
      const isLarge = (html?.length ?? 0) + (text?.length ?? 0) > COSTLY_BYTES;
      const id = createHash('sha256')
        .update(JSON.stringify([html, text]))
        .digest('hex');
      const rendering = renderedOnce(store, { id, isLarge }, () =>
        renderEmail({ html, text, images: NO_IMAGES }, isLarge ? store.texts : undefined),
      );
      return rendering ? { mail: fields, content: await rendering, fault: undefined } : 'busy';
    } catch (error) {
      if (!(error instanceof Refusal) || error.status >= 500) throw error;
      return { ...NO_MAIL, fault: error.message };
    }
  }
};

const COLOR_QUERY = /\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)/gi;

/**
 * Replaces the queries for the color scheme by ones that always or never hold, because browsers answer them by the
 * settings of the reader and not by the scheme of the frame.
 */
const settleColors = (html: string, colors: View['colors']): string =>
  html.replaceAll(COLOR_QUERY, (_, asked: string) =>
    asked.toLowerCase() === colors ? '(min-width:0)' : '(max-width:0)',
  );

type MailFields = Omit<NonNullable<Awaited<ReturnType<typeof renderPageMail>>>, 'text'>;

interface ShownMail {
  /** Undefined if the chosen contact was deleted, or its email cannot be rendered. */
  mail: MailFields | undefined;
  content: RenderedEmail | undefined;
  /** The reason why the email cannot be rendered. */
  fault: string | undefined;
}

const NO_MAIL: ShownMail = { mail: undefined, content: undefined, fault: undefined };

interface PreviewPage {
  page: SharedPage;
  view: View;
  shown: ShownMail;
  token: string;
}

const PREVIEW_STYLE = `main>section+section{margin-top:2rem;padding-top:1.5rem;border-top:1px solid var(--line)}
h2{font-size:1.125rem;margin:0 0 .75rem}h3{font-size:1rem;margin:1.25rem 0 .25rem}
.choices{display:grid;gap:.5rem;margin:0 0 1rem}
.choices div{display:flex;flex-wrap:wrap;gap:.25rem .5rem;align-items:center}
.choices span{flex:0 0 5.5rem;color:var(--quiet)}
.choices a{padding:.375rem .75rem;border:1px solid var(--edge);border-radius:.375rem;text-decoration:none}
.choices a[aria-current]{background:var(--accent);border-color:var(--accent);color:var(--on-accent)}
.checks{list-style:none;padding:0}.checks li{display:grid;grid-template-columns:5rem 1fr;gap:.75rem;padding:.25rem 0}
.bad{color:var(--bad);font-weight:600}
.view{overflow-x:auto}.view .frame{max-width:none}
.phone .frame{width:375px;height:667px}.desktop .frame{width:700px}
.dark .frame,.dark iframe{background:#121212;color-scheme:dark}.light iframe{color-scheme:light}
.button{display:inline-block;padding:.5rem 1.25rem;border-radius:.375rem;background:var(--accent);color:var(--on-accent);font-weight:600;text-decoration:none}
@media (max-width:32rem){.checks li{grid-template-columns:1fr;gap:0}}
`;

const STYLE = readingStyle + PREVIEW_STYLE + REPORT_STYLE;

/** Inserts the cached rendering, so a reader costs only a copy. */
function renderPreviewPage({ page, view, shown, token }: PreviewPage): Buffer {
  const { broadcast: parts, share, name } = page;
  const subject = shown.mail?.subject ?? parts?.broadcast.subject ?? name ?? '';
  const title = subject.trim() === '' ? '(no subject)' : subject;
  const isSending = parts?.broadcast.status === 'sending';
  const notice = isSending ? renderLiveNotice(view) : '';
  const fields = parts ? renderBroadcastFields(parts, shown) : renderMailFields(page, shown);
  const links = shown.content?.links ?? [];
  const html: (string | Buffer)[] = [
    withRefresh(documentStart(title, STYLE), isSending && view.live),
    `<header><h1><bdi>${escapeHtml(title)}</bdi></h1>${fields}${notice}</header>
<main aria-label="Preview and results">`,
    ...(parts?.report ? [renderReport({ broadcast: parts.broadcast, report: parts.report, links })] : []),
    ...renderPreview(page, view, shown),
    ...(parts ? [renderReviews(parts, token)] : []),
    ...(parts?.checklist ? [renderChecklist(parts.checklist)] : []),
    `</main>
<footer><p>This is a preview of ${NOUNS[share.kind]}. Opening it counts no open and no click, and nobody can unsubscribe here. Anyone with the link can view it until ${renderTime(share.expires_at)}.</p></footer>${documentEnd}`,
  ];
  return Buffer.concat(html.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

const NOUNS: Record<SharedPage['share']['kind'], string> = {
  broadcast: 'one broadcast',
  template: 'one template',
  automation: 'the emails of one automation',
};

const withRefresh = (head: string, isLive: boolean): string =>
  isLive ? head.replace('<title>', `<meta http-equiv="refresh" content="${REFRESH_SECONDS}"><title>`) : head;

const renderLiveNotice = (view: View): string =>
  view.live
    ? `<p class="notice">This page loads itself again every ${REFRESH_SECONDS} seconds while the broadcast is being sent. ${linkTo(view, { live: false }, 'Stop that')}</p>`
    : `<p class="notice">The broadcast is being sent. ${linkTo(view, { live: true }, `Load this page again every ${REFRESH_SECONDS} seconds`)}</p>`;

const STATUSES: Record<PageBroadcast['broadcast']['status'], string> = {
  draft: 'Draft',
  scheduled: 'Scheduled',
  queued: 'About to be sent',
  sending: 'Being sent',
  sent: 'Sent',
  canceled: 'Canceled',
  failed: 'Failed',
};

function renderBroadcastFields({ broadcast, checklist, topicName }: PageBroadcast, { mail }: ShownMail): string {
  const { status, held, paused, recipients, excluded, total, scheduled_at: scheduledAt } = broadcast;
  const stops = [...(paused === null ? [] : ['paused']), ...(held === null ? [] : ['on hold'])];
  const progress = total === null ? '' : `${recipients + excluded} of ${total} contacts, ${excluded} of them left out`;
  const audience = checklist?.audience ?? null;
  const rows: [string, string][] = [
    ['From', bdi(broadcast.from)],
    ['To', mail ? bdi(mail.to) : ''],
    ['Reply to', broadcast.reply_to.map(bdi).join(', ')],
    ['Preview text', bdi(mail?.preview_text ?? broadcast.preview_text ?? '')],
    ['Other subjects', (broadcast.ab?.variants.slice(1) ?? []).map((one) => bdi(one.subject)).join(', ')],
    ['Status', escapeHtml([STATUSES[status], ...stops].join(', '))],
    ['Scheduled for', scheduledAt === undefined ? '' : renderTime(Date.parse(scheduledAt))],
    ['Segments', (audience?.segments ?? []).map(({ name }) => bdi(name)).join(', ')],
    ['Without', (audience?.exclude_segments ?? []).map(({ name }) => bdi(name)).join(', ')],
    ['Topic', bdi(topicName ?? '')],
    ['Recipients', audience ? `${audience.recipients} of ${audience.contacts} contacts` : ''],
    [
      'Over the limit of marketing mail now',
      audience?.over_marketing_cap ? `${audience.over_marketing_cap} of them` : '',
    ],
    ['Progress', progress],
  ];
  return renderRows(rows);
}

/** Renders the fields of an email that is no broadcast. */
const renderMailFields = ({ name, share }: SharedPage, { mail }: ShownMail): string =>
  renderRows([
    [share.kind === 'template' ? 'Template' : 'Automation', bdi(name ?? '')],
    ['From', bdi(mail?.from ?? '')],
    ['To', bdi(mail?.to ?? '')],
  ]);

function renderRows(rows: readonly [string, string][]): string {
  const shown = rows.filter(([, value]) => value !== '' && value !== bdi(''));
  return `<dl>${shown.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')}</dl>`;
}

const RESULTS = { pass: 'OK', warn: 'Check', fail: 'Problem' } as const;

function renderChecklist({ gate, checks }: NonNullable<PageBroadcast['checklist']>): string {
  const items: CheckItem[] = [
    ...gate.map(({ ok, message }): CheckItem => ({ status: ok ? 'pass' : 'fail', message, details: [] })),
    ...checks,
  ];
  const problems = items.filter(({ status }) => status === 'fail').length;
  const summary =
    problems === 0
      ? 'Nothing prevents sending.'
      : `${problems === 1 ? '1 problem prevents' : `${problems} problems prevent`} sending.`;
  const passed = items.filter(({ status }) => status === 'pass');
  const open = items.filter(({ status }) => status !== 'pass');
  const folded =
    passed.length === 0
      ? ''
      : `<details><summary>${passed.length === 1 ? '1 check has' : `${passed.length} checks have`} passed</summary>${listChecks(passed)}</details>`;
  return `<section aria-labelledby="checklist"><h2 id="checklist">Checklist</h2><p>${summary}</p>${listChecks(open)}${folded}</section>`;
}

interface CheckItem {
  status: keyof typeof RESULTS;
  message: string;
  details: readonly string[];
}

function listChecks(items: readonly CheckItem[]): string {
  if (items.length === 0) return '';
  const rows = items.map(({ status, message, details }) => {
    const more = details.length === 0 ? '' : `<ul>${details.map((one) => `<li>${bdi(one)}</li>`).join('')}</ul>`;
    return `<li><span${status === 'fail' ? ' class="bad"' : ''}>${RESULTS[status]}</span><div>${bdi(message)}${more}</div></li>`;
  });
  return `<ul class="checks">${rows.join('')}</ul>`;
}

const DECISIONS = { approved: 'approved', changes_requested: 'requested changes to' } as const;

const REVIEW_STATES: Record<PageBroadcast['broadcast']['review_status'], string> = {
  none: 'Nobody has reviewed it yet.',
  approved: 'It is approved.',
  changes_requested: 'Changes are requested.',
  outdated: 'It was changed after its last review, so that review no longer counts.',
};

function renderReviews({ broadcast, reviews, version, mayReview }: PageBroadcast, token: string): string {
  const { require_review: isRequired, review_status: status } = broadcast;
  if (!mayReview && !isRequired && reviews.length === 0) return '';
  const rows = reviews.map((one) => {
    const content = one.is_current ? 'this content' : 'earlier content';
    const note = one.note === null ? '' : `<pre dir="auto">${escapeHtml(one.note)}</pre>`;
    return `<li>${bdi(one.name)} ${DECISIONS[one.decision]} ${content}, ${renderTime(Date.parse(one.created_at))}${note}</li>`;
  });
  const rule = isRequired ? ' Sending it requires an approval.' : '';
  const list = rows.length === 0 ? '' : `<ul>${rows.join('')}</ul>`;
  const address = `/review?token=${encodeURIComponent(token)}&version=${version}`;
  const button = mayReview
    ? `<p><a class="button" href="${escapeHtml(address)}">Approve or request changes</a></p>`
    : '';
  return `<section aria-labelledby="review"><h2 id="review">Review</h2><p>${REVIEW_STATES[status]}${rule}</p>${list}${button}</section>`;
}

function renderPreview(page: SharedPage, view: View, { content, mail, fault }: ShownMail) {
  const start = `<section aria-labelledby="preview"><h2 id="preview">Preview</h2>${renderChoices(page, view)}`;
  const end = '</section>';
  if (!mail || !content) {
    const isEmpty = page.broadcast === null && !page.mails[view.email - 1];
    const none = isEmpty ? 'There is no such email.' : 'This contact was deleted, so its email cannot be shown.';
    const say = fault ?? none;
    return [start, `<p class="quiet">${bdi(say)}</p>`, end];
  }
  const missing =
    mail.missing.length === 0
      ? ''
      : `<p class="notice">Empty in this email, because they have neither a value nor a default: ${mail.missing.map(bdi).join(', ')}</p>`;
  if (view.part === 'text' || content.frame === undefined) {
    const none = '<p class="quiet">The email has no such part yet.</p>';
    return [
      start,
      missing,
      ...(content.text === undefined ? [none] : ['<pre dir="auto">', content.text, '</pre>']),
      end,
    ];
  }
  return [
    start,
    missing,
    content.mayLoadImages ? renderImageChoice(view) : '',
    `<div class="view ${view.width} ${view.colors}" tabindex="0" role="region" aria-label="Email"><div class="frame">`,
    ...renderFrame(content.frame, { withRemoteImages: view.images, colors: view.colors }),
    `</div></div>${view.colors === 'dark' ? DARK_NOTE : ''}`,
    renderLinks(content.links),
    end,
  ];
}

const DARK_NOTE =
  '<p class="quiet">Dark colors are those that the email chooses itself. Mail programs that recolor every email show it differently.</p>';

/** Loading an image notifies its owner that the email was opened, so the reader is asked first. */
const renderImageChoice = (view: View): string =>
  view.images
    ? `<p class="notice">Remote images are shown. ${linkTo(view, { images: false }, 'Hide remote images')}</p>`
    : `<p class="notice">Remote images are hidden, because loading them would tell their servers that the email was opened. ${linkTo(view, { images: true }, 'Show remote images')}</p>`;

function renderChoices({ contacts, mails }: SharedPage, view: View): string {
  const emails = mails.length > 1 ? mails : [];
  const rows: [string, string[]][] = [
    ['Email', emails.map(({ label }, at) => choose(view, { email: at + 1 }, bdi(label)))],
    [
      'Contact',
      contacts.map(({ email }, at) => choose(view, { contact: at + 1 }, bdi(email ?? `Deleted contact ${at + 1}`))),
    ],
    ['Part', [choose(view, { part: 'html' }, 'HTML'), choose(view, { part: 'text' }, 'Text')]],
    ['Width', [choose(view, { width: 'phone' }, 'Phone'), choose(view, { width: 'desktop' }, 'Desktop')]],
    ['Colors', [choose(view, { colors: 'light' }, 'Light'), choose(view, { colors: 'dark' }, 'Dark')]],
  ];
  const shown = rows.filter(([, links]) => links.length > 0);
  return `<nav aria-label="Preview" class="choices">${shown.map(([name, links]) => `<div><span>${name}</span>${links.join('')}</div>`).join('')}</nav>`;
}

function choose(view: View, change: Partial<View>, label: string): string {
  const isChosen = Object.entries(change).every(([name, value]) => view[name as keyof View] === value);
  return `<a href="${buildHref(view, change)}"${isChosen ? ' aria-current="true"' : ''}>${label}</a>`;
}

const linkTo = (view: View, change: Partial<View>, label: string): string =>
  `<a href="${buildHref(view, change)}">${label}</a>`;

/** Returns the address of the page after a choice; it is relative, so that the token is written nowhere. */
function buildHref(view: View, change: Partial<View>): string {
  const next = { ...view, ...change };
  const names = Object.keys(FIRST_VIEW) as (keyof View)[];
  const query = names
    .filter((name) => next[name] !== FIRST_VIEW[name])
    .map((name) => `${name}=${typeof next[name] === 'boolean' ? Number(next[name]) : next[name]}`);
  return escapeHtml(`?${query.join('&')}`);
}
