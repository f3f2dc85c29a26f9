import { bdi } from '../layout/index.ts';
import { renderForm, renderLinks, renderLink } from './elements.ts';
import { ownPath } from './own-path.ts';
import type { PeoplePage } from './page.ts';

export const signOutPage: PeoplePage = {
  path: '/sign-out',
  async get({ session }, { query }) {
    if (!session) return { to: '/sign-in' };
    return {
      title: 'Sign out',
      content: [
        `<p>You are signed in as <strong>${bdi(session.actor.name)}</strong>.</p>`,
        renderForm({ action: '/sign-out', submit: 'Sign out', hidden: { next: ownPath(query.get('next')) } }),
        renderLinks(renderLink('/account', 'Back to your account')),
      ].join('\n'),
    };
  },
  async post({ session, call }, { form }) {
    const all = form.get('all') === 'yes';
    if (session) await call('logOut', { body: { all } });
    return { to: ownPath(form.get('next')) ?? `/sign-in?said=signed-out${all ? '-everywhere' : ''}` };
  },
};
