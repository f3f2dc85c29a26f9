import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  CAPTURED_LIMITS,
  checkCaptured,
  listCaptured,
  readCaptured,
  type CapturedRow,
  type Checks,
} from '../../../mail/capture/index.ts';
import type { World } from '../../../platform/world.ts';
import { readMessage, textOfHtml, type MessageReading } from '../../../protocol/read-message/index.ts';
import { imageDataUrl, escapeHtml } from '../../../protocol/safe-html/index.ts';
import { emailRowsByIds } from '../../../mail/emails/index.ts';
import { mayUsePlayground } from '../client-address.ts';
import {
  renderEmail,
  sharePageHeaders,
  bytesInWords,
  renderContent,
  stateInWords,
  timeInWords,
  type RenderedEmail,
} from '../share-page/index.ts';
import { bdi, readingStyle, renderDocument } from '../layout/index.ts';

const parseRecipients = (row: CapturedRow): string[] => JSON.parse(row.recipients) as string[];
const displaySubject = (text: string): string => (text.trim() === '' ? '(no subject)' : text);

function renderInbox(
  rows: readonly CapturedRow[],
  states: ReadonlyMap<string, string>,
  { next, isFirst }: { next: string | undefined; isFirst: boolean },
): string {
  const items = rows.map(
    (row) => `<li><a href="/playground/${row.id}"><bdi>${escapeHtml(displaySubject(row.subject))}</bdi></a><br>
<span class="quiet">to ${parseRecipients(row).map(bdi).join(', ')}, ${timeInWords(row.created_at)}: ${escapeHtml(stateInWords(states.get(row.email_id) ?? ''))}</span></li>`,
  );
  const list =
    items.length === 0
      ? '<p>No emails captured yet. Send an email to any address and reload this page.</p>'
      : `<ol>${items.join('\n')}</ol>`;
  const links = [
    isFirst ? '' : '<a href="/playground">Newest</a>',
    next === undefined ? '' : `<a href="/playground?before=${next}">Older</a>`,
  ].filter((link) => link !== '');
  return renderDocument(
    'Playground',
    `<main><h1>Playground</h1><p class="quiet">Emails captured by the development server, newest first. None of them left this machine.</p>
${list}${links.length === 0 ? '' : `<nav aria-label="Pagination">${links.join(' ')}</nav>`}</main>`,
    readingStyle,
  );
}

interface MessageView {
  row: CapturedRow;
  message: Buffer;
  reading: MessageReading;
  checks: Checks;
  content: RenderedEmail;
  withRemoteImages: boolean;
  state: string | undefined;
}

function renderMessage({ row, message, reading, checks, content, ...rest }: MessageView): string {
  const title = displaySubject(reading.subject);
  const rows: [string, string][] = [
    ['From', bdi(reading.from)],
    ['To', reading.to.map(bdi).join(', ')],
    ['Cc', reading.cc.map(bdi).join(', ')],
    ['Reply to', reading.replyTo.map(bdi).join(', ')],
    ['Captured', timeInWords(row.created_at)],
    [
      'Envelope',
      `${bdi(row.mail_from === '' ? '(null sender)' : row.mail_from)} to ${parseRecipients(row).map(bdi).join(', ')}`,
    ],
    ['Status', escapeHtml(stateInWords(rest.state ?? ''))],
    ['Email', escapeHtml(row.email_id)],
  ];
  const body = reading.isRead
    ? renderContent(content, rest.withRemoteImages).map(String).join('')
    : `<p>This message cannot be parsed: ${escapeHtml(reading.because)}.</p>`;
  return renderDocument(
    title,
    `<header><p><a href="/playground">All messages</a></p><h1>${bdi(title)}</h1>${renderList(rows)}${renderFiles(reading)}${renderChecks(checks)}
<details><summary>Headers</summary><pre>${escapeHtml(extractHead(message))}</pre></details></header>
<main aria-label="Message">${body}</main>`,
    readingStyle,
  );
}

const renderList = (rows: readonly [string, string][]): string =>
  `<dl>${rows
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`)
    .join('')}</dl>`;

function renderFiles(reading: MessageReading): string {
  const parts = reading.isRead ? reading.parts : [];
  if (parts.length === 0) return '';
  const items = parts.map(
    ({ filename, contentType, content }) =>
      `<li>${bdi(filename ?? 'unnamed file')} <span class="quiet">${escapeHtml(contentType)}, ${bytesInWords(content.byteLength)}</span></li>`,
  );
  return `<section aria-labelledby="files"><h2 id="files">Attachments</h2><ul>${items.join('')}</ul></section>`;
}

/** Renders a result as a mark and a word, never by color alone. */
const renderResult = (result: string): string =>
  `${result === 'pass' ? '✓' : result === 'none' ? '·' : '✗'} ${escapeHtml(result)}`;

function renderChecks({ spf, dkim, dmarc }: Checks): string {
  const of = (name: string | null): string => (name === null ? '' : ` for ${bdi(name)}`);
  const rows: [string, string][] = [
    ['SPF', `${renderResult(spf.result)}${of(spf.domain)}`],
    ...(dkim.length === 0
      ? ([['DKIM', `${renderResult('none')}: the message is not signed`]] as [string, string][])
      : dkim.map((one): [string, string] => [
          'DKIM',
          `${renderResult(one.result)}${of(one.domain)}, key ${bdi(one.selector ?? '?')}`,
        ])),
    [
      'DMARC',
      `${renderResult(dmarc.result)}${of(dmarc.domain)}${dmarc.policy === null ? '' : `, policy ${bdi(dmarc.policy)}`}`,
    ],
  ];
  return `<section aria-labelledby="checks"><h2 id="checks">Authentication results at a receiving server</h2>${renderList(rows)}
