import type { PostalAddress } from '../../../contract/index.ts';
import {
  fillHtml,
  fillText,
  formatPostalLines,
  READER_TEXTS,
  type Language,
  type Preferences,
  type ReaderTexts,
  type TopicPreference,
} from '../../../features/audience/index.ts';
import type { TeamRow } from '../../../tenancy/teams/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi, formStyle, renderDocument, hashStyle } from '../layout/index.ts';
import { allowIndexing, privatePageHeaders } from '../page.ts';
import { buildPageStyle, readImageSource, renderBrand, renderWords } from './look.ts';

/** A page with the headers that it needs. */
export interface RenderedPage {
  html: string | Buffer;
  headers: Record<string, string>;
}

export interface Answer extends RenderedPage {
  status: number;
}

export const withHeaders = (page: RenderedPage, headers: Record<string, string>): RenderedPage => ({
  ...page,
  headers: { ...page.headers, ...headers },
});

/** Returns the headers of a page. `form-action` allows only the page's own host, so a scanner that follows a form stays here. */
function buildHeaders(
  style: string,
  { imageSource, redirectsTo = null, script }: Pick<PageFrame, 'imageSource' | 'redirectsTo' | 'script'>,
): Record<string, string> {
  const images = imageSource === undefined ? '' : `img-src ${imageSource}; `;
  const scripts = script === undefined ? '' : `script-src ${hashStyle(script)}; connect-src 'self'; `;
  // Browsers also apply it to where a form leads on.
  const target = redirectsTo === null ? '' : ` ${new URL(redirectsTo).origin}`;
  const policy = `default-src 'none'; ${images}${scripts}style-src ${hashStyle(style)}; base-uri 'none'; form-action 'self'${target}`;
  return { ...privatePageHeaders(policy), 'content-type': 'text/html; charset=utf-8' };
}

export interface Titled {
  title: string;
  language: Language;
}

interface PageFrame {
  style?: string;
  imageSource?: string | undefined;
  header?: string;
  footer?: string;
  /** The address of a page to which a form of the page leads on. */
  redirectsTo?: string | null;
  /** The inline script of the page, which may call this server. */
  script?: string | undefined;
  /** Search engines may list the page. */
  isIndexed?: boolean;
}

/** Returns what the pages of a team have around their content. */
export const frameTeamPage = (team: TeamRow, language: Language): PageFrame => ({
  style: buildPageStyle(team),
  imageSource: readImageSource(team),
  header: renderBrand(team, senderName({ team })),
  footer: renderFooter(team, language),
});

/** Renders a page. `main` and what `around` has are HTML already. */
export function renderPage({ title, language }: Titled, main: string, around: PageFrame = {}): RenderedPage {
  const { style = formStyle, header = '', footer = '', isIndexed = false } = around;
  const content = `${header}<main><h1>${bdi(title)}</h1>
${main}</main>${footer === '' ? '' : `\n<footer>${footer}</footer>`}`;
  const headers = buildHeaders(style, around);
  return {
    html: renderDocument(title, content, style, language, isIndexed),
    headers: isIndexed ? allowIndexing(headers) : headers,
  };
}

/** The change that was just made, which the page reports first; undefined for a GET. */
export type Done = 'unsubscribed' | 'subscribed' | 'saved' | undefined;

export interface Shown extends Omit<Preferences, 'language'> {
  language: Language;
  /** The URL that the page's forms post to. */
  action: string;
  /** The URL of the preference page. */
  choices: string;
  done: Done;
  /** The page to which the buttons lead on, if it is not one of ours. */
  redirectsTo?: string | null;
}

export type TextKey = keyof ReaderTexts;

/** Returns the names that texts mention, as `put` writes them. */
function listNames(shown: Shown, put: (text: string) => string): Record<string, string> {
  return {
    sender: put(senderName(shown)),
    topic: put(shown.topic?.name ?? ''),
    email: put(shown.contact?.email ?? ''),
  };
}

/** Returns a text of a page as HTML. */
function say(shown: Shown, key: TextKey): string {
  const names = { ...listNames(shown, bdi), email: `<strong>${bdi(shown.contact?.email ?? '')}</strong>` };
  return fillHtml(READER_TEXTS[shown.language][key], names);
}

const sayParagraph = (shown: Shown, key: TextKey): string => `<p>${say(shown, key)}</p>`;

