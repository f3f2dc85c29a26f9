import type { PeoplePage } from './page.ts';

/** Where somebody comes who types the address of the service alone. */
export const frontPage: PeoplePage = {
  path: '/',
  get: async ({ store }) => ({ to: store.config.profile === 'development' ? '/playground' : '/account' }),
};
