import { isoTime } from '../../platform/clock.ts';
import type { Reply, ReplyCause } from '../../protocol/smtp-reply/index.ts';

export type MailStream = 'marketing' | 'transactional';

export const findMailStream = ({ isMarketing }: { isMarketing?: boolean | undefined }): MailStream =>
  isMarketing === true ? 'marketing' : 'transactional';

/** Where a limit holds: for mail from one source to one provider, or to one set of mail servers. */
export interface ThrottleTarget {
  source: string;
  provider: string | undefined;
  /** Undefined: all sites of the provider. */
  servers: string | undefined;
  /** The sending domain, if only its mail is meant or asked about. */
  senderDomain?: string | undefined;
  /** The stream of the mail that is asked about; undefined: only limits of all mail. */
  stream?: MailStream | undefined;
}

/** A provider, or mail servers without one, whose limits have changed. */
export type ThrottledServers = Pick<ThrottleTarget, 'provider' | 'servers'>;

/** A limit that holds for a while, because a receiver asked for it, a circuit breaker tripped, or an operator set it. */
export interface Throttle {
  /** Identifies the mail that shares the limit. */
  place: string;
  kind: 'suspend' | 'rate' | 'connections' | 'messages_per_connection';
  /** The limit; undefined for a suspension. */
  value: number | undefined;
  /** Time in milliseconds. */
  until: number;
  /** The reply of the receiver, the figures of the circuit breaker, or the reason of the operator. */
  reason: string;
  /** The sending domain that it is limited to. */
  senderDomain?: string | undefined;
  /** The stream of mail that it is limited to. */
  stream?: MailStream | undefined;
  setBy: 'reply' | 'breaker' | 'operator';
  /** Whether it holds for all receivers together. */
  isEverywhere?: boolean;
}

/** Limits that hold for a while, and the replies that bring them about. */
export interface Throttles {
  readonly isEmpty: boolean;
  /** Lists what holds for this mail now. */
  inForce(target: ThrottleTarget): readonly Throttle[];
  /** Returns how long it still holds, by the clock that it was set by. */
  remainingMs(throttle: Throttle): number;
  note(target: ThrottleTarget, reply: Reply, cause: ReplyCause | undefined): void;
  /** Calls back when a throttle begins, changes or ends; the returned function ends that. */
  onChange(notify: (changed: readonly ThrottledServers[]) => void): () => void;
}

export const NO_THROTTLES: Throttles = {
  isEmpty: true,
  inForce: () => [],
  remainingMs: () => 0,
  note: () => undefined,
  onChange: () => () => undefined,
};

const REPLY_CHARS_MAX = 80;

/** Explains to the people who sent mail why it waits. Without `now`, the time includes the date. */
export function describeThrottle(title: string, throttle: Throttle, now?: number): string {
  const { kind, value, until, reason, senderDomain, setBy } = throttle;
  if (setBy === 'breaker') return describeBreaker(title, throttle, now);
  const isByOperator = setBy === 'operator';
  const why = isByOperator ? `: ${reason}` : ` because of ${shortenReply(reason)}`;
  const end = `until ${formatUntil(until, now)}${why}`;
  const mail = senderDomain === undefined ? 'mail' : `mail from ${senderDomain}`;
  const limited = senderDomain === undefined ? 'us' : mail;
  switch (kind) {
    case 'suspend':
      return isByOperator
        ? `an operator suspended ${mail} to ${title} ${end}`
        : `${mail} to ${title} is suspended ${end}`;
    case 'rate':
      return `${title} limits ${limited} to ${formatCount(value, 'message')} a minute ${end}`;
    case 'connections':
      return `${title} limits ${limited} to ${formatCount(value, 'connection')} ${end}`;
    case 'messages_per_connection':
      return `${title} limits ${limited} to ${formatCount(value, 'message')} per connection ${end}`;
  }
}

/** Explains a limit that a circuit breaker set. */
function describeBreaker(title: string, throttle: Throttle, now: number | undefined): string {
  const { kind, value, until, reason, senderDomain, stream, isEverywhere = false } = throttle;
  const mail = [
    stream === undefined ? 'mail' : `${stream} mail`,
    ...(senderDomain === undefined ? [] : [`from ${senderDomain}`]),
    ...(isEverywhere ? [] : [`to ${title}`]),
  ].join(' ');
  const limit = kind === 'suspend' ? 'paused' : `limited to ${formatCount(value, 'message')} a minute`;
  return `${mail} is ${limit} until ${formatUntil(until, now)} because ${reason}`;
}

const formatCount = (value: number | undefined, noun: string): string => {
  const shown = Math.round((value ?? 0) * 10) / 10;
  return `${shown} ${noun}${shown === 1 ? '' : 's'}`;
};

/** Formats the end of a limit; on the same day, by the time alone. */
function formatUntil(until: number, now: number | undefined): string {
  const text = isoTime(until);
  const isToday = now !== undefined && text.slice(0, 10) === isoTime(now).slice(0, 10);
  return `${text.slice(isToday ? 11 : 0, 16).replace('T', ' ')} UTC`;
}

/** Returns the code and the first words of a reply. */
function shortenReply(reply: string): string {
  if (reply.length <= REPLY_CHARS_MAX) return reply;
  const cut = reply.slice(0, REPLY_CHARS_MAX);
  const end = cut.lastIndexOf(' ');
  return `${end > 0 ? cut.slice(0, end) : cut} …`;
}
