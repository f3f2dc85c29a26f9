import type { World } from '../../platform/world.ts';
import { Refusal } from '../../platform/refusal.ts';
import { authorize } from '../../tenancy/access/index.ts';
import { createAuthentication } from '../../tenancy/api-keys/index.ts';
import { SmtpReply, type Credentials, type Login, type Session } from './handler.ts';
import type { Clock } from '../../platform/clock.ts';
import { BoundedMap, createFairShare } from '../../platform/limits/index.ts';
import { clientKey } from '../../platform/network/index.ts';
import type { ErrorName } from '../../contract/index.ts';

interface FailedLogins {
  /** Throws the refusal of an address with too many failed logins. */
  mayTry(address: string): void;
  /** Counts a failure and resolves when the reply may be sent: later with each failure. */
  note(address: string): Promise<void>;
}

const WINDOW_MS = 600_000;
const DELAY_MS_MAX = 8000;
const ADDRESSES_MAX = 50_000;

/** Slows down guessing of keys, by address, and in the end refuses the address for a while. */
function createFailedLogins(clock: Clock, max: number): FailedLogins {
  const failures = new BoundedMap<string, { count: number; since: number }>(ADDRESSES_MAX);
  const recent = (address: string): { count: number; since: number } => {
    const known = failures.get(clientKey(address));
    const now = clock.now();
    return known && now - known.since < WINDOW_MS ? known : { count: 0, since: now };
  };
  return {
    mayTry(address) {
      const { count, since } = recent(address);
      if (count < max) return;
      const minutes = Math.max(1, Math.ceil((since + WINDOW_MS - clock.now()) / 60_000));
      throw new SmtpReply(421, '4.7.0', `Too many failed logins from your address; try again in ${minutes} minutes`);
    },
    note(address) {
      const { count, since } = recent(address);
      failures.set(clientKey(address), { count: count + 1, since });
      // The first failure is taken for a slip, and its reply is sent at once.
      if (count === 0) return Promise.resolve();
      return new Promise((answer) => void clock.timer(Math.min(1000 * 2 ** (count - 1), DELAY_MS_MAX), answer));
    },
  };
}

type Code = readonly [code: number, enhanced: string];

/** A limit that passes with time gets a 4yz, so that clients keep the message and try again. */
const BY_NAME: Partial<Record<ErrorName, Code>> = {
  invalid_api_key: [535, '5.7.8'],
  restricted_api_key: [535, '5.7.8'],
  suspended_api_key: [535, '5.7.13'],
  daily_quota_exceeded: [452, '4.7.1'],
  monthly_quota_exceeded: [550, '5.7.1'],
  rate_limit_exceeded: [451, '4.7.1'],
  concurrent_idempotent_requests: [451, '4.7.1'],
  invalid_idempotent_request: [550, '5.7.1'],
  service_unavailable: [451, '4.3.2'],
};

/** The only translation of refusals to replies. */
export function replyTo(refusal: Refusal): SmtpReply {
  const [code, enhanced] = BY_NAME[refusal.errorName] ?? byStatus(refusal.status);
  return new SmtpReply(code, enhanced, refusal.message, refusal);
}

function byStatus(status: number): Code {
  if (status >= 500) return [451, '4.3.0'];
  return status === 403 ? [550, '5.7.1'] : [550, '5.6.0'];
}

const USER_NAMES = new Set(['rasket', 'resend']);
/** Failed logins of one connection; a program that continues has the wrong key. */
const FAILURES_MAX = 3;
const FOR_ANOTHER =
  'Acting for another user is not supported; leave the authorization identity empty, or set it to the user name';
/** The rights that POST /emails requires. */
const SENDS = { permission: 'sending_access', scope: 'emails:send', role: 'member' } as const;

interface Logins {
  /** Throws the refusal, after a delay unless it is the first failure. */
  logIn(session: Session, credentials: Credentials): Promise<Login>;
  /** Checks the login again: a key may be revoked, or its team suspended, at any time. */
  mustStillLive(login: Login): Promise<void>;
}

/** Logins with an API key as the password. */
export function createLogins(world: World): Logins {
  const authenticate = createAuthentication(world);
  const failed = createFailedLogins(world.clock, world.config.submission.failed_logins_max);
  const failures = new WeakMap<Session, number>();
  const passwords = new WeakMap<Login, string>();

  async function identify(password: string): Promise<Login> {
    const { teamId, actor } = await authenticate(password);
    const login: Login = { teamId, actor: { kind: 'smtp_credential', keyId: actor.keyId, domainId: actor.domainId } };
    authorize(login.actor, SENDS);
    passwords.set(login, password);
    return login;
  }

  async function refuseLogin(session: Session, reply: SmtpReply): Promise<never> {
    world.mailLog.loginRefused({ address: session.remoteAddress, reason: reply.message });
    const count = (failures.get(session) ?? 0) + 1;
    failures.set(session, count);
    await failed.note(session.remoteAddress);
    if (count < FAILURES_MAX) throw reply;
    throw new SmtpReply(421, '4.7.0', `${FAILURES_MAX} logins have failed; connect again with a valid API key`);
  }

  return {
    async logIn(session, { username, password, actsFor }) {
      const found = await identify(password).catch((error: unknown) => asReply(error));
      // Only failures are limited by address: a key cannot be guessed, so a program with a wrong key must not keep out
      // others at the same address.
      if (found instanceof SmtpReply) failed.mayTry(session.remoteAddress);
      if (found instanceof SmtpReply) return refuseLogin(session, found);
      if (!USER_NAMES.has(username.toLowerCase()) && username !== found.actor.keyId) {
        return refuseLogin(
          session,
          new SmtpReply(535, '5.7.8', 'The user name must be "rasket", or the id of the API key'),
        );
      }
      if (actsFor === '' || actsFor.toLowerCase() === username.toLowerCase()) return found;
      return refuseLogin(session, new SmtpReply(535, '5.7.8', FOR_ANOTHER));
    },
    async mustStillLive(login) {
      const found = await identify(passwords.get(login) ?? '').catch((error: unknown) => asReply(error));
      if (found instanceof SmtpReply) throw found;
    },
  };
}

