import type { IncomingMessage } from 'node:http';
import { createAddressGuard, createRangeCheck, plainAddress } from '../../platform/network/index.ts';
import type { World } from '../../platform/world/index.ts';
import { findingOf, type Finding } from '../../features/operations/findings/index.ts';

const HOUR_MS = 3_600_000;

export interface UnknownProxy {
  /** Looks at a request that has come in. */
  note(request: IncomingMessage): void;
  /** What forwarded a request within the last hour, and is not among `http.trusted_proxies`. */
  findings(): Finding[];
}

/**
 * Behind a proxy that is not named all callers have one address: its. The limits by address, those of signing in among them, then
 * stop everybody at once. A public address is left alone: anybody may write the header.
 */
export function createUnknownProxy({ config, clock, log }: World): UnknownProxy {
  const isTrusted = createRangeCheck(config.http.trusted_proxies);
  const isPublic = createAddressGuard([]);
  let last: { address: string; since: number; at: number } | undefined;
  const isOfLate = (): boolean => last !== undefined && clock.now() - last.at < HOUR_MS;
  return {
    note({ headers, socket }) {
      if (headers['x-forwarded-for'] === undefined) return;
      const address = plainAddress(socket.remoteAddress ?? '');
      if (address === '' || isTrusted(address) || isPublic(address)) return;
      const isNew = !isOfLate();
      last = { address, since: isNew || !last ? clock.now() : last.since, at: clock.now() };
      if (!isNew) return;
      const named = `name it in http.trusted_proxies, or the limits by address count all callers behind it as one`;
      log.warn({ address }, `a proxy that is not trusted forwards requests: ${named}`);
    },
    findings() {
      if (!last || !isOfLate()) return [];
      const { address, since } = last;
      const summary = `${address} forwards requests and is not among http.trusted_proxies: limits by address count all callers behind it as one.`;
      return [findingOf('proxy_not_trusted', { summary, subjects: [address], since })];
    },
  };
}