<p class="quiet">These results require that the DNS records listed by <code>rasket domains get</code> are published.</p></section>`;
}

const HEAD_CHARS_MAX = 64 * 1024;

function extractHead(message: Buffer): string {
  const end = message.indexOf('\r\n\r\n');
  return message.subarray(0, Math.min(end === -1 ? message.length : end, HEAD_CHARS_MAX)).toString('utf8');
}

const renderNotFound = (): string =>
  renderDocument(
    'Message not found',
    '<main><h1>Message not found</h1><p>It may have been deleted. <a href="/playground">All messages</a></p></main>',
    readingStyle,
  );

const renderInternalError = (): string =>
  renderDocument(
    'Something went wrong',
    '<main><h1>Something went wrong</h1><p>See the server’s log for details. <a href="/playground">All messages</a></p></main>',
    readingStyle,
  );

const FORM = /^\/playground(?:\/([0-9a-f-]{36}))?\/?(?:\?(.*))?$/;
const PAGE = 50;

interface Answer {
  status: number;
  html: Buffer | string;
}

/**
 * Serves the pages; returns false to leave a request to the API. Outside the development profile it always returns false,
 * because captured mail belongs to many people there.
 */
export function createPlaygroundPages(world: World): (request: IncomingMessage, response: ServerResponse) => boolean {
  if (world.config.profile !== 'development') return () => false;
  return (request, response) => {
    const [whole, id, query = ''] = FORM.exec(request.url ?? '') ?? [];
    if (whole === undefined || !['GET', 'HEAD'].includes(request.method ?? '')) return false;
    if (!mayUsePlayground(world, request.headers.host)) return false;
    const parameters = new URLSearchParams(query);
    const withRemoteImages = parameters.get('images') === '1';
    const answer = id === undefined ? showInbox(parameters.get('before')) : showMessage(id, withRemoteImages);
    void answer
      .catch((error: unknown): Answer => {
        world.log.error({ err: error }, 'a page of the playground failed');
        return { status: 500, html: renderInternalError() };
      })
      .then(({ status, html }) => {
        const bytes = Buffer.from(html);
        const headers = { 'content-type': 'text/html; charset=utf-8', 'content-length': bytes.length };
        response.writeHead(status, { ...sharePageHeaders(withRemoteImages), ...headers });
        response.end(request.method === 'HEAD' ? undefined : bytes);
      });
    return true;
  };

  async function showInbox(before: string | null): Promise<Answer> {
    const beforeId = before !== null && /^[0-9a-f-]{36}$/.test(before) ? before : undefined;
    const rows = await listCaptured(world.db, PAGE + 1, beforeId);
    const shown = rows.slice(0, PAGE);
    const emails = await emailRowsByIds(world.db, [...new Set(shown.map((row) => row.email_id))]);
    const states = new Map(emails.map((email) => [email.id, email.last_event]));
    const next = rows.length > PAGE ? shown.at(-1)?.id : undefined;
    return { status: 200, html: renderInbox(shown, states, { next, isFirst: beforeId === undefined }) };
  }

  async function showMessage(id: string, withRemoteImages: boolean): Promise<Answer> {
    const captured = await readCaptured(world.db, world.blobs, id);
    if (!captured) return { status: 404, html: renderNotFound() };
    const { row, message } = captured;
    const reading = await readMessage(message, CAPTURED_LIMITS);
    const checks = await checkCaptured(world, row, message);
    const { html, text, parts } = reading.isRead ? reading : { html: null, text: null, parts: [] };
    const images = new Map<string, string>();
    for (const { contentId, contentType, content } of parts) {
      const url = contentId === undefined ? undefined : imageDataUrl(contentType, Buffer.from(content));
      if (contentId !== undefined && url !== undefined) images.set(contentId, url);
    }
    const isTextThere = text !== null && text.trim() !== '';
    const shownText = isTextThere ? text : html === null ? text : textOfHtml(html);
    const content = await renderEmail({ html, text: shownText, images });
    const [email] = await emailRowsByIds(world.db, [row.email_id]);
    const state = email?.last_event;
    return { status: 200, html: renderMessage({ row, message, reading, checks, content, withRemoteImages, state }) };
  }
}
