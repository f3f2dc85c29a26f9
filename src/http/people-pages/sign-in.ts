import { Refusal } from '../../platform/refusal/index.ts';
import { attempt, renderStatus, showForm } from './elements.ts';
import { ownPath } from './own-path.ts';
import type { PeoplePage, Shown } from './page.ts';

/** What another page did before it led here. */
const SAID: Readonly<Record<string, string>> = {
  'signed-out': 'You are signed out.',
};

export const signInPage: PeoplePage = {
  path: '/sign-in',
  async get({ session }, { query }) {
    const next = ownPath(query.get('next'));
    if (session) return { to: next ?? '/account' };
    return show({ next, said: SAID[query.get('said') ?? ''] });
  },
  async post({ call }, { form }) {
    const [email, password, next] = [form.get('email') ?? '', form.get('password') ?? '', ownPath(form.get('next'))];
    const done = await attempt(call('logIn', { body: { email, password } }));
    if (done instanceof Refusal) return show({ next, email, fault: done });
    return { to: next ?? '/account' };
  },
};

interface State {
  next: string | undefined;
  email?: string;
  said?: string | undefined;
  fault?: Refusal;
}

const show = ({ next, email, said, fault }: State): Shown =>
  showForm(
    'Sign in',
    {
      action: '/sign-in',
      submit: 'Sign in',
      hidden: { next },
      fields: [
        { name: 'email', label: 'Email', type: 'email', autocomplete: 'username', value: email },
        { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' },
      ],
      fault,
    },
    { above: said === undefined ? '' : renderStatus(said) },
  );
