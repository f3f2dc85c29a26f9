import { fillText, isSampleLink, READER_TEXTS, type Language } from '../../../features/audience/index.ts';
import {
  findArchivedBroadcast,
  listArchive,
  openArchive,
  renderArchivedMail,
  type Archive,
  type ArchivedBroadcast,
} from '../../../features/campaigns/index.ts';
import { isUuid } from '../../../platform/ids.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { World } from '../../../platform/world.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import type { TeamRow } from '../../../tenancy/teams/index.ts';
import { bdi, documentEnd, documentStart, readingStyle } from '../layout/index.ts';
import { allowIndexing } from '../page.ts';
import {
  renderContent,
  renderEmail,
  renderedOnce,
  sharePageHeaders,
  wordsFor,
  type RenderedEmail,
} from '../share-page/index.ts';
import { buildPageStyle, readImageSource, renderBrand } from './look.ts';
import {
  frameTeamPage,
  renderBusy,
  renderFooter,
  renderNoArchive,
  renderPage,
  senderName,
  type Answer,
  type RenderedPage,
} from './render.ts';

interface Request {
  /** The part of the path after `/archive/`. */
  target: string;
  query: URLSearchParams;
  /** The language that the browser prefers. */
  preferred: Language | undefined;
}

/**
 * Answers a request for the public archive of a team: the list of its broadcasts, or one of them. An address that never
 * existed, was renewed or is off, and a broadcast that is not in the archive, have the same response.
 */
export async function answerArchive(world: World, { target, query, preferred }: Request): Promise<Answer> {
  const noPage = { status: 404, ...renderNoArchive(preferred ?? 'en') };
  const [token = '', id, ...others] = target.split('/');
  const team = others.length > 0 ? undefined : await openArchive(world, token);
  if (!team) return noPage;
  const language = preferred ?? team.default_language;
  if (id === undefined) return (await showList(world, team, { query, language })) ?? noPage;
  return (await showBroadcast(world, { team, token, id, query, language })) ?? noPage;
}

async function showList(
  world: World,
  team: TeamRow,
  { query, language }: { query: URLSearchParams; language: Language },
): Promise<Answer | undefined> {
  const after = query.get('after')?.toLowerCase();
  const before = query.get('before')?.toLowerCase();
  if ([after, before].some((id) => id !== undefined && !isUuid(id))) return undefined;
  const archive = await listArchive(world, team, { after, before });
  return archive && { status: 200, ...renderList(archive, team, language) };
}

function renderList(archive: Archive, team: TeamRow, language: Language): RenderedPage {
  const texts = READER_TEXTS[language];
  const { broadcasts, hasNewer, hasOlder } = archive;
  const address = `/archive/${team.archive_token}`;
  const rows = broadcasts.map(
    ({ id, subject, startedAt }) =>
      `<li><div><a href="${address}/${id}" lang="${team.default_language}">${bdi(subject.trim() || texts.emailContent)}</a></div>${renderDate(startedAt, language)}</li>`,
  );
  const list =
    rows.length === 0 ? `<p>${escapeHtml(texts.archiveEmpty)}</p>` : `<ul class="rows">${rows.join('\n')}</ul>`;
  const links = [
    hasNewer ? `<a href="${address}?before=${broadcasts[0]?.id}" rel="prev">${escapeHtml(texts.newer)}</a>` : '',
    hasOlder ? `<a href="${address}?after=${broadcasts.at(-1)?.id}" rel="next">${escapeHtml(texts.older)}</a>` : '',
  ].filter((link) => link !== '');
  return renderPage(
    { title: fillText(texts.archiveOf, { sender: senderName({ team }) }), language },
    links.length === 0 ? list : `${list}\n<p class="links">${links.join(' ')}</p>`,
    { ...frameTeamPage(team, language), isIndexed: team.archive_indexed === 1 },
  );
}

interface OnePage {
  team: TeamRow;
  token: string;
  id: string;
  query: URLSearchParams;
  language: Language;
}

async function showBroadcast(world: World, page: OnePage): Promise<Answer | undefined> {
  const { team, id, query, language } = page;
  const found = isUuid(id) ? await findArchivedBroadcast(world, team, id.toLowerCase()) : undefined;
  if (!found) return undefined;
  // Anyone can request it, so one rendering is made at a time.
  const rendering = renderedOnce(world, { id: `archive ${found.contentKey}`, isLarge: true }, async () => {
    const mail = await renderArchivedMail(world, team, found.id);
    return renderEmail({ ...mail, images: NO_IMAGES }, world.texts);
  });
  if (!rendering) return { status: 503, ...renderBusy(language) };
  try {
    const content = await rendering;
    return {
      status: 200,
      ...renderBroadcast(found, content, { ...page, withRemoteImages: query.get('images') === '1' }),
    };
  } catch (error) {
    // With its fallbacks the mail is larger than any contact could get it.
    if (!(error instanceof Refusal) || error.status >= 500) throw error;
    return undefined;
  }
}

/** Broadcasts have no attachments that they could show by content ids. */
const NO_IMAGES: ReadonlyMap<string, string> = new Map();

/** The logo is part of the page, not a card of its own. */
const ARCHIVE_STYLE = `header.brand{background:none;border:0;border-radius:0;padding:0;margin:0 0 1rem}
h1{margin:0}
.when{margin:0 0 1rem;color:var(--quiet)}
nav{margin:0 0 1rem}
address{font-style:normal}
`;

function renderBroadcast(
  { subject: written, startedAt }: ArchivedBroadcast,
  { links, ...content }: RenderedEmail,
  { team, token, language, withRemoteImages }: OnePage & { withRemoteImages: boolean },
): RenderedPage {
  const texts = READER_TEXTS[language];
  const subject = written.trim() || texts.emailContent;
  // The page without its remote images is the one to find.
  const isIndexed = team.archive_indexed === 1 && !withRemoteImages;
  const style = buildPageStyle(team, readingStyle) + ARCHIVE_STYLE;
  const shown = { ...content, links: links.filter((link) => !isSampleLink(link)) };
  const parts: (string | Buffer)[] = [
    `${documentStart(subject, style, language, isIndexed)}${renderBrand(team, senderName({ team }))}<nav><a href="/archive/${token}">${escapeHtml(texts.allNewsletters)}</a></nav>
<main><h1 lang="${team.default_language}">${bdi(subject)}</h1><p class="when">${bdi(senderName({ team }))} · ${renderDate(startedAt, language)}</p>
`,
    ...renderContent(shown, withRemoteImages, { ...wordsFor(language), imagesHidden: texts.archiveImagesHidden }),
    `</main>
<footer>${renderFooter(team, language)}</footer>${documentEnd}`,
  ];
  const headers = {
    ...sharePageHeaders(withRemoteImages, readImageSource(team)),
    'content-type': 'text/html; charset=utf-8',
  };
  return {
    html: Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))),
    headers: isIndexed ? allowIndexing(headers) : headers,
  };
}

const formats = new Map<Language, Intl.DateTimeFormat>();

/** Renders a day in the language of the reader, in UTC, because a page without a script knows no time zone. */
function renderDate(ms: number, language: Language): string {
  const format =
    formats.get(language) ??
    new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, { dateStyle: 'long', timeZone: 'UTC' });
  formats.set(language, format);
  return `<time datetime="${new Date(ms).toISOString().slice(0, 10)}">${escapeHtml(format.format(ms))}</time>`;
}
