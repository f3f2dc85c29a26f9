import type { IncomingMessage, ServerResponse } from 'node:http';
import { isDatabaseSetback } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world.ts';
import type { PreferenceLink } from '../../../protocol/preference-links.ts';
import {
  changePreferences,
  choiceToken,
  openPreferenceLink,
  SAMPLE_TOKEN,
  confirmSignUp,
  readAcceptLanguage,
  readSignUp,
  readPreferences,
  type Language,
  type PreferenceChange,
  type Preferences,
  type SignUp,
} from '../../../features/audience/index.ts';
import { readViewedContent, readViewedEmail } from '../../../features/sharing/index.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { createClientAddress } from '../client-address.ts';
import { bucketOfAddress, createRateLimit, type RateState } from '../rate-limit.ts';
import { renderEmail, renderedOnce, renderViewPage, sharePageHeaders } from '../share-page/index.ts';
import { answerArchive } from './archive-pages.ts';
import { readForm } from './read-form.ts';
import { createSignUpPages, redirectTo, renderClosed } from './sign-up-pages.ts';
import {
  renderBusy,
  renderConfirmation,
  renderEmailGone,
  renderMethodRefused,
  renderNoLink,
  renderPreferences,
  renderSample,
  renderTooLarge,
  renderUnsubscribe,
  withHeaders,
  type Answer,
  type Done,
} from './render.ts';

/** Path of a link. The token ends at a query, because some mail programs append one to the URL. */
const FORM = /^\/(unsubscribe|preferences|confirm|view|subscribe|archive)\/([^?]*?)\/?(?:\?|$)/;
type PageName = 'unsubscribe' | 'preferences' | 'confirm';

/** The links that each page takes. */
const KINDS: Record<PageName | 'view', readonly PreferenceLink['kind'][]> = {
  unsubscribe: ['choice'],
  preferences: ['choice'],
  confirm: ['confirmation', 'sign_up'],
  view: ['view'],
};

interface Page {
  link: PreferenceLink;
  name: PageName;
  token: string;
  /** The language that the browser prefers. */
  preferred: Language | undefined;
}

/**
 * Serves preference links on every host that leads to us; returns false to leave a request to the API. It runs before
 * the API's hooks, because a reader has no key and a mail program may send no User-Agent. Each valid link has the rate
 * limit of a team, because providers press buttons for thousands of readers from one address; without a valid link, the
 * client's address has that limit.
 */
