import type { World } from '../../platform/world/index.ts';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/**
 * Reports whether a request comes under a name of this server. In the development profile, whose API key may be well known, a
 * website could otherwise reach the API through a name of its own that leads to this machine (DNS rebinding).
 */
export function isOwnName({ config }: Pick<World, 'config'>, host: string | undefined): boolean {
  if (config.profile !== 'development' || host === undefined || mayUsePlayground({ config }, host)) return true;
  const { http, instance } = config;
  const own = [instance.host, http.public_url === '' ? '' : new URL(http.public_url).hostname];
  return own.includes(host.toLowerCase().replace(/:\d+$/, ''));
}

/**
 * Whether a request may see what was caught. It needs no key, so that outside the development profile nobody may, and in it
 * only who asks under a name of this machine: any website open in its browser may send requests under another name.
 */
export function mayUsePlayground({ config }: Pick<World, 'config'>, host: string | undefined): boolean {
  if (config.profile !== 'development') return false;
  return config.development.any_host || LOOPBACK.test(host ?? '');
}
