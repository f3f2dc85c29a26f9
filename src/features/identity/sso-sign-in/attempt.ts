import { newToken } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Browser } from '../../../tenancy/access/index.ts';

/** A sign-in under way. The browser keeps it, sealed, so that nobody else's browser can finish it and nothing is stored. */
export interface Attempt {
  /** Which provider was asked: an answer is taken to no other. */
  connectionId: string;
  state: string;
  nonce: string;
  verifier: string;
  /** A path of ours. */
  next: string | undefined;
  startedAt: number;
}

const ATTEMPT_SECONDS = 600;
const PURPOSE = 'sso attempt';
const ROW = 'cookie';

/** RFC 7636 §4.1: a verifier has 43 to 128 characters. */
const random = (): string => newToken(newToken(''));

/** The prefix makes browsers refuse it from a host beside ours, which could plant an attempt of its own. */
const cookieName = ({ config }: Store): string => `${config.sessions.secure_cookie ? '__Host-' : ''}rasket_sso`;

export const newAttempt = ({ clock }: Store, connectionId: string, next: string | undefined): Attempt => ({
  ...{ connectionId, next, startedAt: clock.now() },
  ...{ state: random(), nonce: random(), verifier: random() },
});

export const keepAttempt = (store: Store, browser: Browser, attempt: Attempt): void =>
  browser.keep(cookieName(store), store.secrets.seal(JSON.stringify(attempt), PURPOSE, ROW), ATTEMPT_SECONDS);

/** The attempt that this browser began, which is over with it; undefined where it began none, or too long ago. */
export function takeAttempt(store: Store, browser: Browser): Attempt | undefined {
  const name = cookieName(store);
  const sealed = browser.cookie(name);
  if (sealed === undefined) return undefined;
  browser.forget(name);
  const attempt = open(store, sealed);
  const isLive = attempt && store.clock.now() - attempt.startedAt < ATTEMPT_SECONDS * 1000;
  return isLive ? attempt : undefined;
}

function open({ secrets }: Store, sealed: string): Attempt | undefined {
  try {
    return JSON.parse(secrets.open(sealed, PURPOSE, ROW)) as Attempt;
  } catch {
    // Not ours, or sealed with a key that is gone.
    return undefined;
  }
}