/** Renders the page of an unsubscribe link, on which a reader leaves the topic of the mail, or everything. */
export function renderUnsubscribe(shown: Shown): RenderedPage {
  const { contact, topic, done } = shown;
  if (!contact) return renderErased(shown, 'unsubscribe');
  const more = topic ? 'manageOrLeave' : 'managePreferences';
  if (!shown.isUnsubscribed && topic?.subscription !== 'opt_out') {
    return renderTeamPage(shown, topic ? 'unsubscribeFromTopic' : 'unsubscribeFromAll', [
      done === 'subscribed' ? renderStatus(shown, 'subscribedAgain') : '',
      renderWords(shown.team, shown.team.page_intro),
      sayParagraph(shown, topic ? 'receivesTopic' : 'receivesAll'),
      renderForm(shown, 'unsubscribe', renderButton(shown, 'unsubscribe')),
      renderChoicesLink(shown, more),
    ]);
  }
  // A contact who left everything subscribes again on the page that lists everything.
  const isOneStepBack = shown.mayJoin && !(topic && shown.isUnsubscribed);
  return renderTeamPage(shown, 'unsubscribed', [
    done === 'unsubscribed' ? renderStatus(shown, 'done') : '',
    sayParagraph(shown, topic && !shown.isUnsubscribed ? 'receivesTopicNoMore' : 'receivesNothingMore'),
    renderWords(shown.team, shown.team.page_goodbye),
    isOneStepBack ? renderForm(shown, 'subscribe', renderButton(shown, 'subscribeAgain', 'second')) : '',
    renderChoicesLink(shown, more),
  ]);
}

const SAVED = { unsubscribed: 'leftEverything', subscribed: 'subscribedAgain', saved: 'saved' } as const;

export function renderPreferences(shown: Shown): RenderedPage {
  if (!shown.contact) return renderErased(shown, 'unsubscribe_all');
  const { isUnsubscribed, topics, done } = shown;
  const back = shown.mayJoin ? renderForm(shown, 'subscribe_all', renderButton(shown, 'subscribeAgain', 'second')) : '';
  const leave = renderForm(shown, 'unsubscribe_all', renderButton(shown, 'unsubscribeFromEverything', 'second'));
  const allEmail = isUnsubscribed ? back : leave;
  return renderTeamPage(shown, 'preferences', [
    done === undefined ? '' : renderStatus(shown, SAVED[done]),
    renderWords(shown.team, isUnsubscribed ? shown.team.page_goodbye : shown.team.page_intro),
    sayParagraph(shown, 'preferencesApplyTo'),
    isUnsubscribed ? sayParagraph(shown, 'hasLeftEverything') : '',
    shown.mayJoin && topics.length > 0 ? renderTopics(shown) : '',
    allEmail === '' ? '' : `<h2>${say(shown, 'allEmail')}</h2>\n${allEmail}`,
  ]);
}

export function renderConfirmation(shown: Shown): RenderedPage {
  const { topic, contact, done } = shown;
  if (!contact) return renderErased(shown);
  const link = renderChoicesLink(shown, 'manageOrLeave');
  if (!topic || !shown.mayJoin) {
    return renderTeamPage(shown, 'nothingToConfirm', [sayParagraph(shown, 'noLongerOffered'), link]);
  }
  if (topic.subscription === 'opt_in') {
    return renderTeamPage(shown, 'subscribedTo', [
      done === undefined ? '' : renderStatus(shown, 'done'),
      sayParagraph(shown, shown.isUnsubscribed ? 'nothingUntilSubscribed' : 'receivesTopic'),
      link,
    ]);
  }
  return renderTeamPage(shown, 'subscribeTo', [
    sayParagraph(shown, 'requestReceived'),
    topic.description === null ? '' : `<p>${bdi(topic.description)}</p>`,
    renderForm(shown, 'subscribe', renderButton(shown, 'confirm')),
    `<p class="links">${say(shown, 'notRequested')}</p>`,
  ]);
}

/** Renders a page that concerns no team: a title, and what to do. */
export function renderPlain(language: Language, titleKey: TextKey, adviceKey: TextKey): RenderedPage {
  const texts = READER_TEXTS[language];
  return renderPage({ title: texts[titleKey], language }, `<p>${escapeHtml(texts[adviceKey])}</p>`);
}

