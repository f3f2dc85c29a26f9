import { notFound, refuse } from '../../../platform/refusal.ts';
import {
  readSharedContent,
  readSharedEmail,
  type SharedEmail,
  type SharedContent,
  type ViewedEmail,
} from '../../../features/sharing/index.ts';
import { READER_TEXTS, type Language } from '../../../features/audience/index.ts';
import { ANYBODY, arePagesOverloaded, COSTLY_BYTES } from '../costly-work.ts';
import { privatePageHeaders, type Page } from '../page.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi, documentEnd, documentStart, readingStyle, renderDocument } from '../layout/index.ts';
import type { World } from '../../../platform/world.ts';
import { showEmail, type TextThread } from '../../../platform/text-thread/index.ts';

const INLINE_IMAGE_CHARS_MAX = 16 * 1024 * 1024;
const LINKS_MAX = 100;

/** The email's own content, escaped. It is the part of a page that is costly to render and never changes. */
export interface RenderedEmail {
  /** The HTML as written into the frame's `srcdoc`; undefined for an email without HTML. */
  frame: Buffer | undefined;
  mayLoadImages: boolean;
  /** The URLs that the HTML links to, unchanged. */
  links: string[];
  text: Buffer | undefined;
  bytes: number;
}

/** Renders the content of an email; with `texts`, a large email is rendered in the text thread. */
export async function renderEmail({ html, text, images }: SharedContent, texts?: TextThread): Promise<RenderedEmail> {
  const shown = { html, text, images, imageCharsMax: INLINE_IMAGE_CHARS_MAX, linksMax: LINKS_MAX };
  const chars = (html?.length ?? 0) + (text?.length ?? 0);
  const order = { teamId: ANYBODY, chars, task: showEmail, isPatient: true };
  const { frame, text: escaped, ...read } = await (texts ? texts.run(order, shown) : showEmail.work(shown));
  return sized({ ...read, frame: bufferOver(frame), text: bufferOver(escaped) });
}

const bufferOver = (bytes: Uint8Array | undefined): Buffer | undefined =>
  bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const sized = (email: Omit<RenderedEmail, 'bytes'>): RenderedEmail => ({
  ...email,
  bytes: email.links.reduce((sum, link) => sum + link.length, (email.frame?.length ?? 0) + (email.text?.length ?? 0)),
});

/**
 * Limit of cached rendered emails. Links are opened again and again, and a hostile 2 MB body can grow to 12 MB.
 */
const EMAILS_MAX = 256;
const BYTES_MAX = 64 * 1024 * 1024;
/** Number of renderings that may wait for the one in progress; further requests are refused and can be repeated later. */
const WAITING_MAX = 16;

interface Entry {
  rendered: Promise<RenderedEmail>;
  bytes: number;
}

interface Kept {
  entries: Map<string, Entry>;
  line: Promise<unknown>;
  waiting: number;
}

const keptByWorld = new WeakMap<World, Kept>();

/**
 * Returns the rendering of the email, whether done, in progress or queued; undefined when too many wait already. Large
 * emails are rendered one after the other, because they can be requested without a key.
 */
export function renderedOnce(
  world: World,
  email: { id: string; isLarge: boolean },
  render: () => Promise<RenderedEmail>,
): Promise<RenderedEmail> | undefined {
  const kept = keptByWorld.get(world) ?? { entries: new Map<string, Entry>(), line: Promise.resolve(), waiting: 0 };
  keptByWorld.set(world, kept);
  const { entries } = kept;
  const known = entries.get(email.id);
  if (!known && email.isLarge && kept.waiting > WAITING_MAX) return undefined;
  const entry = known ?? { rendered: email.isLarge ? enqueue(kept, render) : render(), bytes: 0 };
  // Keeps the map in the order of use, with the most recent entry last.
  entries.delete(email.id);
  entries.set(email.id, entry);
  if (!known) {
    entry.rendered.then(
      ({ bytes }) => {
        entry.bytes = bytes;
        makeRoom(entries);
      },
      () => {
        if (entries.get(email.id) === entry) entries.delete(email.id);
      },
    );
  }
  return entry.rendered;
}

