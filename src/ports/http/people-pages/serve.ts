import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuse, Refusal } from '../../../platform/refusal/index.ts';
import { rateLimited, refusalFor } from '../answers.ts';
import { browserOf, mustBeSameOrigin } from '../browser.ts';
import { bdi, formStyle, renderDocument, sourceOf } from '../layout/index.ts';
import { EVERY_PATH, notePage } from '../find-operation.ts';
import { privatePageHeaders } from '../private-page-headers.ts';
import { bucketOfAddress } from '../rate-limit.ts';
import { renderLink, renderLinks } from './elements.ts';
import type { LedTo, PageCtx, PeoplePage, Shown } from './page.ts';
import { createCalls, createWhyNot, whoIsSignedIn, type PeoplePageParts } from './calls.ts';
import { FORM_BYTES_MAX, readFields, readForm } from './read-fields.ts';
import { peoplePages } from './table.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is a page for people, whose programs need not say what they are. */
    isForPeople?: true;
  }
}

const pathOf = (target: string): string => target.split('?', 1)[0] ?? '';

/** Whether the path is a page's, or below one. */
export function isPeoplePage(target: string): boolean {
  const path = pathOf(target);
  return peoplePages.some((page) => path === page.path || (page.path !== '/' && path.startsWith(`${page.path}/`)));
}

/** By its path, decoded. */
const pageOf = ({ params }: FastifyRequest): PeoplePage | undefined =>
  pagesByPath.get(`/${(params as { '*': string })['*']}`);

const pagesByPath = new Map(peoplePages.map((page) => [page.path, page]));

const methodsOf = (page: PeoplePage): string[] => (page.post ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD']);

/** The methods of the page at this path; empty where there is none. */
export function methodsOfPage(target: string): string[] {
  const page = pagesByPath.get(pathOf(target));
  return page ? methodsOf(page) : [];
}

/** What the route of pages is told apart by from the others on every path (`serve-operations.ts`). */
export const PAGE = 'page of people';

/**
 * Adds one route for all pages: the router takes longer to add routes than to look a page up. What is asked below a page and is none, or by another method, is answered with a page
 * too: a person reads it.
 */
export async function servePeoplePages(server: FastifyInstance, parts: PeoplePageParts): Promise<void> {
  const { services, rateLimit } = parts;
  const { world } = services;
  const [callsOf, whyNotOf] = [createCalls(parts), createWhyNot(parts)];
  await server.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) => {
      const refusal = refusalFor(error, request, world.log);
      if (!request.raw.complete) reply.header('connection', 'close');
      sendPage(reply, refusalPage(refusal, world.origin()));
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
        const page = pageOf(request);
        if (!page) throw notHere();
        notePage(request, page.path);
        const methods = methodsOf(page);
        if (!methods.includes(request.method)) {
          reply.header('allow', methods.join(', '));
          throw refuse('method_not_allowed', { say: `${request.method} is not allowed here.` });
        }
        mustBeSameOrigin(request, world.origin());
      },
      handler: async (request, reply) => {
        const page = pageOf(request);
        if (!page) throw notHere();
        const answer = await answerOf(page, request, reply);
        if ('to' in answer) return leadTo(reply, answer);
        return sendPage(reply, answer);
      },
    });
  }

  async function answerOf(page: PeoplePage, request: FastifyRequest, reply: FastifyReply): Promise<Shown | LedTo> {
    const target = request.originalUrl;
    const query = readFields(target.split('?').slice(1).join('?'));
    const form = readForm(request.body as Buffer | undefined, request.headers['content-type']);
    const session = await whoIsSignedIn(parts.authenticators, request);
    const ctx: PageCtx = {
      ...{ store: world, browser: browserOf(world, request, reply), requestId: request.id, session },
      ...{ call: callsOf(request, reply, session), whyNot: whyNotOf(session) },
    };
    const handler = request.method === 'POST' ? page.post : page.get;
    if (!handler) throw notHere();
    return handler(ctx, { target, query, form });
  }
}

const notHere = (): Refusal => refuse('not_found', { say: 'There is no page at this address.' });

const TITLES: Readonly<Record<number, string>> = {
  403: 'This is not allowed',
  404: 'There is no page here',
  405: 'This cannot be done here',
  429: 'Too many requests',
  500: 'Something went wrong',
  503: 'Try again soon',
};

function refusalPage(refusal: Refusal, origin: string): Shown {
  return {
    title: TITLES[refusal.status] ?? 'This did not work',
    content: `<p>${bdi(refusal.message)}</p>${renderLinks(renderLink(`${origin}/sign-in`, 'Sign in'))}`,
    status: refusal.status,
    retryAfterSeconds: refusal.retryAfterSeconds,
  };
}

/** Never kept in between, and led to once. */
const leadTo = (reply: FastifyReply, { to }: LedTo): FastifyReply =>
  reply
    .code(303)
    .headers({ ...pageHeaders(), location: to })
    .send('');

function sendPage(reply: FastifyReply, shown: Shown): FastifyReply {
  const { title, content, status = 200, isFault, retryAfterSeconds, formsLeadTo } = shown;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
  const main = `<main><h1>${bdi(title)}</h1>\n${content}</main>`;
  return reply
    .code(status)
    .headers(pageHeaders(formsLeadTo))
    .type('text/html; charset=utf-8')
    .send(renderDocument(`${isFault ? 'Error: ' : ''}${title} – rasket`, main, formStyle));
}

const STYLE = sourceOf(formStyle);

/** With `no-referrer` browsers would say `Origin: null` with a form, and the form could not be told from a stranger's. */
const pageHeaders = (formsLeadTo: readonly string[] = []): Record<string, string> => ({
  ...privatePageHeaders(
    `default-src 'none'; style-src ${STYLE}; base-uri 'none'; form-action ${["'self'", ...formsLeadTo].join(' ')}`,
  ),
  'referrer-policy': 'same-origin',
});
