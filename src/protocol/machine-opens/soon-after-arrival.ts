export interface Arrival {
  /** When it was first handed off; undefined while it was not. */
  sentAt: number | undefined;
  /** When the first recipient's server had it; undefined where no server has said so. */
  deliveredAt: number | undefined;
}

/**
 * Whether somebody is there sooner than a person could be. Gateways also look before they say that they have a mail. Where
 * no server ever says so, a person may have it nevertheless, and the first try counts.
 */
export function isSoonAfterArrival(at: number, { sentAt, deliveredAt }: Arrival, withinMs: number): boolean {
  const arrivedAt = deliveredAt ?? sentAt;
  return arrivedAt !== undefined && at - arrivedAt < withinMs;
}
