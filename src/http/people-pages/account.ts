import { bdi } from '../layout/index.ts';
import { forSignedIn, renderForm } from './elements.ts';
import type { PeoplePage } from './page.ts';

export const accountPage: PeoplePage = {
  path: '/account',
  get: forSignedIn(async ({ call }) => {
    const me = await call('getMe', {});
    return {
      title: 'Your account',
      content: [
        `<p>${bdi(me.email)}</p>`,
        renderForm({ action: '/sign-out', submit: 'Sign out', isSecond: true }),
      ].join('\n'),
    };
  }),
};
