import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuse, Refusal } from '../../../platform/refusal.ts';
import { rateLimited, refusalFor } from '../answers.ts';
import { createBrowser, mustBeSameOrigin, readCookie, type Authenticator } from '../authenticators.ts';
import { bdi, formStyle, renderDocument, hashStyle } from '../layout/index.ts';
import { EVERY_PATH, notePage } from '../find-operation.ts';
import { privatePageHeaders, type HttpServices } from '../page.ts';
import { bucketOfAddress, type RateLimit } from '../rate-limit.ts';
import { renderLink, renderLinks } from './elements.ts';
import {
  FORM_BYTES_MAX,
  readFields,
  readForm,
  type Redirect,
  type PageCtx,
  type PeoplePage,
  type Shown,
  type SignedIn,
} from './page.ts';
import {
  readRequirement,
  type AnswerOf,
  type CallOf,
  type OperationValidators,
  type Validators,
  type ValueId,
} from '../../../contract/index.ts';
import { Answered } from '../../../tenancy/access/index.ts';
import { authorize } from '../../../tenancy/access/index.ts';
import { createRunner } from '../answerer.ts';
import { checkBody, checkParameters } from '../check-request.ts';
import { accountPage, sessionsPage, teamPage } from './account.ts';
import { appLimitsPage, appsPage, consentPage, devicePage } from './apps.ts';
import { approvalPage, approvalsPage } from './approvals.ts';
import { invitationPage, signUpPage, verifyEmailPage } from './sign-up.ts';
import { reviewPage } from './review.ts';
import { confirmPage, disablePage, enrolPage, mfaPage, recoveryCodesPage } from './mfa.ts';
import { forgotPasswordPage, passwordPage, resetPasswordPage } from './password.ts';
import { codePage, recoveryCodePage, signInPage, signOutPage, ssoCallbackPage, ssoStartPage } from './sign-in.ts';

/** Redirects a person who enters only the address of the service. */
const frontPage: PeoplePage = {
  path: '/',
  get: async ({ store }) => ({ to: store.config.profile === 'development' ? '/playground' : '/account' }),
};

/** All pages for people. */
export const peoplePages: readonly PeoplePage[] = [
  frontPage,
  signInPage,
  codePage,
  recoveryCodePage,
  signOutPage,
  signUpPage,
  verifyEmailPage,
  ssoStartPage,
  ssoCallbackPage,
  consentPage,
  forgotPasswordPage,
  resetPasswordPage,
  invitationPage,
  accountPage,
  teamPage,
  passwordPage,
  sessionsPage,
  appsPage,
  appLimitsPage,
  devicePage,
  approvalsPage,
  approvalPage,
  reviewPage,
  mfaPage,
  enrolPage,
  confirmPage,
  recoveryCodesPage,
  disablePage,
];

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on routes of pages for people. A browser need not send a User-Agent to them. */
    isForPeople?: true;
  }
}

const parsePath = (target: string): string => target.split('?', 1)[0] ?? '';

/** Reports whether the path is that of a page, or below one. */
export function isPeoplePage(target: string): boolean {
  const path = parsePath(target);
  return peoplePages.some((page) => path === page.path || (page.path !== '/' && path.startsWith(`${page.path}/`)));
}

/** Returns the page of the request's decoded path. */
const findPage = ({ params }: FastifyRequest): PeoplePage | undefined =>
  pagesByPath.get(`/${(params as { '*': string })['*']}`);

const pagesByPath = new Map(peoplePages.map((page) => [page.path, page]));

const listMethods = (page: PeoplePage): string[] => (page.post ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD']);

/** Returns the methods of the page at this path; empty if there is none. */
export function methodsOfPage(target: string): string[] {
  const page = pagesByPath.get(parsePath(target));
  return page ? listMethods(page) : [];
}

/** Distinguishes the route of pages from the others on every path (`serve-operations.ts`). */
export const PAGE = 'page of people';

/**
 * Adds one route for all pages, because adding many routes to the router takes longer than looking a page up. An unknown
 * path below a page and a wrong method are answered with a page too, because a person reads the response.
 */
export async function servePeoplePages(server: FastifyInstance, parts: PeoplePageParts): Promise<void> {
  const { services, rateLimit } = parts;
  const { world } = services;
  const bindCall = createCalls(parts);
  const bindWhyNot = createRefusalFinder(parts);
  await server.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) => {
      const refusal = refusalFor(error, request, world.log);
      if (!request.raw.complete) reply.header('connection', 'close');
      sendPage(reply, renderRefusal(refusal, world.origin()));
    });
    addRoute(scope);
  });

  function addRoute(scope: FastifyInstance): void {
    scope.route({
      method: scope.supportedMethods.filter((method) => method !== 'HEAD'),
      url: EVERY_PATH,
      constraints: { kind: PAGE },
      bodyLimit: FORM_BYTES_MAX,
      config: { isForPeople: true },
      // Before any byte of a body is read.
      onRequest: async (request, reply) => {
        const state = await rateLimit.take(bucketOfAddress(request.ip));
        if (!state.allowed) throw rateLimited(state);
        const page = findPage(request);
        if (!page) throw pageNotFound();
        notePage(request, page.path);
        const methods = listMethods(page);
        if (!methods.includes(request.method)) {
          reply.header('allow', methods.join(', '));
          throw refuse('method_not_allowed', { say: `This page does not accept ${request.method} requests.` });
        }
        mustBeSameOrigin(request, world.origin());
      },
      handler: async (request, reply) => {
        const page = findPage(request);
        if (!page) throw pageNotFound();
        const answer = await answerRequest(page, request, reply);
        if ('to' in answer) return sendRedirect(reply, answer);
        return sendPage(reply, answer);
      },
    });
  }

  async function answerRequest(
    page: PeoplePage,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Shown | Redirect> {
    const target = request.originalUrl;
    const query = readFields(target.split('?').slice(1).join('?'));
    const form = readForm(request.body as Buffer | undefined, request.headers['content-type']);
    const session = await findSession(parts.authenticators, request);
    const ctx: PageCtx = {
      store: world,
      browser: createBrowser(world, request, reply),
      requestId: request.id,
      session,
      call: bindCall(request, reply, session),
      findRefusal: bindWhyNot(session),
    };
    const handler = request.method === 'POST' ? page.post : page.get;
    if (!handler) throw pageNotFound();
    return handler(ctx, { target, query, form });
  }
}

