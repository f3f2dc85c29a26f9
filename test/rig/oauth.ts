import { createHash, randomBytes } from 'node:crypto';
import type { ApiAnswer, ApiCall } from './api.ts';
import { PageVisitor, type PageSeen } from './page-visitor.ts';
import type { Person } from './people.ts';
import type { Scene } from './scene.ts';

export interface OauthApp {
  clientId: string;
  registrationToken: string;
  redirectUri: string;
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
  scope: string;
}

export const computeChallenge = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');
export const newVerifier = (): string => randomBytes(32).toString('base64url');

export const REDIRECT_URI = 'https://app.example.com/callback';

/** Returns the query of the app, with a parameter changed or, if undefined, left out. */
const buildQuery = (app: OauthApp, verifier: string, more: Record<string, string | undefined> = {}): string => {
  const all: Record<string, string | undefined> = {
    response_type: 'code',
    client_id: app.clientId,
    redirect_uri: app.redirectUri,
    state: 'state-1',
    code_challenge: computeChallenge(verifier),
    code_challenge_method: 'S256',
    scope: 'team:read',
    ...more,
  };
  const given = Object.entries(all).filter((one): one is [string, string] => one[1] !== undefined);
  return new URLSearchParams(given).toString();
};

/** Returns helpers that act as an OAuth app and as the browser that gives it consent. */
export function createOauth(scene: Scene) {
  const form = (path: string, fields: Record<string, string> | string, more: ApiCall = {}): Promise<ApiAnswer> => {
    const body = typeof fields === 'string' ? fields : new URLSearchParams(fields).toString();
    return scene.api('POST', path, {
      ...more,
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...more.headers },
    });
  };

  async function register(metadata: object = {}): Promise<OauthApp> {
    const body = { client_name: 'Newsletter Desk', redirect_uris: [REDIRECT_URI], ...metadata };
    const answer = await scene.api('POST', '/oauth/register', { body });
    if (answer.status !== 201) throw new Error(`not registered: ${answer.text}`);
    return {
      clientId: answer.body.client_id,
      registrationToken: answer.body.registration_access_token,
      redirectUri: answer.body.redirect_uris[0],
    };
  }

  const createVisitor = (person: Person): PageVisitor => {
    const [name = '', value = ''] = person.headers['cookie']?.split('=') ?? [];
    return new PageVisitor(scene, { [name]: value });
  };

  /** Returns the consent page for an app. */
  async function asked(person: Person, app: OauthApp, verifier: string, more: Record<string, string | undefined> = {}) {
    const visitor = createVisitor(person);
    const page = await visitor.follow(visitor.open(`/oauth/authorize?${buildQuery(app, verifier, more)}`));
    return { visitor, page };
  }

  async function codeFor(
    person: Person,
    app: OauthApp,
    verifier: string,
    more: Record<string, string | undefined> = {},
    limits: Record<string, string> = {},
  ) {
    const { visitor, page } = await asked(person, app, verifier, more);
    return answerIn(await visitor.send(withoutLimits(page), 'Authorize', limits)).get('code') ?? '';
  }

  const exchange = (app: OauthApp, code: string, verifier: string, more: Record<string, string> = {}) =>
    form('/oauth/token', {
      grant_type: 'authorization_code',
      client_id: app.clientId,
      code,
      redirect_uri: app.redirectUri,
      code_verifier: verifier,
      ...more,
    });

  const refresh = (app: OauthApp, refreshToken: string, more: Record<string, string> = {}) =>
    form('/oauth/token', {
      grant_type: 'refresh_token',
      client_id: app.clientId,
      refresh_token: refreshToken,
      ...more,
    });

  /** Runs the whole flow, to tokens; `limits` are the values that the person fills in. */
  async function letIn(
    person: Person,
    app: OauthApp,
    more: Record<string, string | undefined> = {},
    limits: Record<string, string> = {},
  ): Promise<Tokens> {
    const verifier = newVerifier();
    const answer = await exchange(app, await codeFor(person, app, verifier, more, limits), verifier);
    if (answer.status !== 200) throw new Error(`no tokens: ${answer.text}`);
    return answer.body;
  }

  return { form, register, queryOf: buildQuery, visitorOf: createVisitor, asked, codeFor, exchange, refresh, letIn };
}

/** Clears the limits of an earlier grant of the same app, which are filled in already. */
function withoutLimits(page: PageSeen): PageSeen {
  const form = page.forms.find(({ submit }) => submit === 'Authorize');
  if (!form) return page;
  for (const name of ['read_only', 'own_domains']) {
    if (!(name in form.fields)) continue;
    form.boxes.push(name);
    delete form.fields[name];
  }
  for (const [name, value] of [
    ['approval', 'none'],
    ['emails_per_day', ''],
    ['approval_above', ''],
    ['ends', 'never'],
  ] as const)
    if (name in form.fields) form.fields[name] = value;
  return page;
}

/** Returns the parameters of the redirect to the app. */
export const answerIn = (page: PageSeen): URLSearchParams => new URL(page.leadsTo ?? 'about:blank').searchParams;

/** Returns a browser of a signed-in person who gives every app access. */
export function letInBy(scene: Scene, person: Person, redirectUri = REDIRECT_URI) {
  const browse = async ({ pathname, search }: URL): Promise<URL> => {
    const browser = createOauth(scene).visitorOf(person);
    const page = await browser.follow(browser.open(pathname + search));
    return new URL((await browser.send(page, 'Authorize')).leadsTo ?? '');
  };
  return { origin: scene.app.world.origin(), redirectUri, browse };
}
