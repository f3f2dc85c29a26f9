import type { Clock } from '../platform/clock/index.ts';
import { SmtpReply } from './smtp-reply.ts';

export interface KeyLimits {
  /** Counts a connection of a key in; throws the reply for one too many. */
  enter(sessionId: string, keyId: string): void;
  leave(sessionId: string): void;
  /** Counts a message; throws the reply that says how long to wait. */
  take(keyId: string): void;
}

/** Of one process; nodes that share a database each have their own. */
export function createKeyLimits(clock: Clock, max: { connections: number; messagesPerMinute: number }): KeyLimits {
  const keyOf = new Map<string, string>();
  const connections = new Map<string, number>();
  const buckets = new Map<string, { tokens: number; at: number }>();
  const perMs = max.messagesPerMinute / 60_000;

  function leave(sessionId: string): void {
    const keyId = keyOf.get(sessionId);
    if (keyId === undefined) return;
    keyOf.delete(sessionId);
    const left = (connections.get(keyId) ?? 1) - 1;
    if (left > 0) connections.set(keyId, left);
    else connections.delete(keyId);
  }

  return {
    leave,
    enter(sessionId, keyId) {
      // A login that STARTTLS has undone counts no more.
      leave(sessionId);
      const open = connections.get(keyId) ?? 0;
      if (open >= max.connections) {
        const say = `${max.connections} connections with this API key are open; use those, or end some`;
        throw new SmtpReply(454, '4.7.0', say);
      }
      keyOf.set(sessionId, keyId);
      connections.set(keyId, open + 1);
    },
    take(keyId) {
      const now = clock.now();
      const { tokens, at } = buckets.get(keyId) ?? { tokens: max.messagesPerMinute, at: now };
      const filled = Math.min(max.messagesPerMinute, tokens + Math.max(0, now - at) * perMs);
      if (filled < 1) {
        const seconds = Math.max(1, Math.ceil((1 - filled) / perMs / 1000));
        const say = `${max.messagesPerMinute} messages a minute may be sent with one API key; try again in ${seconds} s`;
        throw new SmtpReply(451, '4.7.1', say);
      }
      // What is full again is what is not known.
      if (buckets.size > 10_000) buckets.clear();
      buckets.set(keyId, { tokens: filled - 1, at: now });
    },
  };
}