const pageNotFound = (): Refusal => refuse('not_found', { say: 'There is no page at this address.' });

const TITLES: Readonly<Record<number, string>> = {
  403: 'This is not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  429: 'Too many requests',
  500: 'Something went wrong',
  503: 'Service temporarily unavailable',
};

function renderRefusal(refusal: Refusal, origin: string): Shown {
  return {
    title: TITLES[refusal.status] ?? 'Your request could not be completed',
    content: `<p>${bdi(refusal.message)}</p>${renderLinks(renderLink(`${origin}/sign-in`, 'Sign in'))}`,
    status: refusal.status,
    retryAfterSeconds: refusal.retryAfterSeconds,
  };
}

/** Redirects with 303, so that a form is not sent twice; never cached. */
const sendRedirect = (reply: FastifyReply, { to }: Redirect): FastifyReply =>
  reply
    .code(303)
    .headers({ ...pageHeaders(), location: to })
    .send('');

function sendPage(reply: FastifyReply, shown: Shown): FastifyReply {
  const { title, heading = bdi(title), content, status = 200, isFault, retryAfterSeconds, formsLeadTo } = shown;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
  const main = `<main><h1>${heading}</h1>\n${content}</main>`;
  return reply
    .code(status)
    .headers(pageHeaders(formsLeadTo))
    .type('text/html; charset=utf-8')
    .send(renderDocument(`${isFault ? 'Error: ' : ''}${title} – rasket`, main, formStyle));
}

const STYLE = hashStyle(formStyle);

/**
 * Returns the headers of a page. With `no-referrer` browsers would send `Origin: null` with a form, and the form could
 * not be distinguished from one of another site.
 */
const pageHeaders = (formsLeadTo: readonly string[] = []): Record<string, string> => ({
  ...privatePageHeaders(
    `default-src 'none'; style-src ${STYLE}; base-uri 'none'; form-action ${["'self'", ...formsLeadTo].join(' ')}`,
  ),
  'referrer-policy': 'same-origin',
});

interface PeoplePageParts {
  services: HttpServices;
  validators: Validators;
  authenticators: readonly Authenticator[];
  rateLimit: RateLimit;
}

/** Returns the session of the request; undefined if there is none or it has ended, so that the person signs in again. */
async function findSession(
  authenticators: readonly Authenticator[],
  { headers }: FastifyRequest,
): Promise<SignedIn | undefined> {
  for (const one of authenticators) {
    const secret = 'cookie' in one ? readCookie(headers.cookie, one.cookie) : undefined;
    if (secret === undefined) continue;
    const identity = await one.identify(secret).catch((error: unknown) => {
      if (error instanceof Refusal) return undefined;
      throw error;
    });
    if (identity?.actor.kind === 'session') return { ...identity, actor: identity.actor };
  }
  return undefined;
}

/** Creates the check by which a page decides whether to offer an action, instead of one that would be refused. */
const createRefusalFinder =
  ({ validators }: Pick<PeoplePageParts, 'validators'>) =>
  (session: SignedIn | undefined): PageCtx['findRefusal'] =>
  (id) => {
    const operation = validators.operations.get(id)?.operation;
    if (!operation || !session) return undefined;
    try {
      authorize(session.actor, readRequirement(operation));
      return undefined;
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  };

/** Creates the function by which pages call operations of the API. */
function createCalls({ validators, services }: PeoplePageParts) {
  const runners = new Map<string, ReturnType<typeof createRunner>>();
  const runnerFor = (operation: OperationValidators): ReturnType<typeof createRunner> => {
    const known = runners.get(operation.operationId) ?? createRunner(operation, validators, services);
    runners.set(operation.operationId, known);
    return known;
  };
  return (request: FastifyRequest, reply: FastifyReply, session: SignedIn | undefined): PageCtx['call'] =>
    async <Id extends ValueId>(id: Id, given: CallOf<Id>) => {
      const call: { path?: object; query?: object; body?: unknown } = given as object;
      const operation = validators.operations.get(id);
      if (!operation) throw new Error(`the contract has no operation ${id}`);
      if (request.method !== 'POST' && operation.method !== 'get')
        throw new Error(`a GET request for a page called ${id}, which may change something`);
      const access = readRequirement(operation.operation);
      const caller = access.permission === 'none' ? undefined : session;
      if (access.permission !== 'none') {
        if (!session) throw refuse('missing_api_key', { say: 'Sign in first.' });
        authorize(session.actor, access);
      }
      const parameters = { path: { ...(call.path ?? {}) }, query: { ...(call.query ?? {}) }, header: {} };
      checkParameters(operation, parameters);
      const body = { value: call.body ?? {}, hasEscapes: true };
      if (operation.method !== 'get') checkBody(operation, body);
      const answer = await runnerFor(operation)({ request, reply, caller, body, parameters });
      return (answer instanceof Answered ? answer.body : answer) as AnswerOf<Id>;
    };
}
