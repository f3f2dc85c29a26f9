import type { SharedEmail } from '../../resources/shares/index.ts';
import { escapeHtml, linksIn, mayLoadImages } from '../../protocol/safe-html/index.ts';
import { renderEmailFrame } from './email-frame.ts';
import { bytesInWords, stateInWords, timeInWords } from './words.ts';
import { DOCUMENT_END, renderDocumentStart } from './document.ts';

/** Pictures inside the email, as bytes; a page larger than this helps nobody. */
export const INLINE_IMAGE_BYTES_MAX = 8 * 1024 * 1024;
const INLINE_IMAGE_CHARS_MAX = 16 * 1024 * 1024;
const LINKS_MAX = 100;

export interface SharePage {
  email: Omit<SharedEmail, 'expiresAt'>;
  /** The pictures the email brings along, as data URLs by content id. */
  images: ReadonlyMap<string, string>;
  withRemoteImages: boolean;
}

/** All of the page that is the same for every link to the email; `renderShareEnd` follows it. */
export function renderSharePage(page: SharePage): string {
  const { email } = page;
  const subject = email.subject.trim() === '' ? '(no subject)' : email.subject;
  return `${renderDocumentStart(subject)}<header><h1><bdi>${escapeHtml(subject)}</bdi></h1>${renderFields(email)}${renderAttachments(email)}</header>
<main aria-label="Email">${renderContent(page)}</main>
`;
}

export const renderShareEnd = (expiresAt: number): string =>
  `<footer><p>This is a read-only copy of one email. The link to it works until ${renderTime(expiresAt)}; whoever has the link can open it.</p></footer>${DOCUMENT_END}`;

function renderFields(email: SharePage['email']): string {
  const rows: [string, string][] = [
    ['From', bdi(email.from)],
    ['To', email.to.map(bdi).join(', ')],
    ['Cc', email.cc.map(bdi).join(', ')],
    ['Reply to', email.replyTo.map(bdi).join(', ')],
    ['Date', renderTime(email.createdAt)],
    ['Scheduled for', email.scheduledAt === null ? '' : renderTime(email.scheduledAt)],
    ['State', escapeHtml(stateInWords(email.lastEvent))],
  ];
  const shown = rows.filter(([, value]) => value !== '');
  return `<dl>${shown.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')}</dl>`;
}

function renderAttachments({ attachments }: SharePage['email']): string {
  if (attachments.length === 0) return '';
  const items = attachments.map(
    ({ filename, size }) => `<li>${bdi(filename)} <span class="quiet">${bytesInWords(size)}</span></li>`,
  );
  const title = attachments.length === 1 ? '1 attachment' : `${attachments.length} attachments`;
  return `<section aria-labelledby="attachments"><h2 id="attachments">${title}</h2><ul>${items.join('')}</ul>
<p class="quiet">Attachments cannot be downloaded from this page.</p></section>`;
}

function renderContent({ email, images, withRemoteImages }: SharePage): string {
  const { html, text } = email;
  if (html === null) {
    if (text === null) return '<p class="quiet">The content of this email is no longer kept.</p>';
    return `<pre dir="auto">${escapeHtml(text)}</pre>`;
  }
  const frame = renderEmailFrame(html, { images, imageCharsMax: INLINE_IMAGE_CHARS_MAX, withRemoteImages });
  return `${renderImageNotice(html, withRemoteImages)}<div class="frame">${frame}</div>${renderLinks(html)}${renderText(text)}`;
}

/** An image that is loaded tells its owner that somebody looks, so it is asked for first. */
function renderImageNotice(html: string, withRemoteImages: boolean): string {
  if (!mayLoadImages(html)) return '';
  return withRemoteImages
    ? '<p class="notice">Remote images are shown. <a href="?images=0">Hide remote images</a></p>'
    : '<p class="notice">Remote images are hidden, because loading them tells the sender that the email was opened. <a href="?images=1">Show remote images</a></p>';
}

function renderLinks(html: string): string {
  const links = linksIn(html, LINKS_MAX);
  if (links.length === 0) return '';
  const items = links.map((link) => `<li><bdi>${escapeHtml(link)}</bdi></li>`);
  return `<details><summary>Where its links lead</summary><p class="quiet">Links in this copy cannot be followed. Copy an address if you trust it.</p><ol>${items.join('')}</ol></details>`;
}

function renderText(text: string | null): string {
  if (text === null) return '';
  return `<details><summary>Plain text version</summary><pre dir="auto">${escapeHtml(text)}</pre></details>`;
}

const bdi = (value: string): string => `<bdi>${escapeHtml(value)}</bdi>`;

const renderTime = (ms: number): string => `<time datetime="${new Date(ms).toISOString()}">${timeInWords(ms)}</time>`;
