import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { readAuthorization, createSessionAuthentication, sessionCookiesIn } from '../../../features/identity/index.ts';
import { NEXT_CHARS_MAX, privatePageHeaders, type Page } from '../page.ts';
import type { FastifyReply } from 'fastify';
import { bdi, formStyle, renderDocument, hashStyle } from '../layout/index.ts';

const POLICY = `default-src 'none'; style-src ${hashStyle(formStyle)}; base-uri 'none'; form-action 'none'`;

/** Shows an error page to a person whom an app has sent here with an invalid request. */
export const refusedPage = (reply: FastifyReply, say: string, status = 400): FastifyReply =>
  reply
    .code(status)
    .headers(privatePageHeaders(POLICY))
    .type('text/html; charset=utf-8')
    .send(
      renderDocument(
        'This app cannot be authorized – rasket',
        `<main><h1>This app cannot be authorized</h1>\n<p>${bdi(say)}</p>\n<p>No access was granted. You can close this page. The developer of the app has to fix this.</p></main>`,
        formStyle,
      ),
    );

const CONSENT_PATH = '/oauth/consent';
const ASKED = [
  'response_type',
  'client_id',
  'redirect_uri',
  'code_challenge',
  'code_challenge_method',
  'state',
  'scope',
  'resource',
];

/** Redirects to the consent page, which reads the request once more, or back to the app with the error. */
export const authorizeClient: Page<'authorizeClient'> = async (ctx, { query }, { reply }) => {
  const asked = query as Readonly<Record<string, unknown>>;
  const read = await readAuthorization(ctx.store, asked);
  if (read.kind === 'unknown') return refusedPage(reply, read.say);
  const passed = new URLSearchParams();
  for (const name of ASKED)
    for (const value of [asked[name]].flat()) if (typeof value === 'string') passed.append(name, value);
  if (read.kind === 'asked') return reply.code(302).header('location', `${CONSENT_PATH}?${passed}`).send('');
  // Anybody may register any address: only a person who is signed in here is redirected to it at once (RFC 9700
  // §4.11.2).
  const next = `/oauth/authorize?${passed}`;
  const isKnown = await isSignedIn(ctx);
  if (!isKnown && next.length > NEXT_CHARS_MAX) return refusedPage(reply, tooLong(next.length));
  const to = isKnown ? read.to : `/sign-in?next=${encodeURIComponent(next)}`;
  return reply.code(302).header('location', to).send('');
};

/** Explains why the person is not asked to sign in: they could not be sent back, so the app would never get the error. */
const tooLong = (chars: number): string =>
  `The request of the app is not valid, and its address has ${chars} characters. After signing in you can be sent back only to an address of at most ${NEXT_CHARS_MAX} characters. Sign in first, then start again in the app, which then receives the error.`;

async function isSignedIn({ store, browser }: NobodyCtx): Promise<boolean> {
  for (const { name, token } of sessionCookiesIn(browser)) {
    try {
      await createSessionAuthentication(store, name)(token);
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
  return false;
}
