import type { People, Person } from './people.ts';
import type { Scene, Team } from './scene.ts';

/** A program that keeps cookies as a browser does, and follows no redirect by itself. */
export class Browsing {
  readonly cookies = new Map<string, string>();

  async get(url: string): Promise<{ status: number; location: string | null; text: string; headers: Headers }> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie, accept: 'text/html' } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0\b/i.test(line) || /expires=thu, 01 jan 1970/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const { status, headers } = response;
    return { status, headers, text: await response.text(), location: headers.get('location') };
  }
}

export type Visit = Awaited<ReturnType<Browsing['get']>>;

/** Follows redirects until one leads back to our callback, and returns that address. */
export async function throughProvider(provider: Browsing, from: string, ours: string): Promise<string> {
  let at = from;
  for (let hops = 0; hops < 20; hops++) {
    const { location, status, text } = await provider.get(at);
    if (location === null) throw new Error(`the provider answered ${status} at ${at}: ${text.slice(0, 500)}`);
    at = new URL(location, at).href;
    if (at.startsWith(`${ours}/auth/sso/callback`)) return at;
  }
  throw new Error(`the provider did not redirect back; it is at ${at}`);
}

export const startUrl = (scene: Scene, email: string, next?: string): string =>
  `${scene.url}/auth/sso/start?${new URLSearchParams({ email, ...(next === undefined ? {} : { next }) })}`;

/** Runs the whole sign-in of a person, in their own browser or the one given. */
export async function signInBySso(
  scene: Scene,
  email: string,
  { browser = new Browsing(), next }: { browser?: Browsing; next?: string } = {},
): Promise<Visit & { browser: Browsing }> {
  const started = await browser.get(startUrl(scene, email, next));
  if (started.location === null) return { ...started, browser };
  const back = await throughProvider(new Browsing(), started.location, scene.url);
  return { ...(await browser.get(back)), browser };
}

/** Calls the API as the person who is signed in there. */
export const asSignedIn =
  (scene: Scene, { cookies }: Browsing) =>
  (method: string, path: string, body?: unknown) =>
    scene.api(method, path, {
      headers: { cookie: `rasket_session=${cookies.get('rasket_session')}`, origin: scene.url },
      ...(body === undefined ? {} : { body }),
    });

let domains = 0;

/** Creates a team with an owner, connected to a provider, with a proven domain. */
export async function teamWithSso(
  scene: Scene,
  people: People,
  provider: { issuer: string; clientId: string; secret: string },
): Promise<{ team: Team; owner: Person; domain: string; put: (more?: object) => ReturnType<Person['call']> }> {
  const team = await scene.team();
  const owner = await people.person({ team, role: 'owner' });
  const { issuer, clientId: client_id, secret: client_secret } = provider;
  const put = (more: object = {}) => owner.call('PUT', `/teams/${team.id}/sso`, { issuer, client_id, ...more });
  await put({ client_secret });
  const domain = `sso${++domains}.example.org`;
  await proveDomain(scene, owner, team, domain);
  return { team, owner, domain, put };
}

export async function proveDomain(scene: Scene, owner: Person, team: Team, domain: string) {
  const { body } = await owner.call('POST', `/teams/${team.id}/sso/domains`, { domain });
  scene.dns.set(body.record.name, 'TXT', [[body.record.value]]);
  return owner.call('POST', `/teams/${team.id}/sso/domains/${domain}/verify`);
}
