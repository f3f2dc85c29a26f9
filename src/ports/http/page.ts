import type { FastifyReply } from 'fastify';
import type { CallerKindOf, CallOf, PageId } from '../../contract/index.ts';
import type { Listeners } from '../../features/webhooks/start.ts';
import type { Tracking } from '../../features/tracking/index.ts';
import type { Semaphore } from '../../platform/limits/index.ts';
import type { OperationCtxFor, Services } from '../../operations.ts';

const UNUSED_FEATURES = [
  'accelerometer',
  'attribution-reporting',
  'autoplay',
  'browsing-topics',
  'camera',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'geolocation',
  'gyroscope',
  'identity-credentials-get',
  'idle-detection',
  'interest-cohort',
  'join-ad-interest-group',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'picture-in-picture',
  'publickey-credentials-get',
  'run-ad-auction',
  'screen-wake-lock',
  'serial',
  'shared-storage',
  'usb',
  'web-share',
  'xr-spatial-tracking',
];

/** Headers of a page whose URL alone grants access: it must not be stored, passed on or framed. */
export const privatePageHeaders = (policy: string): Record<string, string> => ({
  'content-security-policy': `${policy}; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': UNUSED_FEATURES.map((feature) => `${feature}=()`).join(', '),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex, nofollow, noarchive',
});

/** Returns the headers of a page that search engines may list. */
export function allowIndexing(headers: Record<string, string>): Record<string, string> {
  const { 'x-robots-tag': _, ...others } = headers;
  return others;
}

/** Limit for an address to return to after signing in, which also becomes part of the provider's address. */
export const NEXT_CHARS_MAX = 2000;

export interface HttpServices extends Services {
  tracking: Tracking;
  listeners: Listeners;
  /** Runs work that blocks the event loop for long. */
  executor: Semaphore;
}

/** The HTTP objects that a page, a file or a stream needs for its response. */
export interface PageCall {
  services: HttpServices;
  reply: FastifyReply;
  accept: string;
}

/** An operation that exists only over HTTP. The caller is authorized and the call checked before it runs. */
export type Page<Id extends PageId> = (
  ctx: OperationCtxFor[CallerKindOf<Id>],
  call: CallOf<Id>,
  page: PageCall,
) => unknown;
