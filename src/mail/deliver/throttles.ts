import { isoTime } from '../../platform/clock.ts';
import type { Reply, ReplyCause } from '../../protocol/smtp-reply/index.ts';

/** Where a limit holds: for mail from one source to one provider, or to one set of mail servers. */
export interface ThrottleTarget {
  source: string;
  provider: string | undefined;
  /** Undefined: all sites of the provider. */
  servers: string | undefined;
  /** The sending domain, if only its mail is meant or asked about. */
  senderDomain?: string | undefined;
}

/** A limit that holds for a while, because a receiver asked for it or an operator set it. */
export interface Throttle {
  kind: 'suspend' | 'rate' | 'connections' | 'messages_per_connection';
  /** The limit; undefined for a suspension. */
  value: number | undefined;
  /** Time in milliseconds. */
  until: number;
  /** The reply of the receiver, or the reason of the operator. */
  reason: string;
  /** The sending domain that it is limited to. */
  senderDomain?: string | undefined;
}

/** Limits that hold for a while, and the replies that bring them about. */
export interface Throttles {
  readonly isEmpty: boolean;
  /** Lists what holds for this mail now. */
  inForce(target: ThrottleTarget): readonly Throttle[];
  note(target: ThrottleTarget, reply: Reply, cause: ReplyCause | undefined): void;
  /** Calls back when a throttle begins, changes or ends; the returned function ends that. */
  onChange(notify: () => void): () => void;
}

export const NO_THROTTLES: Throttles = {
  isEmpty: true,
  inForce: () => [],
  note: () => undefined,
  onChange: () => () => undefined,
};

/** Says why mail waits, for the people who sent it. */
export function describeThrottle(title: string, { kind, value, until, reason, senderDomain }: Throttle): string {
  const whose = senderDomain === undefined ? 'Mail' : `Mail from ${senderDomain}`;
  const time = `${isoTime(until).slice(0, 16).replace('T', ' ')} UTC`;
  switch (kind) {
    case 'suspend':
      return `${whose} to ${title} is suspended until ${time} because of: ${reason}`;
    case 'rate':
      return `${whose} to ${title} is limited to ${value} messages a minute until ${time} because of: ${reason}`;
    case 'connections':
      return `${whose} to ${title} is limited to ${value} connections until ${time} because of: ${reason}`;
    case 'messages_per_connection':
      return `${whose} to ${title} is limited to ${value} messages per connection until ${time} because of: ${reason}`;
  }
}