export const renderNoLink = (language: Language): RenderedPage =>
  renderPlain(language, 'linkBroken', 'linkBrokenAdvice');

export const renderNoArchive = (language: Language): RenderedPage =>
  renderPlain(language, 'archiveGone', 'archiveGoneAdvice');

export const renderSample = (language: Language): RenderedPage =>
  renderPlain(language, 'sampleLink', 'sampleLinkReason');

export const renderEmailGone = (language: Language): RenderedPage =>
  renderPlain(language, 'emailGone', 'emailGoneReason');

export const renderMethodRefused = (language: Language): RenderedPage =>
  renderPlain(language, 'methodRefused', 'methodRefusedAdvice');

export const renderTooLarge = (language: Language): RenderedPage => renderPlain(language, 'tooLarge', 'tooLargeAdvice');

export const renderBusy = (language: Language): RenderedPage => renderPlain(language, 'busy', 'busyAdvice');

/**
 * Renders the page for a contact that was deleted. `does` is the action of the button: the reader can still unsubscribe,
 * because the address may be added again.
 */
function renderErased(shown: Shown, does?: 'unsubscribe' | 'unsubscribe_all'): RenderedPage {
  const { topic, isUnsubscribed, done } = shown;
  const isOut = isUnsubscribed || (does === 'unsubscribe' && topic?.subscription === 'opt_out');
  const isAboutTopic = does === 'unsubscribe' && topic !== undefined;
  return renderTeamPage(shown, 'notOnList', [
    done === 'unsubscribed' && isOut ? renderStatus(shown, 'done') : '',
    sayParagraph(shown, 'addressDeleted'),
    isOut ? sayParagraph(shown, isAboutTopic ? 'addedAgainTopic' : 'addedAgainAll') : '',
    does === undefined || isOut ? '' : renderForm(shown, does, renderButton(shown, 'stayUnsubscribed')),
  ]);
}

function renderTeamPage(shown: Shown, titleKey: TextKey, parts: readonly string[]): RenderedPage {
  const { language, team } = shown;
  const names = listNames(shown, (text) => text);
  return renderPage(
    { title: fillText(READER_TEXTS[language][titleKey], names), language },
    parts.filter((part) => part !== '').join('\n'),
    { ...frameTeamPage(team, language), redirectsTo: shown.redirectsTo ?? null },
  );
}

const renderStatus = (shown: Shown, key: TextKey): string => `<p class="status" role="status">${say(shown, key)}</p>`;

const renderButton = (shown: Shown, key: TextKey, kind = ''): string =>
  `<button type="submit"${kind === '' ? '' : ` class="${kind}"`}>${say(shown, key)}</button>`;

const renderForm = ({ action }: Shown, does: string, content: string): string =>
  `<form method="post" action="${action}"><input type="hidden" name="do" value="${does}">${content}</form>`;

const renderChoicesLink = (shown: Shown, key: TextKey): string =>
  `<p class="links"><a href="${shown.choices}">${say(shown, key)}</a></p>`;

function renderTopics(shown: Shown): string {
  const boxes = shown.topics.map(renderTopic).join('\n');
  return renderForm(
    shown,
    'save',
    `<fieldset><legend>${say(shown, 'wantToReceive')}</legend>${boxes}</fieldset>${renderButton(shown, 'save')}`,
  );
}

function renderTopic({ id, name, description, subscription }: TopicPreference): string {
  const checked = subscription === 'opt_in' ? ' checked' : '';
  const described = description === null ? '' : ` aria-describedby="d-${id}"`;
  const says = description === null ? '' : `<span id="d-${id}">${bdi(description)}</span>`;
  return `<div class="topic"><input type="checkbox" id="t-${id}" name="topic" value="${id}"${checked}${described}><label for="t-${id}">${bdi(name)}</label>${says}<input type="hidden" name="shown" value="${id}"></div>`;
}

export const senderName = ({ team }: Pick<Preferences, 'team'>): string => team.sender_name ?? team.name;

export function renderFooter(team: TeamRow, language: Language): string {
  const { postal_address: postal } = team;
  const lines = postal === null ? [] : formatPostalLines(JSON.parse(postal) as PostalAddress, language);
  return `<address>${[senderName({ team }), ...lines].map(bdi).join('<br>')}</address>`;
}