/** Runs `work` after the renderings that were queued before it. `waiting` includes the one in progress. */
function enqueue<T>(kept: Kept, work: () => Promise<T>): Promise<T> {
  kept.waiting++;
  const done = kept.line.then(work);
  const leave = (): void => void kept.waiting--;
  kept.line = done.then(leave, leave);
  return done;
}

function makeRoom(entries: Map<string, Entry>): void {
  let bytes = [...entries.values()].reduce((sum, entry) => sum + entry.bytes, 0);
  for (const [oldest, entry] of entries) {
    if (entries.size <= EMAILS_MAX && bytes <= BYTES_MAX) break;
    entries.delete(oldest);
    bytes -= entry.bytes;
  }
}

/** The color scheme that an email is shown in. */
export type Colors = 'light' | 'dark';

/** Renders the frame around the email's HTML, which is escaped already. */
export const renderFrame = (frame: Buffer, options: FrameOptions): (string | Buffer)[] => [
  frameStart(options),
  frame,
  FRAME_END,
];

interface FrameOptions {
  withRemoteImages: boolean;
  colors?: Colors;
  title?: string;
}

/**
 * Returns the start of the frame around the email's HTML. An empty `sandbox` disables scripts, forms, popups, the page's
 * origin and every way to leave the frame. The frame uses `srcdoc`, because a URL of its own could be opened without the
 * frame around it. The policy is repeated inside, in case a browser does not pass it on to the frame.
 */
function frameStart({ withRemoteImages, colors = 'light', title = WORDS.frame }: FrameOptions): string {
  const policy = `<meta http-equiv="Content-Security-Policy" content="${framePolicy(withRemoteImages)}">`;
  const head = `<!doctype html><meta charset="utf-8">${policy}<style>${ROOT_STYLE[colors]}${frameStyle}</style>`;
  return `<iframe title="${escapeHtml(title)}" sandbox="" referrerpolicy="no-referrer" credentialless srcdoc="${escapeHtml(head)}`;
}

const FRAME_END = '"></iframe>';

// Elements that `disarmHtml` renamed, or that show nothing of their own in an email, are hidden.
const NOT_SHOWN = 'applet audio iframe math noembed noframes object script svg template video'.split(' ');

const ROOT_STYLE: Record<Colors, string> = {
  light: ':root{color-scheme:light;color:#111}a[data-href]{color:#0b57d0}\n',
  dark: ':root{color-scheme:dark;color:#e6e9ee}a[data-href]{color:#8ab4f8}\n',
};

const frameStyle = `body{font:16px/1.5 system-ui,sans-serif;overflow-wrap:break-word}img{max-width:100%}
a[data-href]{text-decoration:underline;cursor:text}
${NOT_SHOWN.map((name) => `x-${name}`).join(',')}{display:none}`;

let format: Intl.DateTimeFormat | undefined;

/** Formats a time in UTC, because a page without a script cannot know the reader's time zone. */
export function timeInWords(ms: number): string {
  // Created with the first page, because that takes longer than loading all modules of the pages.
  format ??= new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: 'UTC',
  });
  return `${format.format(ms)} UTC`;
}

const STATES: Record<string, string> = {
  queued: 'Queued',
  scheduled: 'Scheduled',
  sent: 'Sent',
  delivery_delayed: 'Delivery delayed',
  delivered: 'Delivered',
  opened: 'Opened',
  clicked: 'Clicked',
  bounced: 'Bounced',
  complained: 'Reported as spam',
  failed: 'Failed',
  suppressed: 'Not sent (address suppressed)',
  canceled: 'Canceled',
};

export const stateInWords = (state: string): string => STATES[state] ?? state;

const UNITS = ['bytes', 'kB', 'MB', 'GB'];

