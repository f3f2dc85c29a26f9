import type { SharedEmail } from '../../../features/sharing/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi, documentEnd, documentStart, readingStyle } from '../layout/index.ts';
import { FRAME_END, frameStart } from './email-frame.ts';
import type { RenderedEmail } from './rendered-email.ts';
import { bytesInWords, stateInWords, timeInWords } from './words.ts';

export interface SharePage {
  email: Omit<SharedEmail, 'isLarge'>;
  content: RenderedEmail;
  withRemoteImages: boolean;
}

/** Inserts the content as it was rendered once: megabytes of it are only copied for each reader. */
export function renderSharePage({ email, content, withRemoteImages }: SharePage): Buffer {
  const subject = email.subject.trim() === '' ? '(no subject)' : email.subject;
  const parts: (string | Buffer)[] = [
    `${documentStart(subject, readingStyle)}<header><h1><bdi>${escapeHtml(subject)}</bdi></h1>${renderFields(email)}${renderAttachments(email)}</header>
<main aria-label="Email">`,
    ...renderContent(content, withRemoteImages),
    `</main>
<footer><p>This is a read-only copy of one email. The link to it works until ${renderTime(email.expiresAt)}; whoever has the link can open it.</p></footer>${documentEnd}`,
  ];
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

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

export function renderContent({ frame, text, ...rest }: RenderedEmail, withRemoteImages: boolean): (string | Buffer)[] {
  if (frame === undefined) {
    if (text === undefined) return ['<p class="quiet">The content of this email is no longer kept.</p>'];
    return ['<pre dir="auto">', text, '</pre>'];
  }
  const notice = rest.mayLoadImages ? renderImageNotice(withRemoteImages) : '';
  return [
    `${notice}<div class="frame">${frameStart(withRemoteImages)}`,
    frame,
    `${FRAME_END}</div>${renderLinks(rest.links)}`,
    ...(text === undefined
      ? []
      : ['<details><summary>Plain text version</summary><pre dir="auto">', text, '</pre></details>']),
  ];
}

/** Loading an image tells its owner that the email was opened, so the reader is asked first. */
function renderImageNotice(withRemoteImages: boolean): string {
  return withRemoteImages
    ? '<p class="notice">Remote images are shown. <a href="?images=0">Hide remote images</a></p>'
    : '<p class="notice">Remote images are hidden, because loading them tells the sender that the email was opened. <a href="?images=1">Show remote images</a></p>';
}

function renderLinks(links: readonly string[]): string {
  if (links.length === 0) return '';
  const items = links.map((link) => `<li><bdi>${escapeHtml(link)}</bdi></li>`);
  return `<details><summary>Where its links lead</summary><p class="quiet">Links in this copy cannot be followed. Copy an address if you trust it.</p><ol>${items.join('')}</ol></details>`;
}

const renderTime = (ms: number): string => `<time datetime="${new Date(ms).toISOString()}">${timeInWords(ms)}</time>`;
