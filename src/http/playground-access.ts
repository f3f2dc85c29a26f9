import type { World } from '../platform/world/index.ts';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/**
 * Whether a request may see what was caught. It needs no key, so that outside the development profile nobody may, and in it
 * only who asks under a name of this machine: any website open in its browser may send requests under another name.
 */
export function mayUsePlayground({ config }: World, host: string | undefined): boolean {
  if (config.profile !== 'development') return false;
  return config.development.any_host || LOOPBACK.test(host ?? '');
}