function asReply(error: unknown): SmtpReply {
  if (error instanceof Refusal) return replyTo(error);
  throw error;
}

interface LoginLimits {
  /** Counts a connection that has logged in; throws the refusal of one too many. */
  enter(sessionId: string, login: Login): void;
  leave(sessionId: string): void;
  /** Counts a message; throws the refusal, which includes the time to wait. */
  take(login: Login): void;
}

interface LoginLimitsMax {
  /** For all teams together: each may hold as many as are free, however many keys it has. */
  connections: number;
  connectionsPerKey: number;
  messagesPerMinutePerKey: number;
  messagesPerMinutePerTeam: number;
}

/** Limits of one process; nodes that share a database each have their own. */
export function createLoginLimits(clock: Clock, max: LoginLimitsMax): LoginLimits {
  const logins = new Map<string, Login>();
  const ofKeys = new Map<string, number>();
  const ofTeams = createFairShare(max.connections);
  const messagesOfKeys = createBuckets(clock, max.messagesPerMinutePerKey);
  const messagesOfTeams = createBuckets(clock, max.messagesPerMinutePerTeam);

  function leave(sessionId: string): void {
    const login = logins.get(sessionId);
    if (!login) return;
    logins.delete(sessionId);
    ofTeams.leave(login.teamId);
    const { keyId } = login.actor;
    const left = (ofKeys.get(keyId) ?? 1) - 1;
    if (left > 0) ofKeys.set(keyId, left);
    else ofKeys.delete(keyId);
  }

  return {
    leave,
    enter(sessionId, login) {
      // STARTTLS ends a login: the earlier one counts no more.
      leave(sessionId);
      const { keyId } = login.actor;
      const open = ofKeys.get(keyId) ?? 0;
      if (open >= max.connectionsPerKey) throw tooManyOpen(max.connectionsPerKey, 'with this API key');
      if (!ofTeams.fits(login.teamId)) throw tooManyOpen(ofTeams.held(login.teamId), 'with API keys of your team');
      logins.set(sessionId, login);
      ofKeys.set(keyId, open + 1);
      ofTeams.enter(login.teamId);
    },
    take({ teamId, actor: { keyId } }) {
      const waitMs = messagesOfKeys.waitMs(keyId);
      if (waitMs > 0) throw tooManyMessages(max.messagesPerMinutePerKey, 'with one API key', waitMs);
      const teamWaitMs = messagesOfTeams.waitMs(teamId);
      if (teamWaitMs > 0) throw tooManyMessages(max.messagesPerMinutePerTeam, 'by one team', teamWaitMs);
      messagesOfKeys.take(keyId);
      messagesOfTeams.take(teamId);
    },
  };
}

/** Beyond this number the least recent holders are forgotten, which fills their buckets. */
const HOLDERS_MAX = 10_000;

interface Buckets {
  /** Time until the holder may take one; 0 when it may now. */
  waitMs(holder: string): number;
  take(holder: string): void;
}

interface Bucket {
  tokens: number;
  at: number;
}

function createBuckets(clock: Clock, perMinute: number): Buckets {
  const buckets = new BoundedMap<string, Bucket>(HOLDERS_MAX);
  const perMs = perMinute / 60_000;

  /** A refused client counts as one that has asked, and is not forgotten because it was refused. */
  function countTokens(holder: string): number {
    const known = buckets.get(holder);
    if (!known) return perMinute;
    buckets.set(holder, known);
    return Math.min(perMinute, known.tokens + Math.max(0, clock.now() - known.at) * perMs);
  }

  return {
    waitMs: (holder) => Math.max(0, (1 - countTokens(holder)) / perMs),
    take: (holder) => void buckets.set(holder, { tokens: countTokens(holder) - 1, at: clock.now() }),
  };
}

const tooManyOpen = (count: number, whose: string): SmtpReply =>
  new SmtpReply(454, '4.7.0', `${count} connections ${whose} are open, which is the limit; reuse them, or close some`);

function tooManyMessages(count: number, whose: string, waitMs: number): SmtpReply {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new SmtpReply(
    451,
    '4.7.1',
    `${count} messages a minute may be sent ${whose}, which is the limit; try again in ${seconds} s`,
  );
}
