import { timingSafeEqual } from 'node:crypto';
import { newToken } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Browser } from '../../../tenancy/access/index.ts';

/** Outlives the session: it says that somebody has signed in to an account from this browser, and is no credential. */
export const BROWSER_COOKIE = 'rasket_browser';

const PURPOSE = 'known browser';
const SECONDS = 365 * 24 * 3600;
const FORM = /^([A-Za-z0-9_-]{32})\.([A-Za-z0-9_-]{43})$/;

/** Keeps in the browser that this account was signed in to from it. */
export function rememberBrowser(store: Store, browser: Browser, emailKey: string): void {
  const id = knownBrowser(store, browser, emailKey) ?? newToken('');
  const mac = store.secrets.mac(PURPOSE, signed(id, emailKey)).toString('base64url');
  browser.keep(BROWSER_COOKIE, `${id}.${mac}`, SECONDS);
}

/** What tells this browser from others, where the account was signed in to from it. */
export function knownBrowser(
  { secrets }: Store,
  browser: Pick<Browser, 'cookie'>,
  emailKey: string,
): string | undefined {
  const [, id, mac] = FORM.exec(browser.cookie(BROWSER_COOKIE) ?? '') ?? [];
  if (id === undefined || mac === undefined) return undefined;
  const given = Buffer.from(mac, 'base64url');
  const data = signed(id, emailKey);
  const made = [secrets.mac(PURPOSE, data), ...secrets.otherMacs(PURPOSE).map((macOf) => macOf(data))];
  return made.some((one) => one.length === given.length && timingSafeEqual(one, given)) ? id : undefined;
}

const signed = (id: string, emailKey: string): Buffer => Buffer.from(`${id} ${emailKey}`);
