import {
  finishSignIn,
  startSignIn,
  type NotSignedIn,
  type SignInFault,
} from '../../../features/identity/sso-sign-in/index.ts';
import { CALLBACK_PATH, START_PATH } from '../../../features/identity/sso/index.ts';
import { bdi } from '../layout/index.ts';
import { renderAlert, renderForm, renderLink, renderLinks } from './elements.ts';
import { ownPath, withNext } from './own-path.ts';
import type { LedTo, PageCtx, PeoplePage, Shown } from './page.ts';
import type { Fields } from './read-fields.ts';

/** Asks for an address where none is given, and leads to the provider of its domain. */
export const ssoStartPage: PeoplePage = {
  path: START_PATH,
  async get(ctx, { query }) {
    return query.has('email') ? begin(ctx, query) : askForEmail(ctx, { next: ownPath(query.get('next')) });
  },
  post: (ctx, { form }) => begin(ctx, form),
};

/** What a provider leads back to. It begins a session, although it is a GET: only for the browser that asked for it. */
export const ssoCallbackPage: PeoplePage = {
  path: CALLBACK_PATH,
  async get(ctx, { query }) {
    const done = await finishSignIn(ctx, new URLSearchParams([...query]));
    return done.kind === 'signed_in' ? { to: ownPath(done.next) ?? '/account' } : explain(done);
  },
};

async function begin(ctx: PageCtx, fields: Fields): Promise<Shown | LedTo> {
  const [email, next] = [fields.get('email') ?? '', ownPath(fields.get('next'))];
  const done = await startSignIn(ctx, { email, next });
  if (done.kind === 'led') return done;
  if (done.why !== 'bad_email' && done.why !== 'no_sso') return explain(done);
  return askForEmail(ctx, { next, email, fault: SAID[done.why] });
}

interface Asked {
  next: string | undefined;
  email?: string;
  fault?: Explanation;
}

function askForEmail({ store }: PageCtx, { next, email, fault }: Asked): Shown {
  const form = renderForm({
    action: START_PATH,
    submit: 'Continue',
    hidden: { next },
    fields: [{ name: 'email', label: 'Email', type: 'email', autocomplete: 'username', value: email }],
  });
  return {
    title: 'Sign in with single sign-on',
    content: `${fault ? renderAlert(fault.says) : ''}${form}${renderLinks(renderLink(withNext('/sign-in', next), 'Sign in with a password'))}`,
    // Browsers hold the address that a form leads to in the end against the page too, and which one that is is not known yet.
    formsLeadTo: ['https:', ...(store.origin().startsWith('http:') ? ['http:'] : [])],
    ...(fault ? { status: fault.status, isFault: true } : {}),
  };
}

interface Explanation {
  status: number;
  says: string;
}

/** `{provider}` stands for the host of the provider. */
const SAID: Record<SignInFault, Explanation> = {
  bad_email: { status: 422, says: 'This is no email address.' },
  no_sso: {
    status: 404,
    says: 'Addresses of this domain do not sign in with single sign-on here. Sign in with a password.',
  },
  no_attempt: {
    status: 400,
    says: 'This sign-in was begun in another browser, or more than ten minutes ago, or another one was begun after it. Start again.',
  },
  answered_before: { status: 400, says: 'This sign-in has been used already. Start again.' },
  connection_gone: { status: 409, says: 'Your team has changed its single sign-on meanwhile. Start again.' },
  provider_down: {
    status: 503,
    says: 'The identity provider of your team ({provider}) does not answer. Try again in a few minutes. If it stays so, ask those who run it, or an owner of your team: an owner who is exempt from single sign-on signs in with a password and can switch it off.',
  },
  provider_wrong: {
    status: 502,
    says: 'The identity provider of your team ({provider}) answered something that cannot be trusted, so that you are not signed in. Start again; if it stays so, ask those who run it, or an owner of your team.',
  },
  provider_refused: { status: 403, says: 'The identity provider of your team ({provider}) did not sign you in.' },
  no_email: {
    status: 403,
    says: 'The identity provider ({provider}) did not tell your email address. Ask those who run it to tell this service the scope "email".',
  },
  unverified_email: {
    status: 403,
    says: 'The identity provider ({provider}) has not verified your email address. Verify it there, or ask those who run it.',
  },
  other_domain: {
    status: 403,
    says: 'The identity provider ({provider}) knows you by an address that is not of a domain of your team.',
  },
  account_elsewhere: {
    status: 403,
    says: 'Your account here has an address that is not of a domain of this team, so that its provider ({provider}) cannot sign you in.',
  },
  other_identity: {
    status: 403,
    says: 'The identity provider ({provider}) knew the person with this address as somebody else. Ask an admin of your team to unlink the former identity.',
  },
  removed: { status: 403, says: 'You are not in this team any more. Ask an admin of the team to invite you.' },
};

function explain({ why, provider = '', said }: NotSignedIn): Shown {
  const { status, says } = SAID[why];
  const word = said === undefined ? '' : `<p class="quiet">It said: ${bdi(said)}</p>`;
  return {
    title: 'You are not signed in',
    content: `${renderAlert(says.replace('{provider}', provider))}${word}${renderLinks(renderLink(START_PATH, 'Start again'), renderLink('/sign-in', 'Sign in with a password'))}`,
    status,
    isFault: true,
  };
}
