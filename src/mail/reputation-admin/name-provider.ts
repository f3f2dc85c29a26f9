import type { Config } from '../../platform/config/index.ts';

/** Names a provider of the counts, which is empty for all receivers without one. */
export function nameProvider(
  { providers }: Config,
  provider: string,
): { provider: string | null; provider_title: string } {
  if (provider === '') return { provider: null, provider_title: 'Receivers without a provider' };
  return { provider, provider_title: providers[provider]?.title ?? provider };
}