export function createPreferencePages(world: World): (request: IncomingMessage, response: ServerResponse) => boolean {
  const clientAddress = createClientAddress(world.config.http.trusted_proxies);
  const rateLimit = createRateLimit(world);
  const signUpPages = createSignUpPages(world, rateLimit);
  return (request, response) => {
    const [, name, token = ''] = FORM.exec(request.url ?? '') ?? [];
    if (name === undefined) return false;
    const answered =
      name === 'subscribe'
        ? signUpPages.answer(request, { target: token, client: bucketOfAddress(clientAddress(request)) })
        : name === 'archive'
          ? showArchive(request, token)
          : answerRequest(request, name as PageName | 'view', token);
    void answered
      .catch((error: unknown) => renderFailure(world, error, { page: name, language: preferredLanguage(request) }))
      .then(({ status, html, headers }) => {
        // An unread part of the body would be parsed as the next request.
        if (!request.complete) response.shouldKeepAlive = false;
        const bytes = Buffer.from(html);
        response.writeHead(status, { ...headers, 'content-length': bytes.length });
        response.end(request.method === 'HEAD' ? undefined : bytes);
      });
    return true;
  };

  async function answerRequest(request: IncomingMessage, name: PageName | 'view', token: string): Promise<Answer> {
    const { method = '' } = request;
    const preferred = readAcceptLanguage(request.headers['accept-language']);
    const language = preferred ?? 'en';
    const methods = name === 'view' ? READING : [...READING, 'POST'];
    if (!methods.includes(method)) return refuseMethod(preferred, methods);
    const opened = openPreferenceLink(world, token);
    const link = opened && KINDS[name].includes(opened.kind) ? opened : undefined;
    const rate = await rateLimit.take(link ? `link:${link.contactId}` : bucketOfAddress(clientAddress(request)));
    if (!rate.allowed) return refuseRate(preferred, rate);
    if (token === SAMPLE_TOKEN && name !== 'confirm') return { status: 200, ...renderSample(language) };
    if (!link) return { status: 404, ...renderNoLink(language) };
    if (name === 'view') return showEmail(link, { language, url: request.url ?? '' });
    const page = { link, name, token, preferred };
    if (method !== 'POST')
      return link.kind === 'sign_up' ? showSignUp(page) : show(page, await readPreferences(world, link));
    const form = await readForm(request);
    if (!form) return { status: 413, ...renderTooLarge(language) };
    return applyChange(page, form);
  }

  /** Shows the archive of a team. Its readers have no link of their own, so the limit is that of their address. */
  async function showArchive(request: IncomingMessage, target: string): Promise<Answer> {
    const { method = '', url = '' } = request;
    const preferred = readAcceptLanguage(request.headers['accept-language']);
    if (!READING.includes(method)) return refuseMethod(preferred, READING);
    const rate = await rateLimit.take(bucketOfAddress(clientAddress(request)));
    if (!rate.allowed) return refuseRate(preferred, rate);
    return answerArchive(world, { target, query: new URLSearchParams(/\?(.*)$/.exec(url)?.[1]), preferred });
  }

  /** Shows the email that contains a link. It is rendered as for a share link, and reading it records nothing. */
  async function showEmail(
    link: PreferenceLink,
    { language, url }: { language: Language; url: string },
  ): Promise<Answer> {
    const email = await readViewedEmail(world, link);
    if (!email) return { status: 404, ...renderEmailGone(language) };
    const rendering = renderedOnce(world, email, async () =>
      renderEmail(await readViewedContent(world, email), email.isLarge ? world.texts : undefined),
    );
    if (!rendering) return { status: 503, ...renderBusy(language) };
    const content = await rendering;
    const withRemoteImages = /[?&]images=1(?:&|$)/.test(url);
    const headers = { ...sharePageHeaders(withRemoteImages), 'content-type': 'text/html; charset=utf-8' };
    return { status: 200, html: renderViewPage({ email, content, withRemoteImages, language }), headers };
  }

  async function applyChange(page: Page, fields: URLSearchParams): Promise<Answer> {
    const { link, name } = page;
    if (link.kind === 'sign_up')
      return readChange(name, fields) ? confirm(page) : { ...(await showSignUp(page)), status: 400 };
    const isOneClick = name === 'unsubscribe' && isOneClickForm(fields);
    const change = isOneClick ? ({ do: 'unsubscribe' } as const) : readChange(name, fields);
    if (!change) return { ...show(page, await readPreferences(world, link)), status: 400 };
    const source = isOneClick ? 'one_click' : name === 'confirm' ? 'confirmation' : 'preference_page';
    return show(page, await changePreferences(world, link, change, source), toDone(change));
  }

  /** Shows the page of a confirmation link of a form. */
  async function showSignUp(page: Page): Promise<Answer> {
    return presentSignUp(page, await readSignUp(world, page.link));
  }

  async function confirm(page: Page): Promise<Answer> {
    try {
      const signUp = await confirmSignUp(world, page.link);
      const { confirmedUrl = null } = signUp ?? {};
      const isDone = signUp?.topic?.subscription === 'opt_in';
      return isDone && confirmedUrl !== null ? redirectTo(confirmedUrl) : presentSignUp(page, signUp, 'subscribed');
    } catch (error) {
      // The plan of the team has no room for another contact.
      if (!(error instanceof Refusal)) throw error;
      world.log.warn({ teamId: page.link.teamId, because: error.message }, 'a sign-up could not be confirmed');
      return { status: 409, ...renderClosed(page.preferred ?? 'en') };
    }
  }

  function presentSignUp(page: Page, signUp: SignUp | undefined, done?: Done): Answer {
    if (!signUp) return { status: 404, ...renderNoLink(page.preferred ?? 'en') };
    const language = page.preferred ?? signUp.team.default_language;
    const action = `/confirm/${page.token}`;
    const choices = `/preferences/${choiceToken(world, signUp.choices)}`;
    const redirectsTo = signUp.confirmedUrl;
    return { status: 200, ...renderConfirmation({ ...signUp, language, action, choices, done, redirectsTo }) };
  }

  function show(page: Page, preferences: Preferences | undefined, done?: Done): Answer {
    const { link, name, token, preferred } = page;
    if (!preferences) return { status: 404, ...renderNoLink(preferred ?? 'en') };
    const language = preferences.language ?? preferred ?? preferences.team.default_language;
    const action = `/${name}/${token}`;
    const choices = `/preferences/${choiceToken(world, link)}`;
    return { status: 200, ...RENDER[name]({ ...preferences, language, action, choices, done }) };
  }
}

const READING: readonly string[] = ['GET', 'HEAD'];

const refuseMethod = (language: Language | undefined, allowed: readonly string[]): Answer => ({
  status: 405,
  ...withHeaders(renderMethodRefused(language ?? 'en'), { allow: allowed.join(', ') }),
});

const refuseRate = (language: Language | undefined, { retryAfterSeconds }: RateState): Answer => ({
  status: 429,
  ...withHeaders(renderBusy(language ?? 'en'), { 'retry-after': String(retryAfterSeconds) }),
});

const RENDER = { unsubscribe: renderUnsubscribe, preferences: renderPreferences, confirm: renderConfirmation };

/** Reports whether a POST is a one-click request (RFC 8058 §3.1), also with a line end or in other letter case. */
const isOneClickForm = (fields: URLSearchParams): boolean =>
  [...fields].some(([name, value]) => /^list-unsubscribe$/i.test(name) && /^one-click\s*$/i.test(value));

/** The values of `do` that each page accepts. */
const BUTTONS: Record<PageName, readonly string[]> = {
  unsubscribe: ['unsubscribe', 'subscribe'],
  preferences: ['save', 'unsubscribe_all', 'subscribe_all'],
  confirm: ['subscribe'],
};

function readChange(name: PageName, fields: URLSearchParams): PreferenceChange | undefined {
  const wanted = fields.get('do') ?? '';
  if (!BUTTONS[name].includes(wanted)) return undefined;
  if (wanted !== 'save') return { do: wanted as Exclude<PreferenceChange['do'], 'save'> };
  return { do: 'save', shown: new Set(fields.getAll('shown')), chosen: new Set(fields.getAll('topic')) };
}

function toDone(change: PreferenceChange): Done {
  if (change.do === 'save') return 'saved';
  return change.do === 'subscribe' || change.do === 'subscribe_all' ? 'subscribed' : 'unsubscribed';
}

const preferredLanguage = (request: IncomingMessage): Language =>
  readAcceptLanguage(request.headers['accept-language']) ?? 'en';

function renderFailure(world: World, error: unknown, { page, language }: { page: string; language: Language }): Answer {
  const isSetback = isDatabaseSetback(error);
  world.log.error({ err: error, page }, isSetback ? 'storage is not available' : 'a preference page failed');
  return { status: isSetback ? 503 : 500, ...renderBusy(language) };
}