export function bytesInWords(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  if (unit === 0) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

export const getSharePage: Page<'getSharePage'> = async (
  { store },
  { path, query },
  { services: { executor }, reply, accept },
) => {
  const withRemoteImages = query?.images === '1';
  reply.headers(sharePageHeaders(withRemoteImages));
  // A browser gets a page; a program gets the error body of every other route.
  const isPerson = /\btext\/html\b/i.test(accept);
  const answerBusy = (): string => {
    if (!isPerson) throw refuse('service_unavailable', { say: TOO_MANY });
    reply.code(503).type('text/html; charset=utf-8');
    return renderBusyPage();
  };
  const email = await readSharedEmail(store, path.token);
  if (!email) {
    if (!isPerson) throw notFound('Share link');
    reply.code(404).type('text/html; charset=utf-8');
    return renderNoSharePage();
  }
  if (email.isLarge && arePagesOverloaded(executor)) return answerBusy();
  // The recipient's own page of the email has other links, and a rendering of its own.
  const rendering = renderedOnce(store, { ...email, id: `shared ${email.id}` }, async () =>
    renderEmail(await readSharedContent(store, email), email.isLarge ? store.texts : undefined),
  );
  if (!rendering) return answerBusy();
  const content = await rendering;
  reply.type('text/html; charset=utf-8');
  if (content.bytes <= COSTLY_BYTES) return renderSharePage({ email, content, withRemoteImages });
  if (arePagesOverloaded(executor)) return answerBusy();
  // Sent within the executor: handing megabytes to the system takes as long as building them.
  await executor.run(() => void reply.send(renderSharePage({ email, content, withRemoteImages })), { tenant: ANYBODY });
  return reply;
};

export const TOO_MANY = 'Too many shared emails are being opened right now; try again in a few seconds.';

interface SharePage {
  email: Omit<SharedEmail, 'isLarge'>;
  content: RenderedEmail;
  withRemoteImages: boolean;
}

/** Inserts the cached rendering, so a reader costs only a copy. */
export function renderSharePage({ email, content, withRemoteImages }: SharePage): Buffer {
  const subject = email.subject.trim() === '' ? '(no subject)' : email.subject;
  const parts: (string | Buffer)[] = [
    `${documentStart(subject, readingStyle)}<header><h1><bdi>${escapeHtml(subject)}</bdi></h1>${renderFields(email)}${renderAttachments(email)}</header>
<main aria-label="Email">`,
    ...renderContent(content, withRemoteImages),
    `</main>
<footer><p>This is a read-only copy of one email. Anyone with the link can view it until ${renderTime(email.expiresAt)}.</p></footer>${documentEnd}`,
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
    ['Status', escapeHtml(stateInWords(email.lastEvent))],
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

/** The page has these texts around the content of an email. */
interface ContentWords {
  gone: string;
  imagesHidden: string;
  showImages: string;
  imagesShown: string;
  hideImages: string;
  links: string;
  /** Explains that links cannot be followed; without it, those of the web can. */
  linksDisabled?: string;
  plainText: string;
  frame: string;
}

const WORDS: ContentWords = {
  gone: 'The content of this email is no longer stored.',
  imagesHidden: 'Remote images are hidden, because loading them would tell the sender that the email was opened.',
  showImages: 'Show remote images',
  imagesShown: 'Remote images are shown.',
  hideImages: 'Hide remote images',
  links: 'Links in this email',
  linksDisabled: 'Links in this copy are disabled. Copy an address if you trust it.',
  plainText: 'Plain text version',
  frame: 'Content of the email',
};

export function renderContent(
  { frame, text, ...rest }: RenderedEmail,
  withRemoteImages: boolean,
  words = WORDS,
): (string | Buffer)[] {
  if (frame === undefined) {
    if (text === undefined) return [`<p class="quiet">${escapeHtml(words.gone)}</p>`];
    return ['<pre dir="auto">', text, '</pre>'];
  }
  const notice = rest.mayLoadImages ? renderImageNotice(withRemoteImages, words) : '';
  return [
    `${notice}<div class="frame">`,
    ...renderFrame(frame, { withRemoteImages, title: words.frame }),
    `</div>${renderLinks(rest.links, words)}`,
    ...(text === undefined
      ? []
      : [`<details><summary>${escapeHtml(words.plainText)}</summary><pre dir="auto">`, text, '</pre></details>']),
  ];
}

/** Loading an image notifies its owner that the email was opened, so the reader is asked first. */
function renderImageNotice(withRemoteImages: boolean, words: ContentWords): string {
  const notice = withRemoteImages ? words.imagesShown : words.imagesHidden;
  const change = withRemoteImages ? words.hideImages : words.showImages;
  const link = `<a href="?images=${withRemoteImages ? '0' : '1'}">${escapeHtml(change)}</a>`;
  return `<p class="notice">${escapeHtml(notice)} ${link}</p>`;
}

export function renderLinks(links: readonly string[], { links: title, linksDisabled }: ContentWords = WORDS): string {
  if (links.length === 0) return '';
  const items = links.map((link) => `<li>${renderLink(link, linksDisabled === undefined)}</li>`);
  const notice = linksDisabled === undefined ? '' : `<p class="quiet">${escapeHtml(linksDisabled)}</p>`;
  return `<details><summary>${escapeHtml(title)}</summary>${notice}<ol>${items.join('')}</ol></details>`;
}

/** Renders the address of a link; only addresses of the web can be followed. */
function renderLink(link: string, isLive: boolean): string {
  const shown = bdi(link);
  const url = isLive && /^https?:/i.test(link) ? URL.parse(link) : null;
  return url === null
    ? shown
    : `<a href="${escapeHtml(url.href)}" target="_blank" rel="noopener noreferrer">${shown}</a>`;
}

/** Returns the texts around the content of an email that readers without an account see, in their language. */
export function wordsFor(language: Language): ContentWords {
  const texts = READER_TEXTS[language];
  return {
    gone: texts.emailGone,
    imagesHidden: texts.imagesHidden,
    showImages: texts.showImages,
    imagesShown: texts.imagesShown,
    hideImages: texts.hideImages,
    links: texts.linksInEmail,
    plainText: texts.plainTextVersion,
    frame: texts.emailContent,
  };
}

/** Renders the page on which a recipient sees an email in a browser, in the language of the recipient. */
export function renderViewPage({
  email,
  content,
  withRemoteImages,
  language,
}: Omit<SharePage, 'email'> & { email: ViewedEmail; language: Language }): Buffer {
  const texts = READER_TEXTS[language];
  const words = wordsFor(language);
  const subject = email.subject.trim() === '' ? texts.emailContent : email.subject;
  const parts: (string | Buffer)[] = [
    `${documentStart(subject, readingStyle, language)}<header><h1>${bdi(subject)}</h1><p class="quiet">${bdi(email.from)}</p></header>
<main>`,
    ...renderContent(content, withRemoteImages, words),
    `</main>${documentEnd}`,
  ];
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

export const renderTime = (ms: number): string =>
  `<time datetime="${new Date(ms).toISOString()}">${timeInWords(ms)}</time>`;

/** Renders the page for a link that never existed, has expired, or was revoked, so that these look the same. */
export const renderNoSharePage = (): string =>
  renderDocument(
    'This link does not work',
    `<main><h1>This link does not work</h1>
<p>It may have expired or been revoked. Ask the person who sent it to you for a new one.</p></main>`,
    readingStyle,
  );

/** Renders the page for a valid link while too many others are being opened. */
export const renderBusyPage = (): string =>
  renderDocument(
    'Too many shared emails are being opened right now',
    `<main><h1>Too many shared emails are being opened right now</h1>
<p>The link works. Open it again in a few seconds.</p></main>`,
    readingStyle,
  );

/** Returns the policy of the page and of the frame inside it. The page may load one image of its own. */
const framePolicy = (withRemoteImages: boolean, ownImage = ''): string =>
  [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `img-src data:${ownImage === '' ? '' : ` ${ownImage}`}${withRemoteImages ? ' https: http:' : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

/**
 * Returns the headers of the page. A `srcdoc` document is under the policy of the page around it, so the page's own policy
 * confines the email: it allows inline styles, and its `default-src` blocks everything else. The reader can only allow
 * images. The token is in the URL, so the URL must not be stored or passed on either.
 */
export const sharePageHeaders = (withRemoteImages: boolean, ownImage = ''): Record<string, string> => ({
  ...privatePageHeaders(framePolicy(withRemoteImages, ownImage)),
  vary: 'accept',
});
