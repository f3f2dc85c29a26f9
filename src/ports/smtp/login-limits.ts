import type { Clock } from '../../platform/clock/index.ts';
import { createFairShare } from '../../platform/fair-share/index.ts';
import type { Login } from './door.ts';
import { SmtpReply } from './smtp-reply.ts';

export interface LoginLimits {
  /** Counts a connection that has logged in; throws the refusal of one too many. */
  enter(sessionId: string, login: Login): void;
  leave(sessionId: string): void;
  /** Counts a message; throws the refusal, which says how long to wait. */
  take(login: Login): void;
}

export interface LoginLimitsMax {
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

/** Of more holders than this the least recent are forgotten, which fills their buckets. */
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
  /** In the order in which their holders last asked. */
  const buckets = new Map<string, Bucket>();
  const perMs = perMinute / 60_000;

  function remember(holder: string, bucket: Bucket): void {
    buckets.delete(holder);
    const [leastRecent] = buckets.size >= HOLDERS_MAX ? buckets.keys() : [];
    if (leastRecent !== undefined) buckets.delete(leastRecent);
    buckets.set(holder, bucket);
  }

  /** A client that is refused counts as one that has asked, and is not forgotten for being refused. */
  function tokensOf(holder: string): number {
    const known = buckets.get(holder);
    if (!known) return perMinute;
    remember(holder, known);
    return Math.min(perMinute, known.tokens + Math.max(0, clock.now() - known.at) * perMs);
  }

  return {
    waitMs: (holder) => Math.max(0, (1 - tokensOf(holder)) / perMs),
    take: (holder) => remember(holder, { tokens: tokensOf(holder) - 1, at: clock.now() }),
  };
}

const tooManyOpen = (count: number, whose: string): SmtpReply =>
  new SmtpReply(454, '4.7.0', `${count} connections ${whose} are open; use those, or end some`);

function tooManyMessages(count: number, whose: string, waitMs: number): SmtpReply {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new SmtpReply(451, '4.7.1', `${count} messages a minute may be sent ${whose}; try again in ${seconds} s`);
}
